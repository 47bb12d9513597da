import Coordinators
import CoordinatorsTesting
import ReferenceApps
import TestSupport
import Testing

@Suite struct RandomWalkTests {
    static let apps = ReferenceApps.all(accounts: OneAccount(), latency: .zero)

    @Test(arguments: apps.map(\.name))
    func `random events break nothing`(name: String) async throws {
        let app = try #require(RandomWalkTests.apps.first { $0.name == name })

        // Many walks rather than long ones: what is wrong shows within a few steps, if the right ones meet.
        for seed in 0..<UInt64(Scale.rounds(20, long: 200)) {
            let delta = DeltaCheck()
            try await RandomWalk(app, seed: seed, count: 200, expecting: [Numbers.Failure.self]).run { before, result in
                delta.fault(before, result) ?? ReplayCheck.fault(before, result)
            }
        }
    }
}
