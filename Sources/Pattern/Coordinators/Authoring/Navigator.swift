public import JSONCoding

/// Records a coordinator's requests.
///
/// A navigator performs nothing itself. The engine performs the requests, in order, after the coordinator's function
/// has returned, so a coordinator is never called while one of its functions is still running.
public struct Navigator: Sendable {
    /// Small values kept for the session, also across `relaunch`.
    public var defaults: Defaults
    /// What all coordinators of the session share.
    public var shared: SharedValues
    /// The time of the event, the same during the whole transition.
    public let now: Date
    /// The screen that was visible when the coordinator's function was called.
    public var visible: Screen? { placed?.screen }
    /// Where the event comes from; `nil` if that is not known, for example when a session is launched.
    public let address: ClientAddress?
    /// What the client says about itself: its language, its platform, its version.
    public let client: ClientInfo
    /// The role of the client's device; `nil` if the app declares no roles.
    public let role: DeviceRole?
    private(set) var requests: [any Request] = []
    private let placed: PlacedScreen?
    /// The coordinator's work.
    let pending: [PendingWork]
    /// The id of the coordinator that makes the requests.
    private let coordinator: Int
    /// The id of the stack on which that coordinator was started.
    private let home: Int
    private let mainStack: ScreenStack
    private let presented: [PresentedFlow]
    /// All living coordinators, as long as the function runs.
    private var living: [LivingCoordinator]
    private let dependencies: ResolvedDependencies
    let origin: any TransitionOrigin

    init(
        for coordinator: LivingCoordinator, in state: NavigationState, now: Date, address: ClientAddress?,
        dependencies: ResolvedDependencies, origin: any TransitionOrigin
    ) {
        self.defaults = state.defaults
        self.shared = state.shared
        self.now = now
        self.address = address
        self.client = state.client
        self.role = state.role
        self.placed = state.visible
        self.pending = state.pending.isEmpty ? [] : state.pending.filter { $0.coordinator == coordinator.id }
        self.coordinator = coordinator.id
        self.home = coordinator.home
        self.mainStack = state.stack
        self.presented = state.presented
        self.living = state.coordinators
        self.dependencies = dependencies
        self.origin = origin
    }

    /// Records no more than what makes the engine refuse the transition in any case, so that a loop without an end takes
    /// no memory.
    mutating func record(_ request: consuming any Request) {
        if requests.count <= TransitionRun.stepLimit { requests.append(request) }
    }

    /// Call when the function has returned: the engine is about to change the coordinators, which would then be copied.
    mutating func forgetCoordinators() { living = [] }

    /// Whether there is an ancestor that is of the given type, or conforms to the given protocol: whether `tell` reaches
    /// one. The value is from before the coordinator's function was called.
    public func hasAncestor<Ancestor>(_ type: Ancestor.Type) -> Bool {
        var id = living.first { $0.id == coordinator }?.parent
        while let ancestor = living.first(where: { $0.id == id }) {
            if ancestor.coordinator is Ancestor { return true }
            id = ancestor.parent
        }
        return false
    }

    /// The id of the selected tab on this coordinator's own screen with tabs, even if other screens cover it. If there
    /// are several such screens, the topmost one counts; if there is none, it is `nil`. The value is from before the
    /// coordinator's function was called.
    public var selectedTab: String? {
        var selected: String?
        let visit = { (screen: PlacedScreen) in
            if screen.coordinator == coordinator, let tabs = screen.tabs { selected = tabs.selected.id }
        }
        mainStack.forEachScreen(visit)
        for flow in presented { flow.stack.forEachScreen(visit) }
        return selected
    }

    /// The stack on which `push` would put a screen, bottom first, also with the screens of other coordinators. The
    /// value is from before the coordinator's function was called.
    public var stack: [StackedScreen] {
        var own = (presented.last?.stack ?? mainStack).innermost
        if own.screens.last?.coordinator != coordinator {
            let visit = { (stack: ScreenStack) in if stack.id == home { own = stack } }
            mainStack.forEachStack(visit)
            for flow in presented { flow.stack.forEachStack(visit) }
        }
        return own.screens.map {
            StackedScreen(key: $0.key, screen: $0.screen, isOwn: $0.coordinator == coordinator)
        }
    }

    /// Whether any coordinator has presented a flow over this coordinator's stack, which `dismissPresented` would
    /// dismiss. The value is from before the coordinator's function was called.
    public var isPresenting: Bool {
        let own = presented.firstIndex { $0.stack.contains(home) }
        return presented.count > (own.map { $0 + 1 } ?? 0)
    }

    /// The service that the app registered for a type; the coordinator's `dependencies` should list the type.
    public func resolve<Dependency: Sendable>(
        _ type: Dependency.Type = Dependency.self
    ) throws(DependencyError) -> Dependency {
        try dependencies.resolve(type)
    }
}

/// A screen on a coordinator's stack, see `Navigator.stack`.
public struct StackedScreen: Sendable, Equatable {
    /// What `popTo(key:)` and `update(key:)` take.
    public let key: String
    public let screen: Screen
    /// Whether it belongs to the coordinator itself.
    public let isOwn: Bool

    public var name: String { screen.name }
}

/// Where a transition comes from: what its handlers may learn about the request and the session. What none of them asks for
/// is not made.
public protocol TransitionOrigin: AnyObject, Sendable {
    /// The session's id.
    var session: String { get }
    /// Who was signed in to the session before the transition; `nil` for nobody.
    var user: String? { get }
    /// Whether the result is discarded.
    var isDryRun: Bool { get }
    /// See `Navigator.transitionID`.
    var transitionID: String { get }
    /// The device that acts, `nil` if none does, and all devices of the session.
    var devices: (acting: Device?, all: [Device]) { get }
    /// See `Navigator.sessions(ofUser:)`.
    func sessions(ofUser user: String) async throws -> [UserSession]
}

/// An origin of which everything is known beforehand.
public final class KnownOrigin: TransitionOrigin {
    public let session: String
    public let user: String?
    public let isDryRun: Bool
    public let transitionID: String
    public let devices: (acting: Device?, all: [Device])
    private let sessions: [UserSession]

    public init(
        session: String = "", user: String? = nil, isDryRun: Bool = false, transitionID: String = "",
        device: Device? = nil, devices: [Device] = [], sessions: [UserSession] = []
    ) {
        self.session = session
        self.user = user
        self.isDryRun = isDryRun
        self.transitionID = transitionID
        self.devices = (device, devices)
        self.sessions = sessions
    }

    public func sessions(ofUser user: String) -> [UserSession] { sessions }

    static let none = KnownOrigin()
}

/// The session that a coordinator belongs to.
public struct SessionInfo: Sendable {
    /// The id by which clients, logs and the operator know the session. Not a secret.
    public let id: String
    /// Who was signed in to it before the transition, see `Navigator.signIn`; `nil` for nobody. Always `nil` in
    /// `Coordinator.content`.
    public let user: String?
}

extension Navigator {
    public var session: SessionInfo { SessionInfo(id: origin.session, user: origin.user) }

    /// Identifies this transition to other systems. It stays the same when a client posts the same event again because
    /// the answer was lost or the outcome is unknown. So a payment can use it as its idempotency key.
    ///
    /// With an `Idempotency-Key` it depends on the session, the key and the event; without one, on the session, its
    /// version and the event. It cannot be guessed, and reveals nothing of the payload.
    public var transitionID: String { origin.transitionID }

    /// Whether the result of the transition is discarded (`?dryRun=true`). Then a handler should have no effect outside
    /// the session.
    public var isDryRun: Bool { origin.isDryRun }
}
