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
    var requests: [Request] = []
    private let placed: PlacedScreen?
    /// The id of the coordinator that makes the requests.
    private let coordinator: Int
    /// The id of the stack on which that coordinator was started.
    private let home: Int
    private let stack: ScreenStack
    private let presented: [PresentedFlow]
    private let dependencies: ResolvedDependencies
    let origin: TransitionOrigin

    init(
        for coordinator: LivingCoordinator, in state: NavigationState, now: Date, address: ClientAddress?,
        dependencies: ResolvedDependencies, origin: TransitionOrigin
    ) {
        self.defaults = state.defaults
        self.shared = state.shared
        self.now = now
        self.address = address
        self.client = state.client
        self.placed = state.visible
        self.coordinator = coordinator.id
        self.home = coordinator.home
        // Not the whole state: the engine is about to change the state's coordinators, which would then be copied.
        self.stack = state.stack
        self.presented = state.presented
        self.dependencies = dependencies
        self.origin = origin
    }

    /// The id of the selected tab on this coordinator's own screen with tabs, even if other screens cover it. If there
    /// are several such screens, the topmost one counts; if there is none, `nil`. As it was when the coordinator's
    /// function was called.
    public var selectedTab: String? {
        var selected: String?
        let visit = { (screen: PlacedScreen) in
            if screen.coordinator == coordinator, let tabs = screen.tabs { selected = tabs.selected.id }
        }
        stack.forEachScreen(visit)
        for flow in presented { flow.stack.forEachScreen(visit) }
        return selected
    }

    /// Whether any coordinator has presented a flow over this coordinator's stack, which `dismissPresented` would
    /// dismiss. As it was when the coordinator's function was called.
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

// Stacks. A coordinator's stack is the one on which the user sees its screen, otherwise the one on which it was
// started.
extension Navigator {
    /// Puts a screen on top of the stack.
    ///
    /// - Parameter onlyIfNew: whether to do nothing if the screen on top is this coordinator's own and already has the
    ///   same name and parameters.
    public mutating func push(_ screen: Screen, onlyIfNew: Bool = false) {
        requests.append(.push(screen, onlyIfNew: onlyIfNew))
    }

    /// Puts a screen with tabs on top of the stack.
    ///
    /// - Parameters:
    ///   - selected: the id of the tab to select; by default the first one's.
    ///   - back: what `back` does at the first screen of a tab.
    public mutating func push(_ screen: Screen, tabs: [Tab], selected: String? = nil, back: TabBackRule = .nothing) {
        requests.append(.pushTabs(screen, tabs, selected: selected, back: back))
    }

    /// Pops the screen on top of the stack, which must be this coordinator's or a descendant's; a descendant is
    /// dismissed with its last screen. The stack's first screen is never popped, as in UIKit: call `finish` instead.
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

    /// Replaces the screen on top of the stack, which must be this coordinator's.
    public mutating func replace(with screen: Screen) {
        requests.append(.replace(screen))
    }

    /// Replaces this coordinator's screens on the stack, and all screens above them.
    public mutating func setStack(_ screens: [Screen]) {
        requests.append(.setStack(screens))
    }

    /// Changes this coordinator's topmost screen of that name, on whichever stack it is. The screen keeps its key.
    public mutating func update(_ name: String, _ change: @Sendable @escaping (inout Screen) -> Void) {
        requests.append(.update(.name(name), change))
    }

    /// Changes this coordinator's screen of that key.
    public mutating func update(key: String, _ change: @Sendable @escaping (inout Screen) -> Void) {
        requests.append(.update(.key(key), change))
    }

    /// Selects the tab of that id, on the innermost of this coordinator's own screens that has such a tab.
    public mutating func selectTab(_ id: String) {
        requests.append(.selectTab(id))
    }

    /// Changes what is shown beside a tab, on the innermost of this coordinator's own screens that has such a tab.
    ///
    /// - Parameter badge: `nil` for nothing.
    public mutating func setBadge(_ badge: String?, ofTab id: String) {
        requests.append(.setBadge(badge, tab: id))
    }
}

// Flows and alerts.
extension Navigator {
    /// Starts a child on the stack where a push would land now.
    public mutating func start(_ child: some Coordinator) {
        requests.append(.start(child))
    }

    /// Starts a child over everything, on a stack of its own.
    ///
    /// - Parameters:
    ///   - detent: how high a sheet opens; `nil` to leave it to the client.
    ///   - isDismissable: whether the user may dismiss the flow. If not, only a coordinator can, as with
    ///     `isModalInPresentation` in UIKit.
    public mutating func present(
        _ child: some Coordinator, as style: PresentedFlow.Style = .sheet, detent: PresentedFlow.Detent? = nil,
        isDismissable: Bool = true
    ) {
        requests.append(.present(child, Presentation(style: style, detent: detent, isDismissable: isDismissable)))
    }

    /// Dismisses the presented flow that this coordinator runs in, and all flows above it. The parent of the presented
    /// coordinator gets `childWasDismissed`; to end with a result, call `finish` instead.
    public mutating func dismiss() {
        requests.append(.dismiss)
    }

    /// Dismisses all flows that are presented over this coordinator's stack.
    public mutating func dismissPresented() {
        requests.append(.dismissPresented)
    }

    /// Shows an alert over everything, also over what is pushed or presented afterwards in the same transition. If one is
    /// shown already, it waits until that one is answered; at most 16 alerts wait.
    ///
    /// The alert outlives this coordinator: if it finishes, or is removed otherwise, the alert belongs to the nearest
    /// ancestor that has the events that the alert's buttons send.
    public mutating func alert(_ alert: Alert) {
        requests.append(.alert(alert))
    }

    /// Ends this coordinator: removes it, its descendants and all their screens, then calls its parent's
    /// `childDidFinish`. No request may follow except an alert, a message to an ancestor, and what concerns the session:
    /// its token, its user.
    public mutating func finish() {
        requests.append(.finish)
    }

    /// Removes all descendants of this coordinator at once, wherever their screens are shown, without a call of
    /// `childDidFinish` or `childWasDismissed`. For signing out.
    public mutating func endChildren() {
        requests.append(.endChildren)
    }

    /// Sends a message to the nearest ancestor that is of the given type, or conforms to the given protocol.
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

    /// Sends a message to all descendants that are of the given type, or conform to the given protocol, parents before
    /// their children. There need not be any.
    ///
    /// ```swift
    /// navigator.tellChildren((any CartObserver).self) { observer, navigator in observer.cartDidChange(&navigator) }
    /// ```
    public mutating func tellChildren<Recipient>(
        _ type: Recipient.Type,
        _ message: @Sendable @escaping (inout Recipient, inout Navigator) async throws -> Void
    ) {
        requests.append(.tellChildren(Message(type, message)))
    }
}

// The session.
extension Navigator {
    /// Replaces the session's token with this transition. Call it when the user signs in or gains rights, so that the
    /// old token is useless to anyone who has seen it (session fixation), and when the user signs out. The answer gives
    /// the client the new token; the old one is invalid from then on. See `docs/sign-in.md`.
    ///
    /// - Parameter revokingOthers: whether the tokens of the session's other devices, which were paired with it, are
    ///   invalid from then on, too. If not, these devices take part in what follows, and no longer have access to the
    ///   versions before.
    public mutating func rotateToken(revokingOthers: Bool = true) {
        requests.append(.rotateToken(revokingOthers ? .revokingOthers : .keepingOthers))
    }
}

/// A session that a user is signed in to, as the app may show it to that user.
public struct UserSession: Sendable, Equatable {
    public let id: String
    /// The name of its app.
    public let app: String
    public let createdAt: Date
    /// When a device last used it, to the minute.
    public let lastUsedAt: Date
    public let expiresAt: Date
    /// What its devices are called, those that were given a label.
    public let devices: [String]

    public init(
        id: String, app: String, createdAt: Date, lastUsedAt: Date, expiresAt: Date, devices: [String] = []
    ) {
        self.id = id
        self.app = app
        self.createdAt = createdAt
        self.lastUsedAt = lastUsedAt
        self.expiresAt = expiresAt
        self.devices = devices
    }
}

/// Knows the sessions of all users.
public protocol SessionDirectory: Sendable {
    /// See `Navigator.sessions(ofUser:)`.
    func sessions(ofUser user: String) async throws -> [UserSession]
}

/// Some of a user's sessions.
public enum UserSessions: Sendable, Equatable {
    case all
    /// All but the session that asks.
    case others
    /// The session with that id, if it is the user's.
    case one(String)
}

/// A transition signs a user in or out.
public enum UserChange: Sendable, Equatable {
    case signIn(user: String)
    case signOut

    /// Who is signed in afterwards.
    public var user: String? {
        switch self {
        case .signIn(let user): user
        case .signOut: nil
        }
    }
}

/// A transition ends sessions of a user.
public struct SessionEnding: Sendable, Equatable {
    public let user: String
    public let sessions: UserSessions

    public init(user: String, sessions: UserSessions) {
        self.user = user
        self.sessions = sessions
    }
}

extension Navigator {
    /// Ties the session to a user with this transition, until `signOut`: it is then one of `sessions(ofUser:)`, and so
    /// are its forks from then on. It gives no rights, and replaces no token: call `rotateToken`, too.
    ///
    /// - Parameter user: the app's own name for the user, of 1 to `UserID.limit` bytes. The operator sees it.
    public mutating func signIn(user: String) {
        requests.append(.changeUser(.signIn(user: user)))
    }

    /// The session is nobody's from then on. Call `rotateToken`, too.
    public mutating func signOut() {
        requests.append(.changeUser(.signOut))
    }

    /// Ends sessions of a user, in all apps, for good: their clients get 410. They end after the transition is
    /// committed and before its event is answered. If that fails, the answer is 503 `unknown`; posted again under its
    /// `Idempotency-Key`, the event is not applied again, but the sessions are ended.
    ///
    /// The first transition of a session ends none. An app should ask for the user's password before (OWASP ASVS 5.0, 7.5.2).
    public mutating func endSessions(ofUser user: String, _ sessions: UserSessions = .others) {
        requests.append(.endSessions(SessionEnding(user: user, sessions: sessions)))
    }

    /// The sessions that a user is signed in to, in all apps, as they are now; at most a hundred. Those last used come
    /// first.
    ///
    /// - Throws: if the store cannot be read.
    public func sessions(ofUser user: String) async throws -> [UserSession] {
        try await origin.directory?.sessions(ofUser: user) ?? []
    }
}

/// The request that a transition carries out, as far as a handler may know it.
public struct TransitionOrigin: Sendable {
    /// The session's id.
    let session: String
    /// Who was signed in to it before.
    let user: String?
    let isDryRun: Bool
    let transitionID: @Sendable () -> String
    let directory: (any SessionDirectory)?

    /// - Parameters:
    ///   - session: the session's id.
    ///   - user: who is signed in to it; `nil` for nobody.
    ///   - isDryRun: whether the result is discarded.
    ///   - directory: knows the other sessions.
    ///   - transitionID: see `Navigator.transitionID`; called only if a handler asks for it.
    public init(
        session: String, user: String? = nil, isDryRun: Bool = false, directory: (any SessionDirectory)? = nil,
        transitionID: @escaping @Sendable () -> String
    ) {
        self.session = session
        self.user = user
        self.isDryRun = isDryRun
        self.directory = directory
        self.transitionID = transitionID
    }

    static let none = TransitionOrigin(session: "") { "" }
}

/// The session that a coordinator belongs to.
public struct SessionInfo: Sendable {
    /// The id by which clients, logs and the operator know the session. Not a secret.
    public let id: String
    /// Who was signed in to it before the transition, see `Navigator.signIn`; `nil` for nobody, and where content is made.
    public let user: String?

    init(id: String, user: String? = nil) {
        self.id = id
        self.user = user
    }
}

extension Navigator {
    public var session: SessionInfo { SessionInfo(id: origin.session, user: origin.user) }

    /// Names this transition to other systems: the same when the same event is tried again, because its answer was lost
    /// or its outcome unknown. So a payment can use it as its idempotency key.
    ///
    /// With an `Idempotency-Key` it depends on the session, the key and the event; without one, on the session's version
    /// and the event. It cannot be guessed, and reveals nothing of the payload.
    public var transitionID: String { origin.transitionID() }

    /// Whether the transition is only tried (`?dryRun=true`) and its result discarded: then a handler should have no
    /// effect outside of the session.
    public var isDryRun: Bool { origin.isDryRun }
}
