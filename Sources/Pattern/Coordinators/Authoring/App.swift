public import JSONCoding

/// An app: its root coordinator, and every type of coordinator that may live in it.
public final class App: Sendable {
    /// The name by which a client chooses the app when it creates a session.
    public let name: String
    /// The version of what the app saves.
    public let version: Int
    /// The mistakes in the declaration; a server refuses to start if there are any.
    public let problems: [String]
    /// The links of all coordinators.
    public let links: [LinkPattern]
    /// How the URLs begin that may be opened as links, such as `https://shop.example.com`.
    public let origins: [String]
    /// How long the app's sessions live.
    public let expiry: Expiry
    /// What happens to a session that an older version saved and this version cannot restore.
    public let incompatibleSessions: IncompatibleSessions
    /// Whether ending a session also ends its forks, and their forks.
    public let endsForks: Bool
    let dependencies: ResolvedDependencies
    let rootType: CoordinatorType
    /// The root's type first.
    let types: [CoordinatorType]
    let sharedTypes: [SharedType]
    let eventNumbers: EventNumbers
    /// The numbers of the events that once had another name, by that name.
    let aliases: [String: [Int]]
    let linkOrigins: [LinkOrigin]
    /// The links with a catch-all, in the order in which they are tried after the others.
    let catchAlls: [LinkPattern]
    /// The most bytes that coordinators, screens, alerts, shared values, defaults and the client's description of
    /// itself may take when a session is saved.
    public let sizeLimit: Int
    /// The roles that a session's devices may have, that of the device that opens it first.
    public let roles: [DeviceRole]
    /// The alert for an error that a coordinator's function threw; `nil` to answer with an error.
    let onError: (@Sendable (any Error, NavigationContext) -> Alert?)?
    package let limits: Limits
    /// The app's own words for what the server says; `nil` for English.
    package let words: Words?
    private let makeRoot: @Sendable () -> any Coordinator

    /// - Parameters:
    ///   - version: the version of what the app saves; raise it with a change that `Coordinator.migrate` has to bridge.
    ///   - root: makes the root coordinator of a session.
    ///   - coordinators: every type of coordinator that may be started below the root.
    ///   - shared: the types of the values that the coordinators share.
    ///   - dependencies: the services that its coordinators resolve.
    ///   - expiry: how long its sessions live.
    ///   - incompatibleSessions: what happens to sessions that cannot be migrated.
    ///   - origins: a link may also be a whole URL that begins with one of these: `https://shop.example.com`, a scheme
    ///     and a host, and a port if it is not the scheme's own; `https://*.example.com`, the hosts below that one; or
    ///     `shop:`, a scheme of the app's own. The rest of the URL is the path of the link. Behind `shop:` it may begin
    ///     with any number of slashes up to three, so that `shop://products/42` is `/products/42`.
    ///   - endsForks: whether ending a session also ends its forks, and their forks, so that a user who signs out by
    ///     ending the session is signed out of every fork.
    ///   - sizeLimit: how many bytes a session's state may take, from 1 KiB to 1 MiB: the coordinators' properties, the
    ///     parameters of all screens, also of covered ones, and the shared values. Every event writes what it changes,
    ///     and every answer contains all screens, so content that a client can fetch belongs in `Coordinator.content`.
    ///   - roles: what a session's devices may be; the device that opens a session has the first one. By default there is
    ///     none, and all devices may do the same.
    ///   - onError: returns an alert to show for an error that a coordinator's function has thrown, or `nil` to answer
    ///     500. With an alert, the event changes nothing else. Either way the error is logged. The context is that before
    ///     the event, for the client that posted it.
    ///   - words: the words of a phrase in a language, such as `de` or `zh-hant`, always in lower case; `nil` for those of
    ///     a less special language, `zh`, in the end for English. For a session they are in its client's language, for a
    ///     problem in that of the request's `Accept-Language`.
    public init<Root: Coordinator>(
        _ name: String, version: Int = 1, root: @escaping @Sendable () -> Root,
        coordinators: [any Coordinator.Type] = [], shared: [any SharedState.Type] = [],
        dependencies: Dependencies = Dependencies(),
        expiry: Expiry = Expiry(), incompatibleSessions: IncompatibleSessions = .relaunched,
        origins: [String] = [], endsForks: Bool = false, sizeLimit: Int = 64 * 1024,
        roles: [DeviceRole] = [],
        onError: (@Sendable (any Error, NavigationContext) -> Alert?)? = nil,
        words: (@Sendable (Phrase, _ language: String) -> String?)? = nil
    ) {
        self.name = name
        self.expiry = expiry
        self.incompatibleSessions = incompatibleSessions
        self.origins = origins
        self.linkOrigins = origins.compactMap { LinkOrigin($0) }
        self.endsForks = endsForks
        self.sizeLimit = sizeLimit
        self.roles = roles
        self.onError = onError
        self.limits = Limits.ofNewApps
        let words = words.map(Words.init)
        self.words = words
        self.version = version
        self.makeRoot = { root() }
        let all: [any Coordinator.Type] = [Root.self] + coordinators.filter { $0 != Root.self }
        let links = all.flatMap { $0.linkPatterns ?? [] }
        var numbers = EventNumbers()
        self.types = all.map { CoordinatorType($0, linksOfApp: links, version: version, words: words, &numbers) }
        self.eventNumbers = numbers
        self.aliases = App.aliases(of: types, numbers)
        self.sharedTypes = shared.map { SharedType($0, version: version) }
        self.rootType = types[0]
        self.links = links
        self.catchAlls = App.catchAlls(among: links)
        var problems = types.flatMap(\.problems) + sharedTypes.flatMap(\.problems)
        for (index, type) in types.enumerated() where types[..<index].contains(where: { $0.name == type.name }) {
            problems.append("two coordinators are named “\(type.name)”")
        }
        for (index, type) in sharedTypes.enumerated()
        where sharedTypes[..<index].contains(where: { $0.name == type.name }) {
            problems.append("two shared states are named “\(type.name)”")
        }
        problems += App.problems(ofScreens: types) + App.problems(of: roles, types)
        for type in types.dropFirst() where type.isToldOfDevices {
            problems.append("\(type.name) declares deviceDidPair(_:_:), which is called on the root only")
        }
        if !(0...NavigationState.numberLimit).contains(version) {
            problems.append("its version must be from 0 to 2⁵³")
        }
        if !App.sizeLimits.contains(sizeLimit) {
            problems.append("its sizeLimit must be from 1 KiB to 1 MiB")
        }
        for origin in origins where LinkOrigin(origin) == nil {
            problems.append(
                "“\(origin)” is not an origin: write “https://shop.example.com”, “https://*.example.com” or “shop:”")
        }
        let (resolved, missing) = App.resolve(dependencies, for: all)
        self.dependencies = resolved
        self.problems = (problems + missing).map { "app “\(name)”: \($0)" }
    }

    /// The same app with another root.
    private init<Root: Coordinator>(_ app: App, root makeRoot: @escaping @Sendable () -> Root) {
        var numbers = app.eventNumbers
        let root = CoordinatorType(Root.self, linksOfApp: app.links, version: app.version, words: app.words, &numbers)
        eventNumbers = numbers
        name = app.name
        version = app.version
        problems = app.problems + root.problems
        links = app.links
        origins = app.origins
        expiry = app.expiry
        incompatibleSessions = app.incompatibleSessions
        endsForks = app.endsForks
        dependencies = app.dependencies
        rootType = root
        types = [root] + app.types
        sharedTypes = app.sharedTypes
        linkOrigins = app.linkOrigins
        aliases = App.aliases(of: types, numbers)
        catchAlls = app.catchAlls
        sizeLimit = app.sizeLimit
        limits = app.limits
        roles = app.roles
        onError = app.onError
        words = app.words
        self.makeRoot = { makeRoot() }
    }

    /// The same app with another root, below which any of its coordinators may be started: for tests of one flow.
    package func rooted<Root: Coordinator>(in root: @escaping @Sendable () -> Root) -> App {
        App(self, root: root)
    }

    private static func aliases(of types: [CoordinatorType], _ numbers: EventNumbers) -> [String: [Int]] {
        var aliases: [String: [Int]] = [:]
        for type in types {
            for (alias, event) in type.aliases {
                guard let number = numbers.byName[event] else { continue }
                aliases[alias, default: []].append(number)
            }
        }
        return aliases
    }

    /// A client knows a screen by its name alone, so its parameters must be the same wherever it is declared.
    private static func problems(ofScreens types: [CoordinatorType]) -> [String] {
        var declared: [String: (screen: ScreenType, coordinator: String)] = [:]
        var problems: [String] = []
        for type in types {
            for screen in type.screens {
                if let other = declared[screen.name] {
                    guard other.screen.params != screen.params || other.screen.content != screen.content else {
                        continue
                    }
                    problems.append("\(other.coordinator) and \(type.name) declare different screens “\(screen.name)”")
                } else {
                    declared[screen.name] = (screen, type.name)
                }
            }
        }
        return problems
    }

    private static let sizeLimits = 1024...1024 * 1024

    private static func resolve(
        _ dependencies: Dependencies, for types: [any Coordinator.Type]
    ) -> (ResolvedDependencies, problems: [String]) {
        do {
            let resolved = try dependencies.resolved()
            let missing = types.flatMap { type in
                (type.dependencyTypes ?? []).filter { !resolved.has($0) }
                    .map { "\(type.name) needs \($0), which is not registered" }
            }
            return (resolved, missing)
        } catch {
            return (.none, ["\(error)"])
        }
    }

    /// The coordinators' names, their events and the signals that other systems may send them, the root first.
    public var coordinators: [(name: String, events: [EventShape], signals: [EventShape])] {
        types.map { ($0.name, $0.events, $0.signals) }
    }

    /// The types of its coordinators, the root's first.
    package var coordinatorTypes: [any Coordinator.Type] { types.map(\.type) }

    /// Whether any coordinator of the app declares `willBeRemoved`.
    package var hasEndObservers: Bool { types.contains { $0.work.willBeRemoved != nil } }

    /// Whether the root declares `deviceDidPair`.
    package var isToldOfDevices: Bool { rootType.isToldOfDevices }

    /// Whether any coordinator of the app has an event of that name.
    func hasEvent(_ name: String) -> Bool { eventNumbers.byName[name] != nil }

    /// The first state of a session.
    public func launch(at now: Date) async throws(NavigationError) -> TransitionResult {
        var run = try beginLaunch(at: now)
        return try await run.result()
    }

    /// Begins the first transition of a session.
    ///
    /// - Parameters:
    ///   - link: opened as soon as the tree has started: a path, or a URL of one of the app's origins. If a coordinator
    ///     throws then and `onError` has an alert for it, the session begins without the link, and with the alert.
    ///   - client: what the client says about itself.
    public func beginLaunch(
        at now: Date, link path: String? = nil, client: ClientInfo? = nil
    ) throws(NavigationError) -> TransitionRun {
        var state = NavigationState()
        if let client { state.client = client }
        state.role = roles.first
        var run = TransitionRun(of: self, on: state, at: now, event: nil)
        try run.startRoot()
        if let path { run.state.pendingLink = PendingLink(path: try link(path).text, coordinator: nil) }
        return run
    }

    /// Begins to relaunch a session that `restore` cannot restore. Its `defaults` are kept, and no key is reused.
    ///
    /// - Parameter saved: the state as it was saved.
    public func beginRelaunch(of saved: JSON, at now: Date) throws(NavigationError) -> TransitionRun {
        // Its coordinators are told as after any relaunch.
        var state = remains(of: saved.ended(.relaunched, at: now))
        state.shared = state.shared.surviving
        var run = TransitionRun(of: self, on: state, at: now, event: PostedEvent(BuiltInEvent.relaunch.rawValue))
        try run.startRoot()
        return run
    }

    /// What does not belong to any coordinator of a saved state, and the clean-ups of those that are gone.
    public func remains(of saved: JSON) -> NavigationState {
        var state = NavigationState()
        state.lastKey = min(max(saved["lastKey"]?.integer ?? 0, 0), NavigationState.numberLimit)
        state.lastID = min(max(saved["lastID"]?.integer ?? 0, 0), NavigationState.numberLimit)
        state.defaults = Defaults(saved["defaults"]?.object ?? [:])
        let session = SavedSession(
            version: saved["version"]?.integer ?? version, defaults: saved["defaults"]?.object ?? [:],
            coordinators: (try? saved.member("coordinators")) ?? [])
        let shared = SharedValues.restored(saved["shared"]?.object ?? [:], of: session, as: sharedTypes)
        state.shared = shared.0
        if let client = saved["client"].flatMap({ try? ClientInfo($0) }) { state.client = client }
        state.role = role(saved["role"]?.string)
        state.inheritedID = min(max(saved["inheritedID"]?.integer ?? 0, 0), state.lastID)
        for work in saved["pending"]?.array ?? [] {
            if let work = try? PendingWork(json: work), work.cleanUp != nil { state.pending.append(work) }
        }
        return state
    }

    /// Applies one event: the whole transition, or none of it.
    public func apply(
        _ event: PostedEvent, to state: NavigationState, at now: Date
    ) async throws(NavigationError) -> TransitionResult {
        var run = try begin(event, on: state, at: now)
        if let result = try run.resultAtOnce() { return result }
        return try await run.result()
    }

    /// Begins to apply one event, up to the first call of a coordinator.
    ///
    /// - Parameter device: the device that posted the event, which the state is drawn for before; `nil` for the session's
    ///   only one, or the operator, who sees what the last one sees.
    public func begin(
        _ event: PostedEvent, on state: NavigationState, at now: Date, by device: Device? = nil
    ) throws(NavigationError) -> TransitionRun {
        if let screen = event.screen, screen != state.shownKey, !event.names(state.alert) { throw .staleScreen }
        let drawn = if let device { try drawing(of: state, for: device) } else { state }
        var run = TransitionRun(of: self, on: drawn, at: now, event: event)
        run.device = device
        run.state.restartIdleTimers(at: now)
        try run.begin(event)
        return run
    }

    /// A new root coordinator.
    func root() -> any Coordinator { makeRoot() }

    func type(of coordinator: any Coordinator) -> CoordinatorType? {
        let type = Swift.type(of: coordinator)
        return types.first { $0.type == type }
    }
}

/// How long the sessions of an app live. `nil` leaves it to the server.
public struct Expiry: Sendable, Equatable {
    /// How long a session lives after its last use: an event that was accepted, or a client that watches it.
    public let idle: Duration?
    /// How long a session lives after it was created, however much it is used.
    public let absolute: Duration?

    public init(idle: Duration? = nil, absolute: Duration? = nil) {
        self.idle = idle
        self.absolute = absolute
    }
}

/// What happens to a session that an older version of its app saved and that cannot be restored.
public enum IncompatibleSessions: Sendable, Equatable {
    /// It is relaunched, with its `defaults`.
    case relaunched
    /// Its client gets an error, and has to create another session.
    case refused
}
