internal import FoundationEssentials
public import MicroHTTP
public import Sessions
internal import Sodium
internal import Synchronization

/// What the console needs from the server. `nil` in `NavigationHandler.Settings` for a server without a console.
public struct ConsoleSettings: Sendable {
    /// Name and version, with a slash between them.
    public var server: String
    public var isDevelopment: Bool
    /// Whether it is on the public port, not only where the operator asks, see `NavigationHandler.respondToOperator`.
    public var isPublic: Bool
    /// The keys that give access to every session and to the server's figures; `nil` if nobody has access.
    public var operators: (any NamedKeys)?
    /// Receives what operators do, and each token that is nobody's.
    public var audit: @Sendable (AuditEntry) -> Void
    /// The map of an app, as `graph` writes it in JSON with all built-in events; `nil` if there is none.
    public var map: @Sendable (_ app: String) async -> String?

    public init(
        server: String, isDevelopment: Bool, isPublic: Bool = true, operators: (any NamedKeys)?,
        audit: @escaping @Sendable (AuditEntry) -> Void = { _ in },
        map: @escaping @Sendable (_ app: String) async -> String?
    ) {
        self.server = server
        self.isDevelopment = isDevelopment
        self.isPublic = isPublic
        self.operators = operators
        self.audit = audit
        self.map = map
    }
}

/// What an operator has done, or tried to do.
public struct AuditEntry: Sendable {
    /// `end-session`; `wrong-token` for a token that is nobody's.
    public let act: String
    /// The name of the key; `nil` for a token that is nobody's.
    public let operatorName: String?
    /// The session or the user that the path or the query names.
    public let session: SessionID?
    public let user: String?
    /// The app and the screen whose sessions were looked for.
    public let app: String?
    public let screen: String?
    /// How many sessions have ended; `nil` if the act is not to end those of a user, or not all could be ended.
    public let ended: Int?
    /// `nil` if it is not known.
    public let address: IPAddress?
    public let request: RequestID
    /// `done`, or the name of the problem in the answer.
    public let outcome: String
}

/// That a method is the operator's, and how the audit log names what is done by it.
struct OperatorRight: Sendable {
    enum Exception: Sendable { case none, everybody, sessionsClient }

    /// `nil` for what says nothing of a session.
    let act: StaticString?
    /// Whether the answer says how many sessions have `ended`, which the audit log repeats.
    var countsEnded = false
    /// Who may do it without a key, with `--development`: there, the operator and the client are the same person.
    let inDevelopment: Exception

    static let figures = OperatorRight(act: nil, inDevelopment: .none)

    static func act(
        _ name: StaticString, countsEnded: Bool = false, inDevelopment: Exception = .none
    ) -> OperatorRight {
        OperatorRight(act: name, countsEnded: countsEnded, inDevelopment: inDevelopment)
    }
}

/// The state of the console: its settings, and what it counts.
final class Console: Sendable {
    /// Whose token a request has.
    enum Caller { case named(String), nobody, unheard(retryAfter: Int) }

    /// A token that was an operator's, and where it came from.
    private struct KnownCaller: Hashable {
        let address: IPAddress
        let token: SHA256Digest
    }

    private static let knownCallerLimit = 1000

    let settings: ConsoleSettings
    /// Tokens that an address may try in a minute.
    private let tries = RateLimit(10, in: 60).map(AddressRates.init)
    /// The clock of `tries`.
    private let now: @Sendable () -> Date
    private let knownCallers = Mutex<Set<KnownCaller>>([])
    let events = Rate()
    let creations = Rate()
    let problems = Rate()
    let start = ContinuousClock.now
    private let maps = Mutex<[String: Task<String?, Never>]>([:])

    /// Ends with the work that was started last.
    private let last = Mutex<Task<Void, Never>?>(nil)

    init(_ settings: ConsoleSettings, now: @escaping @Sendable () -> Date) {
        self.settings = settings
        self.now = now
    }

    /// Looks whose token it is, unless its address has tried too many wrong ones. A token that was right when it came
    /// from there the last time is always looked at: who tries tokens behind the same proxy does not keep an operator
    /// from working.
    ///
    /// - Parameter address: `nil` if it is not known; then nothing is counted.
    func caller(_ token: String, from address: IPAddress?) -> Caller {
        let caller = address.map { KnownCaller(address: $0.subscriber, token: SHA256Digest(of: token)) }
        let isKnown = caller.map { known in knownCallers.withLock { $0.contains(known) } } ?? true
        if let address, !isKnown, let wait = tries?.take(address, at: now()).wait { return .unheard(retryAfter: wait) }
        let name = settings.operators?.name(ofKey: token)
        if let address, !isKnown, name != nil { tries?.giveBack(address) }
        if let caller, isKnown != (name != nil) {
            knownCallers.withLock { all in
                // Bounded, however many addresses an operator has.
                if all.count >= Console.knownCallerLimit { all.removeAll() }
                if name == nil { all.remove(caller) } else { all.insert(caller) }
            }
        }
        return name.map { .named($0) } ?? .nobody
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

    private let start = ContinuousClock.now
    /// Of this second and of ten others, each at the second modulo eleven.
    private let counts = Mutex([(second: Int, count: Int)](repeating: (0, 0), count: Rate.seconds + 1))

    private var now: Int { Int((ContinuousClock.now - start) / .seconds(1)) }

    func count() {
        let now = now
        counts.withLock { counts in
            let place = now % counts.count
            if counts[place].second < now { counts[place] = (now, 0) }
            counts[place].count += 1
        }
    }

    var perSecond: Double {
        let now = now
        let counted = counts.withLock { counts in
            counts.reduce(0) { (now - Rate.seconds..<now).contains($1.second) ? $0 + $1.count : $0 }
        }
        return Double(counted) / Double(min(Rate.seconds, max(1, now)))
    }
}
