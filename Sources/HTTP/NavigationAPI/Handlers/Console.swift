internal import Sessions
internal import Sodium
internal import Synchronization

/// What the console needs from the server. `nil` in `NavigationHandler.Settings` for a server without a console.
public struct ConsoleSettings: Sendable {
    /// Name and version, with a slash between them.
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
