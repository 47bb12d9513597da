internal import Coordinators
internal import FoundationEssentials
internal import JSONCoding
internal import MicroHTTP
internal import Sessions
internal import Sodium
internal import Synchronization

/// What the console needs from the server. `nil` in `NavigationHandler.Settings` for a server without a console.
public struct ConsoleSettings: Sendable {
    /// Name and version, `coordinatord/0.1.0`.
    public var server: String
    public var isDevelopment: Bool
    /// The token that gives access to every session and to the server's figures; `nil` if nobody has access.
    public var operatorToken: String?
    /// The map of an app, as `graph` writes it in JSON with all built-in events; `nil` if there is none.
    public var map: @Sendable (_ app: String) async -> String?

    public init(
        server: String, isDevelopment: Bool, operatorToken: String?,
        map: @escaping @Sendable (_ app: String) async -> String?
    ) {
        self.server = server
        self.isDevelopment = isDevelopment
        self.operatorToken = operatorToken
        self.map = map
    }
}

/// The state of the console: its settings, and what it counts.
final class Console: Sendable {
    let settings: ConsoleSettings
    let operatorToken: SHA256Digest?
    let events = Rate()
    let creations = Rate()
    let problems = Rate()
    let start = ContinuousClock.now
    private let maps = Mutex<[String: Task<String?, Never>]>([:])

    /// Ends with the work that was started last.
    private let last = Mutex<Task<Void, Never>?>(nil)

    init(_ settings: ConsoleSettings) {
        self.settings = settings
        self.operatorToken = settings.operatorToken.map { SHA256Digest(of: $0) }
    }

    /// Does work that takes a while, such as counting sessions: one piece of work at a time, and none on a connection's
    /// thread, which serves many clients.
    func inTurn<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
        await last.withLock { last in
            let task = Task.detached { [last] in
                await last?.value
                return work()
            }
            last = Task.detached { _ = await task.value }
            return task
        }.value
    }

    /// The map of an app. The app is explored only once.
    func map(of app: String) async -> String? {
        await maps.withLock { maps in
            let map = maps[app] ?? Task { await settings.map(app) }
            maps[app] = map
            return map
        }.value
    }
}

/// How often something happens: counted over the last ten whole seconds.
final class Rate: Sendable {
    private static let seconds = 10

    private struct Counts {
        var second = 0
        /// Of this second and the ten before it, the newest first.
        var counts = [Int](repeating: 0, count: Rate.seconds + 1)

        mutating func advance(to now: Int) {
            let passed = min(max(0, now - second), counts.count)
            if passed > 0 { counts = Array(repeating: 0, count: passed) + counts.dropLast(passed) }
            second = max(second, now)
        }
    }

    private let start = ContinuousClock.now
    private let counts = Mutex(Counts())

    private var now: Int { Int((ContinuousClock.now - start) / .seconds(1)) }

    func count() {
        let now = now
        counts.withLock { counts in
            counts.advance(to: now)
            counts.counts[0] += 1
        }
    }

    var perSecond: Double {
        let now = now
        let counted = counts.withLock { counts in
            counts.advance(to: now)
            return counts.counts.dropFirst().reduce(0, +)
        }
        return Double(counted) / Double(min(Rate.seconds, max(1, now)))
    }
}

/// The page's files, compiled in.
enum ConsoleFiles {
    private static let (script, style) = ("text/javascript; charset=utf-8", "text/css; charset=utf-8")

    /// The client library, which any page may load.
    static let clientModule = Document(file: "Console/client.js", type: script)

    static let all = Dictionary(
        uniqueKeysWithValues: [
            "console.css", "dom.js", "form.js", "history.js", "json.js", "main.js", "map.js", "phone.js", "server.js",
            "session.js", "state.js", "tree.js",
        ].map { ($0, Document(file: "Console/\($0)", type: $0.hasSuffix(".css") ? style : script)) })

    /// - Parameter depth: the number of segments in the request's path, which the page's links are relative to.
    static func page(depth: Int) -> Document { pages[min(depth, pages.count) - 1] }

    private static let pages = ["console/", "./", "../"].map { base in
        let text = StaticBytes(file: "Console/console.html").text
            .replacing(#"<base href="./">"#, with: #"<base href="\#(base)">"#)
        return Document(
            Array(text.utf8), type: "text/html; charset=utf-8",
            more: ["Content-Security-Policy": policy, "Referrer-Policy": "no-referrer"])
    }

    /// Allows nothing from other origins, nothing inline, and no embedding in frames.
    private static let policy = """
        default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
        base-uri 'self'; form-action 'none'; frame-ancestors 'none'
        """
}

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
