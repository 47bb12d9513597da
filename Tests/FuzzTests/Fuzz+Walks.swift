internal import Coordinators
@testable internal import CoordinatorsTesting
internal import JSONCoding
internal import ReferenceApps

/// Where the seeds come from: simulated users post what the reference apps offer, with payloads from the `examples`.
extension Fuzz {
    static let apps = ReferenceApps.all(accounts: OneAccount(), latency: .zero)

    /// A few steps through an app.
    struct Walked {
        let app: App
        /// The bodies of the posted events.
        let bodies: [JSON]
        /// The states that they led to, including the first.
        let states: [NavigationState]
    }

    /// How many events a walk has.
    static let walkLength = 8

    static func walks() async throws -> [Walked] {
        var walks: [Walked] = []
        for app in apps {
            for seed in 0..<8 as Range<UInt64> {
                var numbers = SplitMix64(seed: seed)
                var walk = try await Walk(app, at: CoordinatorTester.someTime, expecting: [Numbers.Failure.self])
                var states = [walk.state]
                for _ in 0..<walkLength {
                    try await walk.step(.event(walk.chooseEvent(with: &numbers)))
                    if walk.state != states.last { states.append(walk.state) }
                }
                walks.append(Walked(app: app, bodies: walk.steps.events.map(\.body), states: states))
            }
        }
        return walks
    }
}

/// Compares passwords as text, where the server compares hashes.
private struct OneAccount: LoginRepository {
    func verify(email: String, password: String, from client: ClientAddress?) throws(LoginError) {
        guard email == "ann@example.com", password == "correct horse" else { throw .refused }
    }
}

extension PostedEvent {
    /// The event as a client posts it.
    var body: JSON {
        var body: JSONObject = ["type": .string(type)]
        body["payload"] = payload
        body["screen"] = screen.map { .string($0) }
        return .object(body)
    }
}
