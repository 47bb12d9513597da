public import JSONCoding

/// One flow of an app: it shows screens, handles their events, starts children and finishes.
///
/// A coordinator is a value: a struct or an enum that holds only values. A server refuses to start if one is a class.
/// Its stored properties are its state and are saved with the session; its mutating functions are its behaviour. Each
/// function works on a copy that replaces the original only when the whole transition succeeds, so a function that
/// throws has changed nothing.
public protocol Coordinator: Codable, Sendable {
    /// The events that this coordinator's screens can send.
    associatedtype Event: NavigationEvent = NoEvent

    /// What reaches this coordinator from elsewhere than its screens.
    associatedtype Signal: NavigationSignal = NoSignal

    /// The work that this coordinator has done outside the session's turn.
    associatedtype Effect: NavigationEffect = NoEffect

    /// The type of `blank`: the coordinator itself, or `NoBlank`.
    associatedtype Blank: Sendable = NoBlank

    /// The types of the four lists below: `[any Any.Type]`, `[LinkPattern]`, `[Event]` and `[ScreenType]`, or
    /// `Undeclared`. Swift infers them, so that a list that is declared without its type still counts.
    associatedtype DependencyList = Undeclared
    associatedtype LinkList = Undeclared
    associatedtype EventList = Undeclared
    associatedtype ScreenList = Undeclared

    /// The type that `fields(of:in:)` returns: `[Field]`, or `Undeclared`. Swift infers it.
    associatedtype FieldList = Undeclared
    /// Swift infers it from `willBeRemoved`, which a coordinator may leave out.
    associatedtype RemovalResult = Undeclared
    /// Swift infers it from `deviceDidPair`, which a root may leave out.
    associatedtype PairingResult = Undeclared

    /// The name in JSON, in logs and in saved sessions, unique in an app. By default the type's name without
    /// “Coordinator”, its first letter in lower case. Declare it before you rename the type, so that saved sessions can
    /// still be restored.
    static var name: String { get }

    /// Supplies the properties that a saved coordinator lacks because an older version of its type saved it. Declare
    /// `static let blank = Self()` before you add a stored property that is not optional.
    static var blank: Blank { get }

    /// The types that handlers resolve with `Navigator.resolve`: `[any Any.Type]`, by default none. A server refuses to
    /// start if one is not registered.
    static var dependencies: DependencyList { get }

    /// The patterns of the paths that lead to this coordinator's own screens: `[LinkPattern]`, by default none. The
    /// built-in event `open` accepts these paths. If several patterns of an app match a path, the first one counts,
    /// whatever the query is. The root's patterns come first.
    static var links: LinkList { get }

    /// The events that are accepted on every screen of this coordinator and of its descendants, such as a sign-out:
    /// `[Event]`, by default none. For a case with a payload, only the name counts. All other events are accepted only
    /// on those of this coordinator's own screens that offer them.
    static var everywhere: EventList { get }

    /// The kinds of screens that this coordinator shows: `[ScreenType]`, by default none. Clients get what is declared
    /// here as types of their language; `coordinatord describe` finds what is not, by exploring.
    static var screens: ScreenList { get }

    /// Shows the first screen, or starts the child that does.
    mutating func start(_ navigator: inout Navigator) async throws

    /// Handles an event from one of this coordinator's screens. An event of `everywhere` may also come from a
    /// descendant's screen, unless a coordinator below this one accepts an event of that name.
    mutating func handle(_ event: Event, _ navigator: inout Navigator) async throws

    /// Handles a signal: the outcome of one of this coordinator's effects, one of its timers, or what another system
    /// has sent. Screens that it removes are left without asking, because there may be nobody to answer.
    ///
    /// If it throws for an effect or a timer, it is called again after 1, 2, 4 … seconds, five times at most. Then the
    /// effect or timer is over, and the error is treated as that of an event's handler, see `onError` of `App`.
    mutating func receive(_ signal: Signal, _ navigator: inout Navigator) async throws

    /// Whether a signal of another system is for this coordinator: by default every one of its `external` signals is. Of
    /// several coordinators that have the signal, the first one that accepts it receives it. It only looks at the signal and
    /// at this coordinator's properties.
    func accepts(_ signal: Signal) -> Bool

    /// Does the work of an effect, see `Navigator.perform`. It is called on a copy of the coordinator, as it was when the
    /// attempt began, and may take up to 30 seconds; then its task is cancelled, and the attempt has failed.
    ///
    /// An attempt that throws is repeated after 1, 2, 4 … 60 seconds, as often as `retries` says and for ten minutes at
    /// most. Then `effectDidFail` is called.
    ///
    /// - Returns: the outcome, which `receive` gets; `nil` if there is nothing to say.
    func perform(_ effect: Effect, in context: EffectContext) async throws -> Signal?

    /// How often an attempt that throws is repeated: by default 5 times.
    static func retries(_ effect: Effect) -> Int

    /// Handles the failure of the last attempt of an effect, or an outcome that makes the session too large
    /// (`OutcomeTooLarge`). By default it throws the error, which is then treated as
    /// that of an event's handler, see `onError` of `App`.
    mutating func effectDidFail(_ effect: Effect, _ error: any Error, _ navigator: inout Navigator) async throws

    /// Called after a child asked to finish and was removed, with its descendants and all their screens. The child's
    /// properties are its result.
    mutating func childDidFinish(_ child: any Coordinator, _ navigator: inout Navigator) async throws

    /// Called after a child was removed because its last screen was removed, for example by `back`, or because its flow
    /// was dismissed, or went with the flow below it. The child did not finish, so there is no result. Called when all that
    /// was under way is done; if the user or a coordinator has removed a child's last screen together with the last ones of
    /// its own children, only the child's parent is called.
    mutating func childWasDismissed(_ child: any Coordinator, _ navigator: inout Navigator) async throws

    /// Called when a child has delivered a value, see `Navigator.deliver`. The child and its screens stay.
    ///
    /// A coordinator whose child delivers must declare this function, with a value of `any Sendable`: the event is
    /// refused otherwise, as an error of the app.
    ///
    /// ```swift
    /// if let address = value as? Address { navigator.start(PaymentCoordinator(address)) }
    /// ```
    ///
    /// - Parameter child: the child as it is now.
    mutating func childDidDeliver(
        _ value: any Sendable, from child: any Coordinator, _ navigator: inout Navigator
    ) async throws

    /// Whether an event may be sent now from the screens that offer it. A disabled event is neither listed nor
    /// accepted, except from an alert's button. A row that sends a disabled event stays, and cannot be tapped.
    ///
    /// - Parameter event: with the payload of the button or the row that sends it; otherwise the event's first example,
    ///   because there is no payload yet.
    func isEnabled(_ event: Event, in context: NavigationContext) -> Bool

    /// The title of the button that sends an event, in the user's language. By default `event.title`. A control that has a
    /// title of its own keeps that.
    ///
    /// Called whenever a client reads the events with `include=controls`, so it must be quick, and depend only on the
    /// coordinator's properties, the event and the context.
    ///
    /// - Parameter event: the event's first example.
    func title(of event: Event, in context: NavigationContext) -> String

    /// How a form shows an event's payload now, in the user's language, and what the server checks of it: `[Field]`. By
    /// default `event.fields`, which this function replaces for all events of the coordinator. The description of the
    /// app, which belongs to no session, still shows `event.fields`.
    ///
    /// It must be quick, and depend only on the coordinator's properties, the event and the context.
    ///
    /// - Parameter event: the event's first example.
    func fields(of event: Event, in context: NavigationContext) -> FieldList

    /// Redraws a screen of this coordinator: its title, parameters, events and rows, and the labels of its tabs.
    ///
    /// Called when this coordinator places a screen, after each transition that called one of the coordinator's
    /// functions or changed the context, and when a session is restored. The screen is as it was last drawn, so assign
    /// everything that varies, also when it returns to its first value. The result must depend only on the
    /// coordinator's properties, the context and the screen, and drawing the result again must not change it. It must be
    /// quick: a server also calls it when another device reads the state, on the thread that answers others, too. The
    /// screen's key, and its place on its stack, stay.
    func render(_ screen: inout Screen, in context: NavigationContext)

    /// The content of a screen with `hasContent`. It is made each time a client fetches it, and never kept. The call
    /// may take as long as a handler's, and must change nothing.
    ///
    /// - Returns: at most 1 MiB as JSON text.
    func content(of screen: Screen, in context: ContentContext) async throws -> JSONObject

    /// Whether a screen of this coordinator may be left: by the user, by a link, by `relaunch`, or because an ancestor
    /// ends this coordinator. It is not called for what this coordinator does itself.
    ///
    /// Coordinator, screen and context are those before the event: what the user sees. The engine also calls this
    /// function on the current coordinator, and holds the event up only if that one returns an alert, too. So an event
    /// whose handler has removed the reason to ask is not held up.
    ///
    /// An event that is held up changes nothing; it runs again from its beginning once the user has chosen to leave.
    /// The payload of such an event is never kept: an event with one is refused with 409 `answer-first`, and the client
    /// posts it again when the user has answered.
    ///
    /// - Returns: `nil` if the screen may be left, or an alert that asks the user first: its `AlertButton.leave` leaves
    ///   the screen, every other button stays on it.
    func shouldLeave(_ screen: Screen, in context: NavigationContext) -> Alert?

    /// Gives back what the coordinator holds elsewhere, such as a reserved seat, because it goes: whatever the cause, see
    /// `RemovalReason`. A coordinator that declares no such function costs nothing.
    ///
    /// It is done like an effect: outside the session's turn, after the commit, at least once, with the same
    /// `context.effectID` in each attempt, also after a crash and on another server. If it throws, it is repeated five times
    /// within ten minutes. The functions of several coordinators run side by side, those of children begin first.
    func willBeRemoved(_ reason: RemovalReason, in context: EffectContext) async throws -> RemovalResult

    /// Called on the root when another device was paired with the session, in the transition that gives the device its
    /// token: exactly once, and all devices see what it changes. Screens that it removes are left without asking.
    ///
    /// If it throws, the device is paired all the same, and this function is not called again; the error is treated as
    /// that of an event's handler, see `onError` of `App`. A root that declares no such function costs nothing, and a
    /// coordinator that is no root must not declare it.
    mutating func deviceDidPair(_ device: PairedDevice, _ navigator: inout Navigator) async throws -> PairingResult

    /// Opens a link, passes it on, or keeps it pending. A link is offered to the root first, then down the tree, until
    /// a coordinator takes or keeps it. One that nobody takes is offered again as a link of each pattern with a
    /// catch-all that matches it, the most precise first; so `"/{path...}"` is where an app shows that it has no such place.
    mutating func open(_ link: Link, _ navigator: inout Navigator) async throws -> LinkDecision

    /// Converts this coordinator from the form in which an older version of the app saved it to the present one.
    ///
    /// - Parameter version: the version of the app that saved it.
    static func migrate(_ saved: JSON, from version: Int) throws -> JSON

    /// Converts a screen that an older version of the app saved. Tabs can be renamed, reordered and removed here.
    ///
    /// - Parameter version: the version of the app that saved it.
    /// - Returns: `nil` to remove the screen as `back` would, but without asking.
    static func migrate(_ screen: Screen, from version: Int) throws -> Screen?

    /// Converts an effect or a timer that an older version of the app saved.
    ///
    /// - Parameter version: the version of the app that saved it.
    /// - Returns: `nil` to remove it.
    static func migrate(_ work: SavedWork, from version: Int) throws -> SavedWork?
}

/// Why a coordinator goes, see `Coordinator.willBeRemoved`.
public enum RemovalReason: String, Sendable, Codable, CaseIterable {
    /// It has called `finish` itself.
    case finished
    /// Its last screen was removed, by whomever, or its flow was dismissed; or it goes with an ancestor that has finished or
    /// was dismissed, or with a flow below its own.
    case dismissed
    /// An ancestor has called `endChildren`, or `setTabs` without the coordinator's tab; or the operator has returned the
    /// session to a version that does not have it.
    case removed
    /// The session was relaunched.
    case relaunched
    /// The session was ended: by its client, by the app, or by the operator.
    case ended
    /// Nobody has used the session for too long, or its time was over.
    case expired
}

/// An effect or a timer as an older version of the app saved it.
public struct SavedWork: Sendable, Equatable {
    public enum Kind: Sendable { case effect, timer }

    public let kind: Kind
    public var id: String
    /// The effect, or the timer's signal, in the form in which Swift encodes an enum's case:
    /// `{"hold": {"seat": "12A"}}`.
    public var value: JSON
}

/// The `Blank` of a coordinator that declares no `blank`.
public struct NoBlank: Sendable {}

/// To open a link that was kept took longer than it may: `onError` of `App` gets it. The link is dropped.
public struct LinkDeadlineExceeded: Error, Equatable {}

/// What a coordinator does with a link.
public enum LinkDecision: Sendable, Equatable {
    /// The coordinator's requests to the navigator show what the link leads to.
    case taken
    /// The link is offered to the coordinator's children next, after its requests to the navigator have been performed.
    case passedOn
    /// The link cannot be opened yet, for example before a sign-in. The coordinator's requests are performed once; the
    /// link is saved with the session, and offered to this coordinator again at the end of each of the next transitions
    /// until it returns something else. A later link replaces it, and `relaunch` drops it.
    case pending
    /// As `pending`, but the link is offered again only once, when no coordinator of that name is left; see
    /// `pending(until:)`.
    case pendingUntilEnd(of: String)
    /// The link cannot be opened, and is offered to nobody else, also not as a catch-all. One that was just opened is
    /// refused (409, `link-not-taken`), and nothing has changed. One that was kept is dropped, and the coordinator's
    /// requests are performed.
    case declined

    /// The link waits for the end of a flow that the user is to go through first, such as a sign-in:
    ///
    /// ```swift
    /// guard isSignedIn else {
    ///     navigator.present(SignInCoordinator())
    ///     return .pending(until: SignInCoordinator.self)
    /// }
    /// ```
    ///
    /// The link is offered again when no coordinator of that type is left, whether it has finished or was dismissed. If the
    /// answer is the same then, the link is dropped, and so are the coordinator's requests: a user who declines is not
    /// asked again.
    public static func pending(until flow: any Coordinator.Type) -> LinkDecision { .pendingUntilEnd(of: flow.name) }
}

extension Coordinator {
    public static var name: String {
        let type = String(describing: Self.self)
        let stem = type.hasSuffix("Coordinator") ? type.dropLast("Coordinator".count) : type[...]
        return stem.isEmpty ? "coordinator" : stem.prefix(1).lowercased() + stem.dropFirst()
    }

    public static func migrate(_ saved: JSON, from version: Int) throws -> JSON { saved }
    public static func migrate(_ screen: Screen, from version: Int) throws -> Screen? { screen }
    public static func migrate(_ work: SavedWork, from version: Int) throws -> SavedWork? { work }

    public func isEnabled(_ event: Event, in context: NavigationContext) -> Bool { true }
    public func title(of event: Event, in context: NavigationContext) -> String { event.title }
    public func render(_ screen: inout Screen, in context: NavigationContext) {}
    public func content(of screen: Screen, in context: ContentContext) throws -> JSONObject { throw NoContent() }
    public func accepts(_ signal: Signal) -> Bool { true }
    public func shouldLeave(_ screen: Screen, in context: NavigationContext) -> Alert? { nil }
    public func willBeRemoved(_ reason: RemovalReason, in context: EffectContext) -> Undeclared { Undeclared() }
    public mutating func deviceDidPair(_ device: PairedDevice, _ navigator: inout Navigator) -> Undeclared {
        Undeclared()
    }
    public mutating func open(_ link: Link, _ navigator: inout Navigator) -> LinkDecision { .passedOn }
    public mutating func childDidFinish(_ child: any Coordinator, _ navigator: inout Navigator) {}
    public mutating func childWasDismissed(_ child: any Coordinator, _ navigator: inout Navigator) {}
    public mutating func childDidDeliver(
        _ value: any Sendable, from child: any Coordinator, _ navigator: inout Navigator
    ) throws {
        throw UnexpectedDelivery()
    }
}

/// A child has delivered a value, and its parent does not declare `childDidDeliver`.
struct UnexpectedDelivery: Error {}

extension Coordinator where Blank == NoBlank {
    public static var blank: NoBlank { NoBlank() }
}

extension Coordinator where DependencyList == Undeclared {
    public static var dependencies: Undeclared { Undeclared() }
}

extension Coordinator where LinkList == Undeclared {
    public static var links: Undeclared { Undeclared() }
}

extension Coordinator where FieldList == Undeclared {
    public func fields(of event: Event, in context: NavigationContext) -> Undeclared { Undeclared() }
}

extension Coordinator where EventList == Undeclared {
    public static var everywhere: Undeclared { Undeclared() }
}

extension Coordinator where ScreenList == Undeclared {
    public static var screens: Undeclared { Undeclared() }
}

extension Coordinator where Event == NoEvent {
    public mutating func handle(_ event: NoEvent, _ navigator: inout Navigator) {}
}

/// A coordinator that is called when the user selects another of its tabs, like a `UITabBarControllerDelegate` in
/// UIKit.
///
/// ```swift
/// extension TabCoordinator: TabBarDelegate {
///     func shouldSelectTab(_ tab: String, _ navigator: inout Navigator) -> Bool {
///         guard tab == "new" else { return true }
///         navigator.present(NewPostCoordinator())
///         return false
///     }
///
///     mutating func didSelectTab(_ tab: String, _ navigator: inout Navigator) {
///         visits[tab, default: 0] += 1
///     }
/// }
/// ```
public protocol TabBarDelegate: Coordinator {
    /// Called when the user wants to select another tab by `selectTab`. The requests to the navigator are performed in
    /// any case, before the tab is selected. Not called for a `back` that changes tabs, which leads only to a tab that
    /// was selected before or to the first one.
    ///
    /// - Returns: whether to select the tab, by default `true`. If it is `false`, `back` does not lead to the tab, and
    ///   clients see nothing of the attempt.
    mutating func shouldSelectTab(_ tab: String, _ navigator: inout Navigator) async throws -> Bool

    /// Called when the user has selected another tab, by `selectTab` or by a `back` that changes tabs. Not called when
    /// a coordinator selects a tab, nor when the user selects the selected tab again.
    ///
    /// If it selects yet another tab, the user has not seen this one: `back` does not lead to it. By default it does
    /// nothing.
    ///
    /// - Parameter tab: the tab's id, as in `navigator.selectedTab`.
    mutating func didSelectTab(_ tab: String, _ navigator: inout Navigator) async throws
}

extension TabBarDelegate {
    public mutating func shouldSelectTab(_ tab: String, _ navigator: inout Navigator) -> Bool { true }
    public mutating func didSelectTab(_ tab: String, _ navigator: inout Navigator) {}
}

/// A coordinator that is called when the user leaves one of its screens, like a `UINavigationControllerDelegate` in
/// UIKit.
///
/// ```swift
/// extension CheckoutCoordinator: StackDelegate {
///     mutating func screenWasRemoved(_ screen: Screen, _ navigator: inout Navigator) {
///         if screen.name == "payment" { coupon = nil }
///     }
/// }
/// ```
public protocol StackDelegate: Coordinator {
    /// Called after the user has left a screen of this coordinator: by `back`, by `backTo` or `backToRoot`, or by
    /// selecting the selected tab again. If the user has left several, it is called for each, the topmost first, before
    /// any `childWasDismissed`. It is not called for what a coordinator removes, nor for the last screen, with which
    /// this coordinator is removed: its parent gets `childWasDismissed`.
    ///
    /// - Parameter screen: as it was last drawn.
    mutating func screenWasRemoved(_ screen: Screen, _ navigator: inout Navigator) async throws
}

/// What `isEnabled`, `title`, `fields`, `render` and `shouldLeave` may depend on beside the coordinator's own properties.
public struct NavigationContext: Sendable, Equatable {
    /// What the session's coordinators share.
    public let shared: SharedValues
    /// Small values kept for the session, also across `relaunch`.
    public let defaults: Defaults
    let viewer: Viewer

    public var client: ClientInfo { viewer.client }
    /// The role of the device that sees what is made; `nil` if the app declares no roles.
    public var role: DeviceRole? { viewer.role }
}

extension NavigationState {
    package var context: NavigationContext { context(as: self) }

    /// The context if the device acted for which the other state is drawn.
    func context(as drawn: NavigationState) -> NavigationContext {
        NavigationContext(shared: shared, defaults: defaults, viewer: drawn.viewer)
    }
}

/// A handler throws this when it has no capacity now. Nothing changes, and the answer asks the client to try again.
public struct Overloaded: Error, Equatable {
    /// The number of seconds after which the client may try again.
    public let retryAfter: Int

    public init(retryAfter: Int = 1) {
        self.retryAfter = retryAfter
    }
}

/// Stands in for a coordinator that the app can no longer restore, because its type is gone or its saved state does not
/// fit. Its screens and children are removed with it. Its parent gets it in `childWasDismissed`.
public struct RemovedCoordinator: Coordinator {
    /// The name that its type had.
    public let name: String
    /// The coordinator as it was saved.
    public let saved: JSON

    public func start(_ navigator: inout Navigator) {}
}
