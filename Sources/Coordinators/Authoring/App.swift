public import FoundationEssentials
internal import JSONCoding

/// An app: its root coordinator, and every type of coordinator that may live in it.
public final class App: Sendable {
    /// What a client asks for when it creates a session.
    public let name: String
    /// Of what it saves.
    public let version: Int
    /// What is wrong with the declaration; a server refuses to start with any of it.
    public let problems: [String]
    /// The links of all coordinators.
    public let links: [LinkPattern]
    /// How long its sessions live, where that is not left to the server.
    public let expiry: Expiry
    /// What becomes of a session that an older version saved and this one cannot bring back.
    public let incompatibleSessions: IncompatibleSessions
    /// Whether the end of a session is that of its forks too, and of theirs.
    public let endsForks: Bool
    let dependencies: ResolvedDependencies
    let rootType: CoordinatorType
    /// The root's type first.
    let types: [CoordinatorType]
    private let makeRoot: @Sendable () -> any Coordinator

    /// - Parameters:
    ///   - version: of what the app saves; raise it with a change that `Coordinator.migrate` has to bridge.
    ///   - root: the first coordinator of a session.
    ///   - coordinators: every type that may be started below it.
    ///   - dependencies: what its coordinators resolve.
    ///   - expiry: how long its sessions live.
    ///   - incompatibleSessions: what becomes of sessions that there is no way to migrate.
    ///   - endsForks: whether ending a session ends its forks too, and theirs: so that who signs out by it is signed out
    ///     everywhere that the session was forked to.
    public init<Root: Coordinator>(
        _ name: String, version: Int = 1, root: @escaping @Sendable () -> Root,
        coordinators: [any Coordinator.Type] = [], dependencies: Dependencies = Dependencies(),
        expiry: Expiry = Expiry(), incompatibleSessions: IncompatibleSessions = .relaunched,
        endsForks: Bool = false
    ) {
        self.name = name
        self.expiry = expiry
        self.incompatibleSessions = incompatibleSessions
        self.endsForks = endsForks
        self.version = version
        self.makeRoot = { root() }
        let all: [any Coordinator.Type] = [Root.self] + coordinators.filter { $0 != Root.self }
        let hasLinks = all.contains { !$0.links.isEmpty }
        self.types = all.map { CoordinatorType($0, isOfAppWithLinks: hasLinks, version: version) }
        self.rootType = types[0]
        self.links = all.flatMap { $0.links }
        var problems = types.flatMap(\.problems)
        for (index, type) in types.enumerated() where types[..<index].contains(where: { $0.name == type.name }) {
            problems.append("two coordinators are named “\(type.name)”")
        }
        let (resolved, missing) = App.resolve(dependencies, for: all)
        self.dependencies = resolved
        self.problems = (problems + missing).map { "app “\(name)”: \($0)" }
    }

    private static func resolve(
        _ dependencies: Dependencies, for types: [any Coordinator.Type]
    ) -> (ResolvedDependencies, problems: [String]) {
        do {
            let resolved = try dependencies.resolved()
            let missing = types.flatMap { type in
                type.dependencies.filter { !resolved.has($0) }
                    .map { "\(type.name) needs \($0), which is not registered" }
            }
            return (resolved, missing)
        } catch {
            return (.none, ["\(error)"])
        }
    }

    /// The link of that path; `nil` where no coordinator knows it.
    func link(_ path: String) -> Link? {
        guard let texts = PathSegment.texts(of: path) else { return nil }
        for pattern in links {
            if let params = pattern.match(texts) { return Link(path, pattern, params) }
        }
        return nil
    }

    /// The coordinators' names and events, the root first.
    public var coordinators: [(name: String, events: [EventShape])] {
        types.map { ($0.name, $0.events) }
    }

    /// The first state of a session.
    public func launch(at now: Date) async throws(NavigationError) -> TransitionResult {
        var run = try beginLaunch(at: now)
        return try await run.result()
    }

    /// Begins the first transition of a session.
    ///
    /// - Parameter link: opened as soon as the tree stands.
    public func beginLaunch(at now: Date, link path: String? = nil) throws(NavigationError) -> TransitionRun {
        var run = TransitionRun(of: self, on: NavigationState(), at: now, event: nil)
        try run.startRoot()
        if let path { try run.open(path) }
        return run
    }

    /// Begins to start a session anew that `restore` cannot bring back. Its `defaults` are kept, and no key is used again.
    ///
    /// - Parameter saved: the state as it was saved.
    public func beginRelaunch(of saved: JSON, at now: Date) throws(NavigationError) -> TransitionRun {
        var state = NavigationState()
        state.lastKey = min(max(saved["lastKey"]?.integer ?? 0, 0), NavigationState.numberLimit)
        state.lastID = min(max(saved["lastID"]?.integer ?? 0, 0), NavigationState.numberLimit)
        state.defaults = Defaults(saved["defaults"]?.object ?? [:])
        var run = TransitionRun(of: self, on: state, at: now, event: PostedEvent(BuiltInEvent.relaunch.rawValue))
        try run.startRoot()
        return run
    }

    /// Applies one event: the whole transition, or none of it.
    public func apply(
        _ event: PostedEvent, to state: NavigationState, at now: Date
    ) async throws(NavigationError) -> TransitionResult {
        var run = try begin(event, on: state, at: now)
        if let result = try run.resultAtOnce() { return result }
        return try await run.result()
    }

    /// Begins to apply one event, as far as that goes without calling a coordinator.
    public func begin(
        _ event: PostedEvent, on state: NavigationState, at now: Date
    ) throws(NavigationError) -> TransitionRun {
        if let screen = event.screen, screen != state.visible?.key { throw .staleScreen }
        var run = TransitionRun(of: self, on: state, at: now, event: event)
        try run.begin(event)
        return run
    }

    /// The root, as a session starts with it.
    func root() -> any Coordinator { makeRoot() }

    func type(of coordinator: any Coordinator) -> CoordinatorType? {
        let type = Swift.type(of: coordinator)
        return types.first { $0.type == type }
    }
}
