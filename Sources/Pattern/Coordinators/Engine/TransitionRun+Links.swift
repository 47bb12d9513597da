internal import JSONCoding

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
        if linkProgress == .retried(link), let pending = state.pendingLink, pending.coordinator == living.id,
            decision == pending.decision
        {
            // Still pending: the requests it made when the link was first offered must not be performed again.
            return try keepOn(pending)
        }
        switch decision {
        case .taken: settle(link, keeping: nil)
        case .pending: settle(link, keeping: PendingLink(path: link.text, coordinator: living.id))
        case .pendingUntilEnd(let flow):
            settle(link, keeping: PendingLink(path: link.text, coordinator: living.id, flow: flow))
        case .declined:
            if linkProgress == .offered(link) || opensLink { throw .linkNotTaken }
            settle(link, keeping: nil)
        case .passedOn: agenda.append(.passOn(link, from: living.id))
        }
        try accept(coordinator, &navigator, at: index)
    }

    private mutating func settle(_ link: Link, keeping pending: PendingLink?) {
        // One that waits for an answer has come later than this one.
        if state.pendingLink?.waitsForAnswer != true { state.pendingLink = pending }
        linkProgress = .settled
    }

    /// Keeps a link as before, unless the flow for which it has waited is over: then it is dropped, or refused if it was
    /// only just opened.
    private mutating func keepOn(_ pending: PendingLink) throws(NavigationError) {
        linkProgress = .settled
        guard pending.flow != nil else { return }
        if opensLink { throw .linkNotTaken }
        state.pendingLink = nil
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
    /// none, throws for an opened link, and drops a pending one, which its coordinator no longer keeps. One that waits for
    /// a flow which has ended at once is offered again.
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
        case .settled?:
            guard state.pendingLink?.flow != nil else { return }
            linkProgress = nil
            if !retryPendingLink() { linkProgress = .settled }
        case nil: break
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
            let alert = app.onError.flatMap({ $0(error, original.context(as: state)) })
        else { return }
        try? show(alert, by: keeper)
    }

    private var keeperOfLink: LivingCoordinator? {
        state.pendingLink?.coordinator.flatMap { state[$0] } ?? state.coordinators.first
    }

    /// Offers a pending link again to the coordinator that keeps it, unless it waits for a flow.
    private mutating func retryPendingLink() -> Bool {
        guard linkProgress == nil, let pending = state.pendingLink, let id = pending.coordinator, !state.waitsForFlow,
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

    /// Drops a link that waits for an answer, after something else than an event: if all alerts that were there have gone
    /// unanswered, or if the user is elsewhere. Perhaps it is another user, as when an idle session starts over.
    mutating func dropForgottenLink() {
        guard state.pendingLink?.waitsForAnswer == true else { return }
        let before = original.alerts.map(\.key)
        let isForgotten =
            before.isEmpty
            ? state.alert == nil && state.visible?.key != original.visible?.key
            : !state.alerts.contains { before.contains($0.key) }
        if isForgotten { state.pendingLink = nil }
    }
}

extension TransitionRun {
    /// Whether the client has just opened the link.
    var opensLink: Bool { cause == .event && event?.type == BuiltInEvent.open.rawValue }
}

extension PendingLink {
    /// What its coordinator has answered.
    fileprivate var decision: LinkDecision { flow.map { .pendingUntilEnd(of: $0) } ?? .pending }
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
