internal import JSONCoding

/// Performs the requests for children, flows, alerts and messages.
extension TransitionRun {
    mutating func start(
        _ child: any Coordinator, on stack: Int, _ request: Request, by parent: LivingCoordinator
    ) throws(NavigationError) {
        guard let type = app.type(of: child) else {
            throw parent.impossible(request, "the app's list of coordinators lacks it")
        }
        newcomers.removeAll { $0 == parent.id }
        try add(child, type: type, parent: parent.id, home: stack)
    }

    mutating func present(
        _ child: any Coordinator, _ presentation: Presentation, _ request: Request, by parent: LivingCoordinator
    ) throws(NavigationError) {
        try checkDepth(by: parent)
        let key = state.nextKey("p")
        let stack = ScreenStack(id: state.nextID())
        try start(child, on: stack.id, request, by: parent)
        state.presented.append(
            PresentedFlow(key: key, presentation: presentation, stack: stack, coordinator: state.lastID))
    }

    /// Requires that another flow may be presented.
    private func checkDepth(by parent: LivingCoordinator) throws(NavigationError) {
        guard state.presented.count + 2 > app.limits.depth else { return }
        // Clients present one flow after the other. If one event presents most of them, the app is at fault; of a link the
        // client may have chosen the length.
        let newOnes = state.presented.count { flow in !original.presented.contains { $0.key == flow.key } }
        throw linkProgress == nil && newOnes > state.presented.count / 2
            ? .runawayTransition(coordinator: parent.name) : .depthLimit(coordinator: parent.name)
    }

    /// Adds the root of the tree, and puts its start on the agenda.
    mutating func startRoot() throws(NavigationError) {
        try add(app.root(), type: app.rootType, parent: nil, home: state.stack.id)
    }

    private mutating func add(
        _ coordinator: any Coordinator, type: CoordinatorType, parent: Int?, home: Int
    ) throws(NavigationError) {
        let id = state.nextID()
        state.coordinators.append(
            try LivingCoordinator(
                id: id, parent: parent, home: home, type: type, coordinator: coordinator, in: state.context))
        newcomers.append(id)
        agenda.append(.call(.start, id))
    }

    mutating func dismiss(_ request: Request, by coordinator: LivingCoordinator) throws(NavigationError) {
        let own = state.flow(ofStack: coordinator.home)
        if case .dismissPresented = request {
            let above = own.map { $0 + 1 } ?? 0
            if above < state.presented.count { dismissFlows(from: above) }
            return
        }
        guard let own else { throw coordinator.impossible(request, "it is not presented") }
        dismissFlows(from: own)
    }

    mutating func finish(_ coordinator: LivingCoordinator, _ request: Request) throws(NavigationError) {
        guard let parent = coordinator.parent else {
            throw coordinator.impossible(request, "the root lives as long as the session")
        }
        drop([coordinator.id], finisher: coordinator.id)
        finished.append(coordinator.name)
        agenda.append(.call(.childDidFinish(coordinator.coordinator), parent))
    }

    mutating func deliver(
        _ value: any Sendable, _ request: Request, by child: LivingCoordinator
    ) throws(NavigationError) {
        guard let parent = child.parent else { throw child.impossible(request, "the root has no parent") }
        agenda.append(.call(.childDidDeliver(value, from: child.coordinator), parent))
    }

    mutating func tell(
        _ message: Message, _ request: Request, by coordinator: LivingCoordinator
    ) throws(NavigationError) {
        try tell(message, toOneOf: state.lineage(of: coordinator.id).dropFirst(), request, by: coordinator)
    }

    /// - Parameter ancestors: the ids of the coordinators that may get the message, the nearest first.
    mutating func tell(
        _ message: Message, toOneOf ancestors: ArraySlice<Int>, _ request: Request, by coordinator: LivingCoordinator
    ) throws(NavigationError) {
        let recipient = ancestors.first { state[$0].map { message.isUnderstood($0.coordinator) } ?? false }
        guard let recipient else {
            throw coordinator.impossible(request, "no coordinator further up understands it")
        }
        agenda.append(.call(.receive(message), recipient))
    }

    mutating func tellChildren(_ message: Message, of coordinator: Int) {
        let family = state.families(of: [coordinator])
        // What is last on the agenda is done first.
        for recipient in state.coordinators.reversed()
        where recipient.id != coordinator && family.contains(recipient.id)
            && message.isUnderstood(recipient.coordinator)
        {
            agenda.append(.call(.receive(message), recipient.id))
        }
    }

    /// Shows an alert, or lets it wait until those before it are answered.
    mutating func show(
        _ alert: Alert, _ request: Request, by coordinator: LivingCoordinator
    ) throws(NavigationError) {
        try check(alert) { coordinator.impossible(request, $0) }
        let alerts = state.alerts
        if let shown = alerts.first, alerts.count >= app.limits.alerts {
            throw coordinator.impossible(
                request,
                "“\(alert.title)” would be the \(alerts.count + 1)th alert: “\(shown.alert.title)” is shown, the others wait"
            )
        }
        guard let owner = state.owner(of: alert, among: state.lineage(of: coordinator.id)) else {
            let strange = alert.buttons.first { $0.event.map { !coordinator.type.accepts($0) } ?? false }
            throw coordinator.impossible(request, "button “\(strange?.id ?? "")” sends an unknown event")
        }
        let key = state.nextKey("a")
        let translated = alert.translated(by: app.words, for: state.client)
        state.alerts = alerts + [PresentedAlert(key: key, alert: translated, coordinator: owner)]
    }

    /// Requires buttons, each with an id of its own.
    ///
    /// - Parameter fault: makes the error from a reason.
    func check(_ alert: Alert, _ fault: (String) -> NavigationError) throws(NavigationError) {
        guard !alert.buttons.isEmpty else { throw fault("an alert needs a button") }
        for (index, button) in alert.buttons.enumerated() {
            guard !alert.buttons[..<index].contains(where: { $0.id == button.id }) else {
                throw fault("two buttons are named “\(button.id)”")
            }
        }
    }
}

/// Moves living flows.
extension TransitionRun {
    /// Moves a child of that type, with its descendants on the same stack and with all their screens there. The screens
    /// keep their keys, so a client that performs the operations removes each of them and shows it again elsewhere.
    mutating func move(
        _ type: any Coordinator.Type, to place: FlowPlace, _ request: Request, by parent: LivingCoordinator
    ) throws(NavigationError) {
        let children = state.children(of: parent.id)
        guard let child = children.last(where: { Swift.type(of: $0.coordinator) == type }) else {
            throw parent.impossible(request, "it has no such child")
        }
        let source = child.home
        let family = state.families(of: [child.id])
        let all = state.stack(source)?.screens ?? []
        let moved = all.filter { family.contains($0.coordinator) }
        guard !moved.isEmpty else { throw parent.impossible(request, "the flow has no screen on its stack") }
        let sheet = state.presented.firstIndex { $0.coordinator == child.id }
        if let other = state.presented.first(where: { $0.coordinator != child.id && family.contains($0.coordinator) }) {
            throw parent.impossible(
                request,
                "the flow has presented “\(state[other.coordinator]?.name ?? "")”, which must be dismissed first")
        }
        if let sheet, sheet < state.presented.count - 1 {
            let above = state.presented[sheet + 1].coordinator
            throw parent.impossible(
                request, "“\(state[above]?.name ?? "")” is presented over the flow, and must be dismissed first")
        }
        let nesting = state.nesting(ofStack: source) + 1
        if case .presented = place, sheet == nil { try checkDepth(by: parent) }
        let target: Int
        switch place {
        case .stack: target = state.stackID(for: parent)
        case .tab(let id):
            let (screen, position) = try tab(id, request, of: parent)
            target = screen.tabs?.items[position].stack.id ?? source
        case .presented: target = state.nextID()
        }
        // It is on top already.
        if target == source, moved.count == all.count || all.suffix(moved.count).elementsEqual(moved, by: ===) {
            return
        }
        try take(moved, from: source, of: all, sheet: sheet, request, by: parent)
        if case .presented(let presentation) = place {
            let key = state.nextKey("p")
            state.presented.append(
                PresentedFlow(
                    key: key, presentation: presentation, stack: ScreenStack(id: target), coordinator: child.id))
        }
        try change(target, request, by: parent) { $0.screens += moved }
        // A session from before there was a limit may exceed it, but not by more.
        let deepest = state.nesting(ofStack: target) + ScreenStack(id: target, screens: moved).depth
        guard deepest <= app.limits.nesting || state.nesting(ofStack: target) < nesting else {
            throw .nestingLimit(coordinator: parent.name)
        }
        for (index, living) in state.coordinators.enumerated() where living.home == source && family.contains(living.id)
        {
            state.coordinators[index] = try living.moved(to: target, in: state.context)
        }
    }

    /// Takes a flow's screens from a stack, which must not become empty, unless it is the flow's own sheet.
    private mutating func take(
        _ moved: [PlacedScreen], from source: Int, of all: [PlacedScreen], sheet: Int?, _ request: Request,
        by parent: LivingCoordinator
    ) throws(NavigationError) {
        let isEmptied = moved.count == all.count
        if let sheet {
            guard isEmptied else { throw parent.impossible(request, "there are screens of other flows on its stack") }
            state.presented.remove(at: sheet)
            return
        }
        guard !isEmptied else {
            throw parent.impossible(request, "the stack that the flow is on would have no screen left")
        }
        try change(source, request, by: parent) { stack in
            stack.screens.removeAll { screen in moved.contains { $0 === screen } }
        }
    }
}

extension NavigationState {
    /// The first of the coordinators that can handle every event that the alert's buttons send; `nil` if none can.
    func owner(of alert: Alert, among coordinators: [Int]) -> Int? {
        coordinators.first { self[$0].map { alert.canBeAnswered(to: $0.type) } ?? false }
    }
}

extension Alert {
    /// Whether coordinators of that type can handle every event that the buttons send.
    func canBeAnswered(to type: CoordinatorType) -> Bool {
        buttons.allSatisfy { $0.event.map(type.accepts) ?? true }
    }
}

/// How far the transition has got with its link.
indirect enum LinkProgress: Sendable, Equatable {
    /// It is being offered from the root down, because the user opened it.
    case offered(Link)
    /// It is being offered again: to the coordinator that keeps it, or as a catch-all to all.
    case retried(Link)
    /// A coordinator has taken it, or keeps it.
    case settled
}

/// Offers links to coordinators, down the tree.
extension TransitionRun {
    /// Offers a link to the root, after everything else on the agenda is done.
    mutating func open(_ link: Link) throws(NavigationError) {
        guard let root = state.coordinators.first else { throw .linkNotTaken }
        linkProgress = .offered(link)
        agenda.insert(.call(.open(link), root.id), at: 0)
    }

    /// Offers a link to the coordinator at a position.
    mutating func offer(_ link: Link, to index: Int) async throws(NavigationError) {
        guard linkProgress != .settled else { return }
        let living = state.coordinators[index]
        var coordinator = living.coordinator
        var navigator = navigator(for: living)
        var decision = LinkDecision.passedOn
        do {
            try await surround(RunningCall(.open(link), of: living)) {
                decision = try await coordinator.open(link, &navigator)
            }
        } catch {
            return try fail(with: error, thrownBy: .open(link), of: living)
        }
        switch decision {
        case .pending where linkProgress == .retried(link) && state.pendingLink?.coordinator == living.id:
            // Still pending: the requests it made when the link was first offered must not be performed again.
            return linkProgress = .settled
        case .pending, .taken:
            // One that waits for an answer has come later than this one.
            if state.pendingLink?.waitsForAnswer != true {
                let isKept = decision == .pending
                state.pendingLink = isKept ? PendingLink(path: link.path, coordinator: living.id) : nil
            }
            linkProgress = .settled
        case .passedOn: agenda.append(.passOn(link, from: living.id))
        }
        try accept(coordinator, navigator, at: index)
    }

    /// Offers a link to the children of a coordinator, first to the one to which the visible screen belongs, itself or
    /// through descendants.
    mutating func passOn(_ link: Link, from id: Int) {
        guard linkProgress != .settled else { return }
        let visibleLineage = state.visible.map { state.lineage(of: $0.coordinator) } ?? []
        // What is last on the agenda is done first.
        for isVisible in [false, true] {
            for child in state.coordinators.reversed()
            where child.parent == id && visibleLineage.contains(child.id) == isVisible {
                agenda.append(.call(.open(link), child.id))
            }
        }
    }

    /// Offers a link that no coordinator took or kept once more, as the next catch-all that matches it. If there is
    /// none, throws for an opened link, and drops a pending one, which its coordinator no longer keeps.
    mutating func settleLink() throws(NavigationError) {
        switch linkProgress {
        case .offered(let link)?:
            guard let next = app.catchAll(after: link) else { throw .linkNotTaken }
            try open(next)
        case .retried(let link)?:
            state.pendingLink = nil
            linkProgress = .settled
            guard let next = app.catchAll(after: link) else { return }
            try open(next)
            linkProgress = .retried(next)
        case .settled?, nil: break
        }
    }

    /// Goes on with the transition by offering a pending link again, once per transition. A failure of that costs only the
    /// link: otherwise every event would fail as long as the link is kept. If there is no capacity for it now, it is kept.
    ///
    /// - Returns: `nil` if there is none to offer.
    mutating func resultWithPendingLink() async throws(NavigationError) -> TransitionResult? {
        var before = self
        guard retryPendingLink() else { return nil }
        await keepSpare(of: before)
        do throws(NavigationError) {
            retry.isUnderWay = true
            return try await result()
        } catch {
            guard case .overloaded = error else { return try await before.resultWithoutLink(error, retry.error) }
            before.linkProgress = .settled
            return try await before.result()
        }
    }

    /// Sees to it that a link which takes too long is dropped, and the rest counts.
    ///
    /// - Parameter run: the transition without the link.
    private func keepSpare(of run: TransitionRun) async {
        guard let observer else { return }
        let error = LinkDeadlineExceeded()
        let failure = NavigationError.handlerFailed(
            coordinator: run.keeperOfLink?.name ?? "", call: "open", error: ThrownError(error))
        if let spare = try? await run.resultWithoutLink(failure, error) { observer.keep(spare) }
    }

    /// - Parameters:
    ///   - failure: why the pending link is dropped.
    ///   - error: what a coordinator threw; the app may have an alert for it.
    private func resultWithoutLink(
        _ failure: NavigationError, _ error: (any Error)?
    ) async throws(NavigationError) -> TransitionResult {
        var run = self
        run.caught = failure
        if let error { run.showAlert(for: error) }
        run.state.pendingLink = nil
        run.linkProgress = .settled
        return try await run.result()
    }

    /// Shows the app's alert for an error, if it has one that can be shown.
    private mutating func showAlert(for error: any Error) {
        guard prospect == nil, showsErrors, !(error is CancellationError), let keeper = keeperOfLink,
            let alert = app.onError.flatMap({ $0(error, original.context(for: state.client)) })
        else { return }
        try? show(alert, .alert(alert), by: keeper)
    }

    private var keeperOfLink: LivingCoordinator? {
        state.pendingLink?.coordinator.flatMap { state[$0] } ?? state.coordinators.first
    }

    /// Offers a pending link again to the coordinator that keeps it.
    private mutating func retryPendingLink() -> Bool {
        guard linkProgress == nil, let pending = state.pendingLink, let id = pending.coordinator,
            let link = try? app.link(pending.path), let keeper = state[id] ?? state.coordinators.first
        else { return false }
        linkProgress = .retried(link)
        agenda.append(.call(.open(link), keeper.id))
        return true
    }

    /// Opens the link that has waited for an answer, or for the start of its session, as if the client had posted it
    /// after this transition: coordinators are asked whether it may leave the screen, except that of a new session, which
    /// nobody has seen. If it cannot be opened, it is dropped, and the answer counts; a session begins only if the app
    /// has an alert for the error.
    ///
    /// - Parameter before: the result without the link.
    /// - Returns: the result with it. It is the same if the user still has something to answer, or has agreed to an
    ///   event that the client posts again.
    func openingWaitingLink(after before: TransitionResult) async throws(NavigationError) -> TransitionResult {
        guard cause == .event, prospect == nil, let path = state.pendingLink?.path, state.alert == nil,
            state.agreement == nil
        else { return before }
        var state = before.state
        state.pendingLink = nil
        let open = PostedEvent(BuiltInEvent.open.rawValue, payload: ["path": .string(path)], address: event?.address)
        var run = TransitionRun(of: app, on: state, at: now, event: open)
        (run.origin, run.wrapper, run.observer, run.device) = (origin, wrapper, observer, device)
        run.probe = probe
        let isLaunch = event == nil
        run.leavesWithoutAsking = isLaunch
        do throws(NavigationError) {
            try run.open(app.link(path))
            if !isLaunch { await keepSpare(of: self) }
            let after = try await run.result()
            let transition = before.transition.followed(by: after, since: original)
            return TransitionResult(state: after.state, transition: transition, caught: after.caught)
        } catch {
            if isLaunch { throw error }
            return TransitionResult(state: state, transition: before.transition, caught: error)
        }
    }

    /// Drops a link that waits for an answer, after something else than an event: if the alert has gone unanswered, or
    /// if the user is elsewhere. Perhaps it is another user, as when an idle session starts over.
    mutating func dropForgottenLink() {
        guard state.pendingLink?.waitsForAnswer == true, state.alert == nil else { return }
        if original.alert != nil || state.visible?.key != original.visible?.key { state.pendingLink = nil }
    }
}

extension NavigationState {
    /// The ids of a coordinator and its ancestors, the root last.
    func lineage(of id: Int) -> [Int] {
        var lineage: [Int] = []
        var next: Int? = id
        while let id = next {
            lineage.append(id)
            next = self[id]?.parent
        }
        return lineage
    }
}
