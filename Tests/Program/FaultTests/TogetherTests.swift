import Foundation
import Testing
import TestSupport

extension Faults {
    /// Everything that the other tests try, at the same time and against one server.
    @Suite(.longForm) struct TogetherTests {
        /// At least; an hour in the long form with the factor 10.
        private static let seconds = Scale.factor == 1 ? 0 : 360 * Scale.factor
        private static let isLong = seconds >= 600

        @Test func `attacks, damage, kills and clock jumps together cost only what was on damaged pages`()
            async throws
        {
            let directory = TemporaryDirectory()
            let findings = Findings(try await MovedClock(in: directory.path))
            let siege = try await Siege(directory.path, findings)
            let crowd = Crowd(port: siege.server.port, findings)

            async let used: Void = crowd.run()
            do {
                try await siege.run(TogetherTests.seconds, pace: TogetherTests.isLong ? 3 : 0.6) {
                    findings[.events] > Scale.rounds(1200, long: 360_000) && findings[.ended] > 0
                        && findings[.expired] > 0 && siege.flips.count > 0
                }
            } catch {
                findings.endAll()
                throw error
            }
            findings.endAll()
            try await used
            try await siege.restart(isKilled: true)
            let damaged = crowd.check()
            let listed = try await siege.listedAsDamaged()
            try await siege.server.stop()

            print(siege.summary)
            let (faults, count) = findings.faults
            #expect(faults.isEmpty, "\(count)")
            #expect(findings.unexplainedRefusals.isEmpty)
            #expect(findings[.putAside] <= siege.flips.mostDamaged)
            #expect(damaged.isSubset(of: listed))
            if count > 0 || !findings.unexplainedRefusals.isEmpty { print(siege.log) }
            for (name, samples, most) in siege.samples {
                #expect(samples.max() ?? 0 < most, "MiB of \(name)")
                // In a short run the sizes have not settled.
                if TogetherTests.isLong { #expect(samples.third(2) < 1.3 * samples.third(1), "\(name)") }
            }
        }
    }
}
