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

        // What is wrong with the engine, `SimulationTests` find: here it is about the apps.
        for seed in 0..<UInt64(Scale.rounds(5, long: 200)) {
            try await RandomWalk(app, seed: seed, count: 200, expecting: [Numbers.Failure.self])
                .run(andCheck: DeltaCheck().fault)
        }
    }
}
