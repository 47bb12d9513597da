internal import JSONCoding

/// A transition under way: a copy of the state, and what is still to be done to it.
///
/// The agenda is a stack. After a coordinator's function has returned, its requests go on top and are performed, in
/// order, before all earlier ones. So a child is started, and may even finish, before its parent's next request is
/// performed, while no function of the parent is running.
public struct TransitionRun: Sendable {
    package static let stepLimit = 256

    /// Indirect, because a call is copied more often than made.
    indirect enum Call: Sendable {
        case start
        case handle(EventShape, event: JSON)
        case childDidFinish(any Coordinator)
        case childWasDismissed(any Coordinator)
        case childDidDeliver(any Sendable, from: any Coordinator)
        case screenWasRemoved(Screen)
        case shouldSelectTab(String, ofScreen: String)
        case didSelectTab(String)
        case receive(Message)
        case open(Link)
        case receiveSignal(SentSignal)
        case effectDidFail(FailedEffect)
        case deviceDidPair(PairedDevice)
    }

    enum Step: Sendable {
        case call(Call, Int)
        case perform(any Request, by: Int)
        /// The user selects a tab of the coordinator's screen of that key.
        case selectTab(String, ofScreen: String, by: Int)
        /// Offers the link to the coordinator's children.
        case passOn(Link, from: Int)
    }

    let app: App
    var now: Date
    /// What handlers may learn about the request.
    public var origin: any TransitionOrigin = KnownOrigin.none
    /// `nil` if nobody traces the calls.
    public var wrapper: CallWrapper?
    /// `nil` if nobody limits the calls.
    package var observer: (any CallObserver)?
    /// `nil` unless a test looks into the transition.
    package var probe: (any TransitionProbe)?
    /// The posted event; `nil` for the first transition of a session.
    var event: PostedEvent?
    /// What the transition is made for. If it is no event, `event` has the signal's name, or the effect's.
    var cause = Transition.Cause.event
    /// Whether an error of a coordinator may become an alert.
    var showsErrors = true
    /// The living coordinators that may receive the other system's signal if the one before refuses it.
    var otherRecipients: [(id: Int, signal: SentSignal)] = []
    /// What is done instead of receiving the outcome of an effect if that makes the state too large.
    var failureIfTooLarge: Step?
    /// The names of the coordinators that have refused the signal.
    var refusers: [String] = []
    /// The device that posted it; `nil` for the one that the state is drawn for.
    var device: Device?
    /// The state before the event.
    let original: NavigationState
    var state: NavigationState
    var agenda: [Step] = []
    /// By the key of a screen: that of the screen whose place it has taken.
    var replaced: [String: String] = [:]
    var finished: [String] = []
    var dismissed: [String] = []
    var changes: SessionChanges?
    /// The coordinators whose screens may have to be drawn otherwise: a call or new tabs have changed them.
    private(set) var redrawn: [Int] = []
    /// Whether a call has changed what all coordinators share: all screens may have to be drawn otherwise.
    private(set) var redrawsAll = false
    /// The coordinators that were removed: their ids and names, and the ids of their parents.
    var removed: [(id: Int, name: String, parent: Int?)] = []
    /// The request that is performed, and the coordinator that has made it; `nil` while it is what the user wants.
    var performed: (request: any Request, requester: LivingCoordinator)?
    /// The screens that have gone by what is being done, with those in their tabs.
    var gone: [PlacedScreen] = []
    /// The keys of those screens that go, or are left, to which their coordinators object.
    var objectors: [String] = []
    /// The coordinators that are gone and whose parents have not heard of it yet.
    var notices: [LivingCoordinator] = []
    /// Coordinators started in this transition that have not owned a screen or a child yet.
    var newcomers: [Int] = []
    /// Whether screens may be left without asking, because nobody could be asked.
    var leavesWithoutAsking = false
    /// The keys of the screens that the user has agreed to leave.
    var agreedScreens: [String] = []
    /// The event that goes on because the user has agreed to it.
    var resumed: PostedEvent?
    /// The alert that replaces everything else that the transition would do. With `failure` it is the app's alert for
    /// an error of a coordinator; without, the coordinator objects to leaving `screens`.
    var objection: (coordinator: Int, alert: Alert, screens: [String], failure: NavigationError?)?
    /// The tabs before `back` selected another one, with the history as `back` has shortened it.
    var tabsLeftByBack: (key: String, tabs: PlacedTabs)?
    /// How far the transition has got with its link; `nil` if there is none.
    var linkProgress: LinkProgress?
    /// Whether it offers a pending link again; what a coordinator threw then.
    var retry: (isUnderWay: Bool, error: (any Error)?) = (false, nil)
    /// Why a pending link was dropped.
    var caught: NavigationError?
    /// In a transition to a new declaration of the app: its result if the called coordinators make no requests.
    var prospect: TransitionResult?
    private var stepsTaken = 0

    init(of app: App, on state: NavigationState, at now: Date, event: PostedEvent?) {
        self.app = app
        self.original = state
        self.state = state
        self.now = now
        self.event = event
    }

    public var appName: String { app.name }
    /// Whether a client's event is carried out, and no signal, effect or timer.
    package var isOfEvent: Bool { cause == .event && event != nil }

    /// The coordinator that is called first, if that is known before the transition is carried out.
    public var recipient: String? {
        guard case .call(_, let id)? = agenda.last else { return nil }
        return state[id]?.name
    }

    /// The result of the event if no coordinator has to be called, otherwise `nil`.
    public func resultAtOnce() throws(NavigationError) -> TransitionResult? {
        if objection != nil { return try resultWithAlert() }
        guard agenda.isEmpty, notices.isEmpty, state.pendingLink == nil, state.client == original.client else {
            return nil
        }
        let operations = operations
        // Selecting a tab can neither violate an invariant nor exceed a limit.
        if operations.allSatisfy(\.isSelection) { return result(operations) }
        let screens = state.screens
        guard orphan(among: screens) == nil else { return nil }
        try check(screens)
        return result(operations)
    }

    /// Performs the agenda and checks the resulting state. If the outcome of an effect makes the state too large, the effect
    /// has failed.
    public mutating func result() async throws(NavigationError) -> TransitionResult {
        guard let failure = failureIfTooLarge else { return try await carriedOut() }
        failureIfTooLarge = nil
        var failed = self
        do {
            return try await carriedOut()
        } catch .stateLimit {
            failed.agenda = [failure]
            failed.showsErrors = true
            probe?.willStartOver()
            self = failed
            return try await carriedOut()
        }
    }

    private mutating func carriedOut() async throws(NavigationError) -> TransitionResult {
        var screens: [PlacedScreen]
        repeat {
            while let step = agenda.popLast() { try await execute(step) }
            if objection != nil { return try resultWithAlert() }
            try settleLink()
            screens = state.screens
        } while !agenda.isEmpty || dismissOrphan(among: screens) || (prospect != nil && removeEmptyPlace())
        if linkProgress == nil, state.pendingLink != nil, let result = try await resultWithPendingLink() {
            return result
        }
        // A link may lead to where the user is, or show something elsewhere: only one that leaves the screen asks.
        if opensLink, state.visible?.key != original.visible?.key {
            noteLeft()
            settle()
            if objection != nil { return try resultWithAlert() }
        }
        if cause != .event, prospect == nil {
            removePointlessAlerts(among: screens)
            dropForgottenLink()
        }
        if try redraw(screens) { screens = state.screens }
        try check(screens)
        let result = unchecked()
        guard state.pendingLink?.waitsForAnswer == true else { return result }
        return try await openingWaitingLink(after: result)
    }

    /// Requires that the state may be what the transition leads to.
    func check(_ screens: [PlacedScreen]) throws(NavigationError) {
        if let violation = state.violation(among: screens) { throw .invariantViolated(violation) }
        if !removed.isEmpty, prospect == nil { try checkAlerts() }
        guard state.pending.count <= max(app.limits.cleanUps, original.pending.count) else {
            throw .workLimit(coordinator: state.pending.last { $0.cleanUp != nil }?.cleanUp?.coordinator ?? "")
        }
        guard state.isWithinNumberLimit, state.size(with: screens) <= app.sizeLimit || mayBeTooLarge(screens) else {
            throw .stateLimit(bytes: app.sizeLimit)
        }
    }

    /// Whether a state over `sizeLimit` is accepted: if a new declaration of the app made it too large, or if it does
    /// not grow.
    private func mayBeTooLarge(_ screens: [PlacedScreen]) -> Bool {
        prospect != nil || state.size(with: screens) <= original.size(with: original.screens)
    }

    /// The result, whatever the state is like.
    func unchecked() -> TransitionResult { result(operations) }

    private var operations: [Operation] { state.operations(since: original, replaced: replaced) }

    private func result(_ operations: [Operation]) -> TransitionResult {
        let transition = Transition(
            event: event?.type, cause: cause, operations: operations, finished: finished, dismissed: dismissed,
            changes: changes)
        return TransitionResult(state: state, transition: transition, caught: caught)
    }

    private mutating func execute(_ step: Step) async throws(NavigationError) {
        let id =
            switch step {
            case .call(_, let id), .perform(_, let id), .selectTab(_, _, let id), .passOn(_, let id): id
            }
        stepsTaken += 1
        guard stepsTaken <= app.limits.steps else {
            // The client may have chosen the length of a link.
            if linkProgress != nil { throw .linkLimit }
            throw .runawayTransition(coordinator: state[id]?.name ?? removed.last { $0.id == id }?.name ?? "")
        }
        // If another request has removed the coordinator in the meantime, most of its own requests are dropped.
        guard let index = state.coordinators.firstIndex(where: { $0.id == id }) else {
            guard case .perform(let request, _) = step else { return }
            try perform(request, ofRemoved: id)
            settle()
            probe?.didPerform(by: id, state)
            return
        }
        switch step {
        case .call(.open(let link), _): try await offer(link, to: index)
        case .call(.shouldSelectTab(let tab, let screen), _):
            try await callShouldSelectTab(tab, ofScreen: screen, at: index)
        case .call(let call, _): try await perform(call, at: index)
        case .perform(let request, _):
            try perform(request, by: state.coordinators[index])
            settle()
            probe?.didPerform(by: id, state)
        case .selectTab(let tab, let screen, _):
            selectTab(tab, ofScreen: screen)
            settle()
        case .passOn(let link, _): passOn(link, from: id)
        }
    }

    mutating func perform(_ request: any Request, by coordinator: LivingCoordinator) throws(NavigationError) {
        performed = (request, coordinator)
        try request.perform(in: &self, by: coordinator)
    }

    /// The request that is performed, for its author.
    var requestName: String { performed?.request.name ?? "" }

    /// The request that is performed cannot be, because of a mistake of the app.
    func impossible(_ reason: String) -> NavigationError {
        .impossibleRequest(coordinator: performed?.requester.name ?? "", request: requestName, reason: reason)
    }

    /// Calls a coordinator's function and puts its requests on the agenda.
    private mutating func perform(_ call: Call, at index: Int) async throws(NavigationError) {
        let living = state.coordinators[index]
        var coordinator = living.coordinator
        var navigator = navigator(for: living)
        do {
            try await surround(RunningCall(call, of: living)) { try await call.make(on: &coordinator, &navigator) }
        } catch {
            return try fail(with: error, thrownBy: call, of: living)
        }
        try accept(coordinator, &navigator, at: index)
    }

    /// Makes a call in the wrapper, on a thread that the observer allows.
    func surround(_ call: RunningCall, _ make: () async throws -> Void) async throws {
        if let observer, try !observer.enter(call) { try await observer.leaveThread(for: call) }
        defer { observer?.leave(call) }
        if let wrapper { try await wrapper(call, make) } else { try await make() }
    }

    /// Ends the transition because a function of a coordinator threw: with an alert if the app has one for the error,
    /// otherwise by throwing.
    mutating func fail(
        with error: any Error, thrownBy call: Call, of coordinator: LivingCoordinator
    ) throws(NavigationError) {
        if case .receiveSignal = call, cause == .signal, error is SignalNotAccepted {
            return try passOnSignal(refusedBy: coordinator)
        }
        let failure = call.failure(error, of: coordinator)
        if retry.isUnderWay {
            retry.error = error
            throw failure
        }
        guard prospect == nil, showsErrors, case .handlerFailed = failure, !(error is CancellationError),
            let alert = app.onError.flatMap({ $0(error, original.context(as: state)) }),
            let owner = original[coordinator.id]?.id ?? original.visible?.coordinator
        else { throw failure }
        objection = (owner, alert, [], failure)
        agenda = []
    }

    /// Lets the next coordinator receive the signal that one has refused.
    private mutating func passOnSignal(refusedBy coordinator: LivingCoordinator) throws(NavigationError) {
        refusers.append(coordinator.name)
        guard !otherRecipients.isEmpty else { throw .signalRefused(by: refusers) }
        let (next, signal) = otherRecipients.removeFirst()
        agenda.append(.call(.receiveSignal(signal), next))
    }

    func navigator(for coordinator: LivingCoordinator) -> Navigator {
        probe?.willCall(coordinator.id, in: state)
        return Navigator(
            for: coordinator, in: state, now: now, address: event?.address, dependencies: app.dependencies,
            origin: origin)
    }

    /// Keeps the changes of a coordinator's function, and puts its requests on the agenda.
    mutating func accept(
        _ coordinator: any Coordinator, _ navigator: inout Navigator, at index: Int
    ) throws(NavigationError) {
        navigator.forgetCoordinators()
        let living = state.coordinators[index]
        let (defaults, shared) = (state.defaults, state.shared)
        state.defaults = navigator.defaults
        if let error = state.defaults.unwritable { throw .unsavable(error, of: "defaults", by: living.name) }
        state.shared = navigator.shared
        try state.shared.keep(for: app.sharedTypes, by: living)
        // Also if it is changed back later: what was drawn meanwhile is out of date.
        if state.defaults != defaults || state.shared != shared { redrawsAll = true }
        state.coordinators[index] = try living.with(coordinator, in: state.context)
        // What a new declaration of the app removes, its owner may draw without having changed.
        if state.coordinators[index] !== living || prospect != nil { noteChange(of: living.id) }
        if let finish = navigator.requests.firstIndex(where: \.endsCoordinator),
            let late = navigator.requests[(finish + 1)...].first(where: { !$0.outlivesCoordinator })
        {
            throw .impossibleRequest(
                coordinator: living.name, request: late.name, reason: "it has already asked to finish")
        }
        for request in navigator.requests.reversed() { agenda.append(.perform(request, by: living.id)) }
    }

    /// The screens of the coordinator are drawn once more at the end.
    mutating func noteChange(of coordinator: Int) {
        if !redrawn.contains(coordinator) { redrawn.append(coordinator) }
    }
}

extension TransitionRun.Call {
    /// Calls the function. Functions that return something are called elsewhere.
    fileprivate func make(on coordinator: inout any Coordinator, _ navigator: inout Navigator) async throws {
        switch self {
        case .start: try await coordinator.start(&navigator)
        case .handle(let shape, let event): try await shape.handle(&coordinator, event, &navigator)
        case .childDidFinish(let child): try await coordinator.childDidFinish(child, &navigator)
        case .childWasDismissed(let child): try await coordinator.childWasDismissed(child, &navigator)
        case .childDidDeliver(let value, let child):
            try await coordinator.childDidDeliver(value, from: child, &navigator)
        case .screenWasRemoved(let screen):
            guard var delegate = coordinator as? any StackDelegate else { return }
            try await delegate.screenWasRemoved(screen, &navigator)
            coordinator = delegate
        case .didSelectTab(let tab):
            guard var delegate = coordinator as? any TabBarDelegate else { return }
            try await delegate.didSelectTab(tab, &navigator)
            coordinator = delegate
        case .receive(let message): coordinator = try await message.deliver(coordinator, &navigator)
        case .receiveSignal(let signal): try await signal.receive(&coordinator, &navigator)
        case .effectDidFail(let effect): try await effect.didFail(&coordinator, &navigator)
        case .deviceDidPair(let device): _ = try await coordinator.deviceDidPair(device, &navigator)
        case .shouldSelectTab, .open: break
        }
    }

    /// The function as its author knows it, without the values.
    var name: String {
        switch self {
        case .start: "start"
        case .handle(let shape, _): "handle(\(shape.name))"
        case .childDidFinish: "childDidFinish"
        case .childWasDismissed: "childWasDismissed"
        case .childDidDeliver: "childDidDeliver"
        case .screenWasRemoved: "screenWasRemoved"
        case .shouldSelectTab: "shouldSelectTab"
        case .didSelectTab: "didSelectTab"
        case .receive(let message): message.name
        case .open: "open"
        case .receiveSignal(let signal): "receive(\(signal.name))"
        case .effectDidFail(let effect): "effectDidFail(\(effect.name))"
        case .deviceDidPair: "deviceDidPair"
        }
    }

    /// The function's index in the conduct that a `CoordinatorType` keeps.
    var kind: Int {
        switch self {
        case .start: 0
        case .handle: 1
        case .childDidFinish: 2
        case .childWasDismissed: 3
        case .didSelectTab: 4
        case .receive: 5
        case .open: 6
        case .shouldSelectTab: 7
        case .receiveSignal: 8
        case .effectDidFail: 9
        case .childDidDeliver: 10
        case .screenWasRemoved: 11
        case .deviceDidPair: 12
        }
    }

    static let kinds = 13

    func failure(_ error: any Error, of coordinator: LivingCoordinator) -> NavigationError {
        if let unfit = error as? UnfitPayload {
            switch self {
            case .handle(let shape, let event): return shape.refusal(of: event, unfit.cause)
            case .receiveSignal(let signal): if let refusal = signal.refusal(unfit.cause) { return refusal }
            default: break
            }
        }
        if case .handle(let shape, _) = self, let error = error as? FieldError {
            return shape.refusal(error, by: coordinator.name)
        }
        if case .receiveSignal = self, error is SignalNotAccepted { return .signalNotAccepted }
        if case .childDidDeliver(let value, let child) = self, error is UnexpectedDelivery {
            return .impossibleRequest(
                coordinator: type(of: child).name, request: Deliver(value: value).name,
                reason: "its parent “\(coordinator.name)” does not declare childDidDeliver(_:from:_:) for any Sendable")
        }
        if let overloaded = error as? Overloaded { return .overloaded(retryAfter: overloaded.retryAfter) }
        return .handlerFailed(coordinator: coordinator.name, call: name, error: ThrownError(error))
    }
}

/// Looks into a transition, for tests: the state says nothing of what came and went in between.
package protocol TransitionProbe: AnyObject, Sendable {
    /// A function of a coordinator is about to be called.
    func willCall(_ coordinator: Int, in state: NavigationState)

    /// Nothing of what was done counts: the transition begins again, with something else.
    func willStartOver()

    /// A request of a coordinator was performed, or dropped because the coordinator is gone.
    ///
    /// - Parameter state: the one after it.
    func didPerform(by coordinator: Int, _ state: NavigationState)
}

/// What a session of an app may have. Tests lower it, so that they reach it.
package struct Limits: Sendable {
    package var stack = NavigationState.stackLimit
    package var depth = NavigationState.depthLimit
    package var nesting = NavigationState.nestingLimit
    package var steps = TransitionRun.stepLimit
    package var alerts = NavigationState.alertLimit
    package var pending = NavigationState.pendingLimit
    package var cleanUps = NavigationState.cleanUpLimit
    /// Those of the apps that are declared from now on.
    @TaskLocal package static var ofNewApps = Limits()

    package init() {}
}

extension NavigationState {
    /// The number of screens that one stack may hold.
    public static let stackLimit = 64
    /// How many flows may lie over each other, with the one below all presented ones.
    public static let depthLimit = 32
    /// How many screens may be within each other, each in a tab of the one before. Parsers of clients have limits, too.
    public static let nestingLimit = 16
}
