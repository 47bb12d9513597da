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
    private(set) var requests: [Request] = []
    private let placed: PlacedScreen?
    /// The coordinator's work.
    let pending: [PendingWork]
    /// The id of the coordinator that makes the requests.
    private let coordinator: Int
    /// The id of the stack on which that coordinator was started.
    private let home: Int
    private let mainStack: ScreenStack
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
        self.pending = state.pending.isEmpty ? [] : state.pending.filter { $0.coordinator == coordinator.id }
        self.coordinator = coordinator.id
        self.home = coordinator.home
        // Not the whole state: the engine is about to change the state's coordinators, which would then be copied.
        self.mainStack = state.stack
        self.presented = state.presented
        self.dependencies = dependencies
        self.origin = origin
    }

    /// Records no more than what makes the engine refuse the transition in any case, so that a loop without an end takes
    /// no memory.
    mutating func record(_ request: Request) {
        if requests.count <= TransitionRun.stepLimit { requests.append(request) }
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

// Stacks. If the visible screen is a coordinator's own, the coordinator's stack is the one with that screen; otherwise
// it is the one on which the coordinator was started.
extension Navigator {
    /// Puts a screen on top of the stack.
    ///
    /// - Parameter onlyIfNew: whether to do nothing if the screen on top is this coordinator's own and already has the
    ///   same name and parameters.
    public mutating func push(_ screen: Screen, onlyIfNew: Bool = false) {
        record(.push(screen, onlyIfNew: onlyIfNew))
    }

    /// Puts a screen with tabs on top of the stack.
    ///
    /// - Parameters:
    ///   - selected: the id of the tab to select; by default the first one's.
    ///   - back: what `back` does at the first screen of a tab.
    public mutating func push(_ screen: Screen, tabs: [Tab], selected: String? = nil, back: TabBackRule = .nothing) {
        record(.pushTabs(screen, tabs, selected: selected, back: back))
    }

    /// Pops the screen on top of the stack, which must be this coordinator's or a descendant's; a descendant is
    /// dismissed with its last screen. The stack's first screen is never popped, as in UIKit: call `finish` instead.
    public mutating func pop() {
        record(.pop)
    }

    /// Pops the stack to its topmost screen of that name.
    public mutating func popTo(_ name: String) {
        record(.popTo(.name(name), orPush: nil))
    }

    /// Pops the stack to its topmost screen of that name. If there is none, pushes a screen instead.
    public mutating func popTo(_ name: String, orPush screen: Screen) {
        record(.popTo(.name(name), orPush: screen))
    }

    /// Pops the stack to the screen of that key.
    public mutating func popTo(key: String) {
        record(.popTo(.key(key), orPush: nil))
    }

    /// Pops the stack to its first screen.
    public mutating func popToRoot() {
        record(.popToRoot)
    }

    /// Replaces the screen on top of the stack, which must be this coordinator's.
    public mutating func replace(with screen: Screen) {
        record(.replace(screen))
    }

    /// Replaces this coordinator's screens on the stack, and all screens above them.
    public mutating func setStack(_ screens: [Screen]) {
        record(.setStack(screens))
    }

    /// Changes this coordinator's topmost screen of that name, on whichever stack it is. The screen keeps its key.
    public mutating func update(_ name: String, _ change: @Sendable @escaping (inout Screen) -> Void) {
        record(.update(.name(name), change))
    }

    /// Changes this coordinator's screen of that key.
    public mutating func update(key: String, _ change: @Sendable @escaping (inout Screen) -> Void) {
        record(.update(.key(key), change))
    }

    /// Lets clients fetch the content of this coordinator's screens of that name again, for example when a service has
    /// sent a signal that it has changed: their `contentVersion` changes, and whoever watches learns of it. It is no error
    /// if there is no such screen; one without content, see `Coordinator.content`, is refused.
    public mutating func invalidateContent(of name: String) {
        record(.invalidateContent(.name(name)))
    }

    /// Lets clients fetch the content of this coordinator's screen of that key again.
    public mutating func invalidateContent(ofKey key: String) {
        record(.invalidateContent(.key(key)))
    }

    /// Selects the tab of that id, on the innermost of this coordinator's own screens that has such a tab.
    public mutating func selectTab(_ id: String) {
        record(.selectTab(id))
    }

    /// Changes the badge of a tab, on the innermost of this coordinator's own screens that has such a tab.
    ///
    /// - Parameter badge: `nil` for none.
    public mutating func setBadge(_ badge: String?, ofTab id: String) {
        record(.setBadge(badge, tab: id))
    }

    /// Changes which tabs this coordinator's screen has, and their order. If there are several such screens, the
    /// topmost one counts, as for `selectedTab`.
    ///
    /// A tab whose id stays keeps its stack, with all coordinators and screens there; only its title, icon and badge
    /// are drawn as given, the badge only if one is given. What `starting` or the screen says is for a tab that is new,
    /// or that `endChildren` has emptied. The flows in a tab that goes end as with `endChildren`; their screens are
    /// asked first, as with `setStack`.
    ///
    /// The selected tab stays selected. If it goes, the tab that takes its position is selected, or else the last one.
    /// What `back` remembers of tabs that stay, it keeps.
    public mutating func setTabs(_ tabs: [Tab]) {
        record(.setTabs(tabs))
    }
}

// Flows and alerts.
extension Navigator {
    /// Starts a child on this coordinator's stack: the one on which `push` would put a screen.
    public mutating func start(_ child: some Coordinator) {
        record(.start(child))
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
        record(.present(child, Presentation(style: style, detent: detent, isDismissable: isDismissable)))
    }

    /// Dismisses the presented flow that this coordinator runs in, and all flows above it. The parent of the presented
    /// coordinator gets `childWasDismissed`; to end with a result, call `finish` instead.
    public mutating func dismiss() {
        record(.dismiss)
    }

    /// Dismisses all flows that are presented over this coordinator's stack.
    public mutating func dismissPresented() {
        record(.dismissPresented)
    }

    /// Shows an alert over everything, also over what is pushed or presented afterwards in the same transition. If an
    /// alert is already shown, the new one waits until all earlier ones are answered. A session has at most 16 alerts,
    /// including the one that is shown.
    ///
    /// The alert outlives this coordinator: if the coordinator finishes or is removed otherwise, the alert passes to
    /// the nearest ancestor that handles the events that the alert's buttons send.
    public mutating func alert(_ alert: Alert) {
        record(.alert(alert))
    }

    /// Dismisses the alert that is shown and those that wait, unanswered: when a signal begins something new, such as a
    /// kiosk that is left alone. Those that this transition shows afterwards stay.
    public mutating func dismissAlerts() {
        record(.dismissAlerts)
    }

    /// Ends this coordinator: removes it, its descendants and all their screens, then calls its parent's
    /// `childDidFinish`. No request may follow except `alert`, `tell`, `rotateToken`, `requestPairingCode`, `signIn`,
    /// `signOut` and `endSessions`.
    public mutating func finish() {
        record(.finish)
    }

    /// Hands a value to this coordinator's parent, which gets it in `childDidDeliver`. This coordinator and its screens
    /// stay: a wizard delivers what each step has found, and its user can go back through the steps. To end with a
    /// result, call `finish` instead.
    ///
    /// - Parameter value: of any type that the parent expects. It is not saved.
    public mutating func deliver(_ value: some Sendable) {
        record(.deliver(value))
    }

    /// Removes all descendants of this coordinator at once, wherever their screens are shown, without a call of
    /// `childDidFinish` or `childWasDismissed`. For signing out.
    ///
    /// - Parameter asking: whether `shouldLeave` of their screens is asked first. If not, the screens are left in any
    ///   case.
    public mutating func endChildren(asking: Bool = true) {
        record(.endChildren(asking: asking))
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
        record(.tell(Message(type, message)))
    }

    /// Sends a message to all descendants that are of the given type, or conform to the given protocol, parents before
    /// their children. It is no error if there are none.
    ///
    /// ```swift
    /// navigator.tellChildren((any CartObserver).self) { observer, navigator in observer.cartDidChange(&navigator) }
    /// ```
    public mutating func tellChildren<Recipient>(
        _ type: Recipient.Type,
        _ message: @Sendable @escaping (inout Recipient, inout Navigator) async throws -> Void
    ) {
        record(.tellChildren(Message(type, message)))
    }
}

// Moving a flow. The child of that type moves, the last one started if there are several, with its descendants on the
// same stack and with all their screens, which keep their keys, their order and what is in their tabs. No screen is left,
// so none is asked. A sheet from which the flow moves is dismissed; a flow that would leave another stack empty, that has
// presented a flow, or over which one is presented, is not moved.
extension Navigator {
    /// Moves a child's flow to the top of a tab's stack, on the innermost of this coordinator's own screens that has
    /// such a tab. The tab is not selected.
    ///
    /// ```swift
    /// navigator.move(PlayerCoordinator.self, toTab: "listen")
    /// navigator.selectTab("listen")
    /// ```
    public mutating func move(_ child: any Coordinator.Type, toTab id: String) {
        record(.move(child, to: .tab(id)))
    }

    /// Moves a child's flow to the top of this coordinator's stack: the one on which `push` would put a screen.
    public mutating func moveToStack(_ child: any Coordinator.Type) {
        record(.move(child, to: .stack))
    }

    /// Moves a child's flow over everything, to a stack of its own. A flow that is presented already can be presented
    /// in another style.
    ///
    /// - Parameters: see `present(_:as:detent:isDismissable:)`.
    public mutating func present(
        moving child: any Coordinator.Type, as style: PresentedFlow.Style = .sheet,
        detent: PresentedFlow.Detent? = nil, isDismissable: Bool = true
    ) {
        let presentation = Presentation(style: style, detent: detent, isDismissable: isDismissable)
        record(.move(child, to: .presented(presentation)))
    }
}

// The session.
extension Navigator {
    /// Replaces the session's token with this transition. Call it when the user signs in or gains rights, so that the
    /// old token is useless to anyone who has seen it (session fixation), and when the user signs out. The answer gives
    /// the client the new token; the old one is invalid from then on. See `docs/sign-in.md`.
    ///
    /// - Parameter revokingOthers: whether the tokens of the session's other devices, which were paired with it, become
    ///   invalid, too. If not, these devices keep access to the session, but no longer to its earlier versions.
    public mutating func rotateToken(revokingOthers: Bool = true) {
        record(.rotateToken(revokingOthers ? .revokingOthers : .keepingOthers))
    }

    /// Asks for a code that pairs another device with the session. Only the client that posted the event gets it, beside
    /// the state in its answer: the code is neither in the session nor in what other devices see. It works once, for two
    /// minutes, and an earlier one of the same client no longer does. `Coordinator.deviceDidPair` is called when a device
    /// has used it. If no code can be had now, the event is refused, and has changed nothing; a dry run asks for none.
    ///
    /// Only an event has a client: in the first transition, for a signal, an effect or a timer, and in `deviceDidPair`, the
    /// request is refused as an error of the app.
    ///
    /// - Parameter label: what the other device is to be called, in 1 to 64 characters.
    public mutating func requestPairingCode(label: String? = nil) {
        record(.requestPairingCode(PairingRequest(label: label)))
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
    /// The labels of its devices; a device without a label is left out.
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

/// Finds the sessions of any user.
public protocol SessionDirectory: Sendable {
    /// See `Navigator.sessions(ofUser:)`.
    func sessions(ofUser user: String) async throws -> [UserSession]
}

/// Some of a user's sessions.
public enum UserSessions: Sendable, Equatable {
    case all
    /// All but the session whose handler makes the request.
    case others
    /// The session with that id, if it is the user's.
    case one(String)
}

/// How a transition changes who is signed in to the session.
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

/// Which sessions of a user a transition ends.
public struct SessionEnding: Sendable, Equatable {
    public let user: String
    public let sessions: UserSessions

    public init(user: String, sessions: UserSessions) {
        self.user = user
        self.sessions = sessions
    }
}

extension Navigator {
    /// Assigns the session to a user with this transition, until `signOut`: `sessions(ofUser:)` then lists the session,
    /// and every fork made of it later. It gives no rights and replaces no token: call `rotateToken`, too.
    ///
    /// - Parameter user: the app's own name for the user, of 1 to `UserID.limit` bytes. The operator sees it.
    public mutating func signIn(user: String) {
        record(.changeUser(.signIn(user: user)))
    }

    /// Assigns the session to no user with this transition. Call `rotateToken`, too.
    public mutating func signOut() {
        record(.changeUser(.signOut))
    }

    /// Ends sessions of a user in all apps, for good: their clients get 410. They end after the transition is committed
    /// and before its event is answered. If ending them fails, the answer is 503 `unknown`. A client that then posts
    /// the event again under the same `Idempotency-Key` ends the sessions without applying the event a second time.
    ///
    /// The first transition of a session ends none. An app should ask for the user's password first (OWASP ASVS 5.0,
    /// 7.5.2).
    public mutating func endSessions(ofUser user: String, _ sessions: UserSessions = .others) {
        record(.endSessions(SessionEnding(user: user, sessions: sessions)))
    }

    /// The sessions that a user is signed in to, in all apps, as they are now; at most a hundred. Those last used come
    /// first.
    ///
    /// - Throws: if the store cannot be read.
    public func sessions(ofUser user: String) async throws -> [UserSession] {
        try await origin.directory?.sessions(ofUser: user) ?? []
    }
}

/// What handlers may learn about the request that a transition carries out.
public struct TransitionOrigin: Sendable {
    /// The session's id.
    let session: String
    /// Who was signed in to the session before the transition.
    let user: String?
    let isDryRun: Bool
    let transitionID: @Sendable () -> String
    let directory: (any SessionDirectory)?

    /// - Parameters:
    ///   - session: the session's id.
    ///   - user: who is signed in to it; `nil` for nobody.
    ///   - isDryRun: whether the result is discarded.
    ///   - directory: finds users' sessions; `nil` if there are none to find.
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
    /// Who was signed in to it before the transition, see `Navigator.signIn`; `nil` for nobody. Always `nil` in
    /// `Coordinator.content`.
    public let user: String?

    package init(id: String, user: String? = nil) {
        self.id = id
        self.user = user
    }
}

extension Navigator {
    public var session: SessionInfo { SessionInfo(id: origin.session, user: origin.user) }

    /// Identifies this transition to other systems. It stays the same when a client posts the same event again because
    /// the answer was lost or the outcome is unknown. So a payment can use it as its idempotency key.
    ///
    /// With an `Idempotency-Key` it depends on the session, the key and the event; without one, on the session, its
    /// version and the event. It cannot be guessed, and reveals nothing of the payload.
    public var transitionID: String { origin.transitionID() }

    /// Whether the result of the transition is discarded (`?dryRun=true`). Then a handler should have no effect outside
    /// the session.
    public var isDryRun: Bool { origin.isDryRun }
}
