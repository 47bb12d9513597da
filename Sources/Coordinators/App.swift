public import FoundationEssentials
internal import JSONCoding

/// An app: its root coordinator, and every type of coordinator that may live in it.
public final class App: Sendable {
    /// What a client asks for when it creates a session.
    public let name: String
    let rootType: CoordinatorType
    /// The root's type first.
    let types: [CoordinatorType]
    private let makeRoot: @Sendable () -> any Coordinator

    public init<Root: Coordinator>(
        _ name: String, root: @escaping @Sendable () -> Root, coordinators: [any Coordinator.Type] = []
    ) {
        self.name = name
        self.makeRoot = { root() }
        self.rootType = CoordinatorType(Root.self)
        self.types = [rootType] + coordinators.filter { $0 != Root.self }.map { CoordinatorType($0) }
    }

    /// What is wrong with the declaration; a server refuses to start with any of it.
    public var problems: [String] {
        var problems = types.flatMap(\.problems)
        for (index, type) in types.enumerated() where types[..<index].contains(where: { $0.name == type.name }) {
            problems.append("two coordinators are named “\(type.name)”")
        }
        return problems.map { "app “\(name)”: \($0)" }
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
    public func beginLaunch(at now: Date) throws(NavigationError) -> TransitionRun {
        var run = TransitionRun(of: self, on: NavigationState(), at: now, event: nil)
        try run.startRoot()
        return run
    }

    /// Applies one event: the whole transition, or none of it.
    public func apply(
        _ event: PostedEvent, to state: NavigationState, at now: Date
    ) async throws(NavigationError) -> TransitionResult {
        var run = try begin(event, on: state, at: now)
        return try await run.result()
    }

    /// Begins to apply one event, as far as that goes without calling a coordinator.
    public func begin(
        _ event: PostedEvent, on state: NavigationState, at now: Date
    ) throws(NavigationError) -> TransitionRun {
        if let screen = event.screen, screen != state.visible?.key { throw .staleScreen }
        var run = TransitionRun(of: self, on: state, at: now, event: event.type)
        if let builtIn = BuiltInEvent(rawValue: event.type) {
            try run.begin(builtIn, payload: event.payload)
        } else {
            try run.route(event)
        }
        return run
    }

    /// The root, as a session starts with it.
    func root() -> any Coordinator { makeRoot() }

    func type(of coordinator: any Coordinator) -> CoordinatorType? {
        let type = Swift.type(of: coordinator)
        return types.first { $0.type == type }
    }
}
