public import FoundationEssentials
internal import JSONCoding

/// What a coordinator asks for.
///
/// A navigator only records. What it recorded is performed, in order, after the coordinator's function has returned:
/// a coordinator is never called while one of its functions still runs.
public struct Navigator: Sendable {
    /// Small values kept for the session, also across `relaunch`.
    public var defaults: Defaults
    /// The time of the event, the same during the whole transition.
    public let now: Date
    /// The screen that the user sees, as it was before anything was asked for.
    public var visible: Screen? { placed?.screen }
    /// Where the event comes from; `nil` where none is known, as when a session is launched.
    public let client: ClientAddress?
    private(set) var requests: [Request] = []
    private let placed: PlacedScreen?
    /// Whom it is for.
    private let coordinator: Int
    /// The id of the stack on which that one was started.
    private let home: Int
    private let stack: ScreenStack
    private let presented: [PresentedFlow]
    private let dependencies: ResolvedDependencies

    init(
        for coordinator: LivingCoordinator, in state: NavigationState, now: Date, client: ClientAddress?,
        dependencies: ResolvedDependencies
    ) {
        self.defaults = state.defaults
        self.now = now
        self.client = client
        self.placed = state.visible
        self.coordinator = coordinator.id
        self.home = coordinator.home
        // Not the whole state: the engine is about to change its coordinators, which would be copied then.
        self.stack = state.stack
        self.presented = state.presented
        self.dependencies = dependencies
    }

    /// The id of the tab that is selected on this coordinator's own screen with tabs, the topmost one where it has several,
    /// however much lies over it; `nil` where it has none. As it was before anything was asked for.
    public var selectedTab: String? {
        var selected: String?
        let visit = { (screen: PlacedScreen) in
            if screen.coordinator == coordinator, let tabs = screen.tabs { selected = tabs.selected.id }
        }
        stack.forEachScreen(visit)
        for flow in presented { flow.stack.forEachScreen(visit) }
        return selected
    }

    /// Whether a flow is presented over the stack of this coordinator, by whomever: what `dismissPresented` would dismiss.
    /// As it was before anything was asked for.
    public var isPresenting: Bool {
        let own = presented.firstIndex { $0.stack.contains(home) }
        return presented.count > (own.map { $0 + 1 } ?? 0)
    }

    /// What the app registered for a type; the coordinator's `dependencies` should list it.
    public func resolve<Dependency: Sendable>(
        _ type: Dependency.Type = Dependency.self
    ) throws(DependencyError) -> Dependency {
        try dependencies.resolve(type)
    }
}

// Stacks. A coordinator's stack is the one where the user sees its screen, else the one on which it was started.
extension Navigator {
    /// Puts a screen on top of the stack.
    ///
    /// - Parameter onlyIfNew: does nothing where the screen on top has the same name and parameters already.
    public mutating func push(_ screen: Screen, onlyIfNew: Bool = false) {
        requests.append(.push(screen, onlyIfNew: onlyIfNew))
    }

    /// Puts a screen with tabs on top of the stack.
    ///
    /// - Parameters:
    ///   - selected: the id of the tab that is selected; the first one's by default.
    ///   - back: what back does at the first screen of a tab.
    public mutating func push(_ screen: Screen, tabs: [Tab], selected: String? = nil, back: TabBackRule = .nothing) {
        requests.append(.pushTabs(screen, tabs, selected: selected, back: back))
    }

    /// Pops the screen on top of the stack: this coordinator's, or that of a descendant, which is dismissed with its last
    /// screen. Nothing happens to the stack's first screen, as in UIKit: finish instead.
    public mutating func pop() {
        requests.append(.pop)
    }

    /// Pops the stack to its topmost screen of that name.
    public mutating func popTo(_ name: String) {
        requests.append(.popTo(.name(name)))
    }

    /// Pops the stack to the screen of that key.
    public mutating func popTo(key: String) {
        requests.append(.popTo(.key(key)))
    }

    /// Pops the stack to its first screen.
    public mutating func popToRoot() {
        requests.append(.popToRoot)
    }

    /// Puts a screen in the place of the one on top of the stack, which must be this coordinator's.
    public mutating func replace(with screen: Screen) {
        requests.append(.replace(screen))
    }

    /// Puts screens in the place of this coordinator's on the stack, and of all above them.
    public mutating func setStack(_ screens: [Screen]) {
        requests.append(.setStack(screens))
    }

    /// Changes the topmost of this coordinator's screens of that name, wherever it is; it keeps its key.
    public mutating func update(_ name: String, _ change: @Sendable @escaping (inout Screen) -> Void) {
        requests.append(.update(.name(name), change))
    }

    /// Changes this coordinator's screen of that key.
    public mutating func update(key: String, _ change: @Sendable @escaping (inout Screen) -> Void) {
        requests.append(.update(.key(key), change))
    }

    /// Shows a tab, in the innermost screen with a tab of that name among this coordinator's own.
    public mutating func selectTab(_ id: String) {
        requests.append(.selectTab(id))
    }
}

// Flows and alerts.
extension Navigator {
    /// Starts a child on the stack where a push would land now.
    public mutating func start(_ child: some Coordinator) {
        requests.append(.start(child))
    }

    /// Starts a child over everything, on a stack of its own.
    public mutating func present(_ child: some Coordinator, as style: PresentedFlow.Style = .sheet) {
        requests.append(.present(child, style))
    }

    /// Dismisses the presented flow that this coordinator runs in, and all above it. Its parent is told that it was
    /// dismissed; `finish` is the way to end with a result.
    public mutating func dismiss() {
        requests.append(.dismiss)
    }

    /// Dismisses everything that is presented over the stack of this coordinator.
    public mutating func dismissPresented() {
        requests.append(.dismissPresented)
    }

    /// Shows an alert over everything.
    public mutating func alert(_ alert: Alert) {
        requests.append(.alert(alert))
    }

    /// Ends this coordinator: it, its descendants and all their screens go, then its parent's `childDidFinish` is
    /// called. Nothing can be asked for afterwards.
    public mutating func finish() {
        requests.append(.finish)
    }

    /// Ends every flow below this coordinator at once, wherever it is shown; nobody is told. For signing out.
    public mutating func endChildren() {
        requests.append(.endChildren)
    }

    /// Calls the nearest coordinator further up that is of a type, or conforms to a protocol of the author's.
    ///
    /// ```swift
    /// navigator.tell(AppCoordinator.self) { parent, navigator in parent.didLogIn(&navigator) }
    /// navigator.tell((any LoginDelegate).self) { delegate, navigator in delegate.didLogIn(&navigator) }
    /// ```
    public mutating func tell<Recipient>(
        _ type: Recipient.Type,
        _ message: @Sendable @escaping (inout Recipient, inout Navigator) async throws -> Void
    ) {
        requests.append(.tell(Message(type, message)))
    }
}

// The session.
extension Navigator {
    /// Gives the session another token with this transition: to be asked for when the user signs in or gains rights, so
    /// that who has seen the token before gains nothing (session fixation), and when the user signs out. The answer tells
    /// the client the new one; the old one is dead from then on. `docs/sign-in.md` has the whole of it.
    public mutating func rotateToken() {
        requests.append(.rotateToken)
    }
}
