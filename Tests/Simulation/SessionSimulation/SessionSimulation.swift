// SessionSimulation: everything that can happen to sessions in a host, from one seed (docs/testing.md).
//
// A walk has several sessions of the app `anything` in a real `SessionHost`, on a store in memory or in files. It sends
// requests of several devices and services, alone and at the same moment, lets time pass, makes the store refuse, lose
// answers and fill up, and kills the process. All jobs run on one thread in an order that the seed chooses, and time is
// the walk's: `Scheduler`. Between the host and its store is the `SteeredStore`, which lets commits go on, or fails
// them, and tells the `Ledger`: the list of what has been committed, which knows nothing of hosts. The `Judge` compares
// each answer with it, and with what the engine alone makes of an event.
//
// `Move` has the words of a walk and chooses them, `Requests` says what they ask the host for, `SessionWalk` puts it
// together. What coordinators do, and whether that is right, is the matter of `Simulation`.
import Coordinators
import Foundation
import JSONCoding
package import Simulation
import Sodium

/// The reduced sequence that leads to a finding.
package struct SessionFailure: Sendable, CustomStringConvertible {
    package let seed: UInt64
    package let finding: Finding
    package let setup: SessionSetup
    package let steps: [Move]

    /// What happened, and a test that can be pasted.
    package var description: String {
        """
        // Seed \(seed), \(finding.kind)
        // \(finding.reason)
        @Test func `session seed \(seed) \(finding.rule.rawValue)`() async throws {
            let findings = try await SessionSimulation.replay(
                setup: #\"\(setup.text)\"#,
                steps: [
                    \(steps.map { "#\"\($0.text)\"#," }.joined(separator: "\n            "))
                ])
            #expect(findings == [])
        }
        """
    }
}

package enum SessionSimulation {
    /// What one walk has found.
    package struct Report: Sendable {
        package var failures: [SessionFailure] = []
        package var steps = 0
        /// How many requests were refused.
        package var refused = 0
        package var trace: [String] = []
        /// The words of all answers, and how often each was given.
        package var answers: [String: Int] = [:]
    }

    /// Walks once.
    ///
    /// - Parameters:
    ///   - store: where the sessions are; `nil` if the seed decides that, too.
    ///   - known: the kinds that are not reported, see `Finding.isKnown`.
    ///   - traces: whether the report has a line for each step.
    package static func walk(
        seed: UInt64, steps count: Int, store: SessionSetup.Store? = nil, ignoring known: Set<String> = [],
        shortens: Bool = true, traces: Bool = false
    ) async -> Report {
        var report = await Scheduler.walk { scheduler in
            var report = Report()
            var generator = MoveGenerator(seed: seed, store: store)
            let setup = generator.setup()
            var taken: [Move] = []
            var reported: Set<String> = []
            begin(setup, scheduler) { walk in
                if traces { report.trace.append("seed \(seed) \(setup.text)") }
                for number in 1...max(1, count) {
                    let isLast = number == count
                    let move = isLast ? Move(.finish) : generator.move(for: walk)
                    taken.append(move)
                    let findings = walk.take(move, checksAll: number % 20 == 0 || isLast)
                    if traces { report.trace.append("\(number) \(move.text) \(walk.outcome) \(walk.digest)") }
                    report.answers[walk.outcome.filter { !$0.isNumber }, default: 0] += 1
                    for finding in findings
                    where !finding.isKnown(among: known) && reported.insert(finding.kind).inserted {
                        report.failures.append(
                            SessionFailure(seed: seed, finding: finding, setup: setup, steps: taken))
                    }
                    if scheduler.isStuck { break }
                }
                report.refused = walk.refusedCount
            }
            report.steps = taken.count
            return report
        }
        if shortens {
            for index in report.failures.indices { report.failures[index] = await shortened(report.failures[index]) }
        }
        return report
    }

    private static func begin(_ setup: SessionSetup, _ scheduler: Scheduler, _ body: (SessionWalk) -> Void) {
        let table = Table { try await scheduler.sleep(for: .seconds(1_000_000)) }
        table.begin(isTrial: true)
        Table.$current.withValue(table) {
            guard let walk = SessionWalk(setup, scheduler, table) else { return }
            body(walk)
            walk.close()
        }
    }

    /// The shortest sequence that leads to the same kind of finding.
    package static func shortened(_ failure: SessionFailure) async -> SessionFailure {
        var shortening = Shortening(failure.setup, failure.steps, failure.finding, attempts: 2000, walk: take)
        let shortest = await shortening.shorten()
        return SessionFailure(
            seed: failure.seed, finding: shortest.finding, setup: shortest.setup, steps: shortest.steps)
    }

    /// Takes steps until they lead to that kind of finding.
    private static func take(_ setup: SessionSetup, _ steps: [Move], until kind: String) async -> ([Move], Finding)? {
        await Scheduler.walk { scheduler in
            var found: ([Move], Finding)?
            begin(setup, scheduler) { walk in
                for (index, step) in steps.enumerated() {
                    let findings = walk.take(step, checksAll: index == steps.count - 1)
                    if let same = findings.first(where: { $0.kind == kind }) {
                        found = (Array(steps[...index]), same)
                        break
                    }
                    if scheduler.isStuck { break }
                }
            }
            return found
        }
    }

    /// Takes the steps of a failure again.
    ///
    /// - Returns: the kinds of all findings.
    package static func replay(setup: String, steps: [String]) async throws -> [String] {
        let setup = try JSON(parsing: Array(setup.utf8), maximumDepth: 512).decode(as: SessionSetup.self)
        let steps = try steps.map { try JSON(parsing: Array($0.utf8), maximumDepth: 512).decode(as: Move.self) }
        return await Scheduler.walk { scheduler in
            var kinds: [String] = []
            begin(setup, scheduler) { walk in
                for step in steps where !scheduler.isStuck { kinds += walk.take(step, checksAll: true).map(\.kind) }
            }
            return kinds
        }
    }
}

/// Random bytes that are the same in every run.
///
/// Unchecked: used on the walk's thread only.
final class Dice: ByteSource, @unchecked Sendable {
    private var numbers: Numbers

    init(seed: UInt64) { numbers = Numbers(seed: seed) }

    func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(truncatingIfNeeded: numbers.next() >> 24) } }
}

extension SessionWalk {
    /// What may be compared from run to run.
    var digest: String {
        let accounts = ledger.accounts.map { account in
            let last = account.last
            return "\(account.name) \(last.number) \(Digest.text(of: last.text)) \(account.answers.count)"
        }
        return "\(scheduler.time) \(scheduler.count) \(Digest.text(of: Array(accounts.joined(separator: ",").utf8)))"
    }
}
