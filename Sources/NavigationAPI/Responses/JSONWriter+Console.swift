internal import Coordinators
internal import FoundationEssentials
internal import JSONCoding
internal import Sessions

// What the operator sees of sessions and handlers.
extension JSONWriter {
    mutating func overview(of state: SessionState) {
        member("id", state.id.text)
        member("app", state.app)
        member("version", state.version)
        member("screen", ifAny: state.navigation.visible?.screen.name)
        member("createdAt", Timestamp.text(of: state.identity.createdAt))
        member("usedAt", Timestamp.text(of: state.usedAt))
        member("expiresAt", Timestamp.text(of: state.expiresAt))
        member("user", ifAny: state.identity.user)
    }

    mutating func timing(_ entry: HandlerTimings.Entry) {
        func rounded(_ milliseconds: Double) -> JSON { .number((milliseconds * 100).rounded() / 100) }
        member("app", entry.app)
        member("event", entry.event)
        member("count", entry.count)
        member("p50Ms", rounded(entry.percentile(0.5)))
        member("p99Ms", rounded(entry.percentile(0.99)))
        member("maxMs", rounded(entry.longest))
    }

    /// How many sessions there are of each app, on each screen, and of each age.
    mutating func census(of states: [SessionState], versions: (String) -> Int?) {
        name("byApp")
        array { writer in
            for (app, states) in Dictionary(grouping: states, by: \.app).sorted(by: { $0.key < $1.key }) {
                writer.object { writer in
                    writer.member("app", app)
                    writer.member("count", states.count)
                    writer.name("screens")
                    writer.array { writer in
                        let screens = Dictionary(grouping: states) { $0.navigation.visible?.screen.name ?? "" }
                        for (screen, states) in screens.sorted(by: {
                            ($1.value.count, $0.key) < ($0.value.count, $1.key)
                        }) {
                            writer.object { writer in
                                writer.member("screen", screen)
                                writer.member("count", states.count)
                            }
                        }
                    }
                    writer.name("versions")
                    writer.array { writer in
                        // Sessions in memory have been brought to the app's version.
                        writer.object { writer in
                            writer.member("version", versions(app) ?? 1)
                            writer.member("count", states.count)
                        }
                    }
                }
            }
        }
        let now = Date()
        let ages = states.map { now.timeIntervalSince($0.usedAt) }
        name("ages")
        array { writer in
            var least = -Double.infinity
            for limit in [60, 600, 3600, 86_400, 30 * 86_400] {
                writer.object { writer in
                    writer.member("upTo", limit)
                    writer.member("count", ages.count { $0 > least && $0 <= Double(limit) })
                }
                least = Double(limit)
            }
        }
    }
}
