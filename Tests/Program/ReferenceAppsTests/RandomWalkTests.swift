import Coordinators
import CoordinatorsTesting
import ReferenceApps
import TestSupport
import Testing

@Suite struct RandomWalkTests {
    static let apps = ReferenceApps.all(accounts: OneAccount(), latency: .zero)

    @Test(arguments: apps.map(\.name))
    func `ten thousand random events break nothing`(name: String) async throws {
        let app = try #require(RandomWalkTests.apps.first { $0.name == name })

        for seed in 0..<20 as Range<UInt64> {
            let delta = DeltaCheck()
            try await RandomWalk(app, seed: seed, count: 500, expecting: [Numbers.Failure.self]).run { before, result in
                delta.fault(before, result) ?? ReplayCheck.fault(before, result)
            }
        }
    }
}
