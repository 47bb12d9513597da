/// Removes screens and coordinators.
///
/// Each request and each event removes what it has to, then `settle` does what follows from that: it asks whether all that
/// may go, removes those who have nothing left, and tells who is to be told.
extension TransitionRun {
    /// Removes coordinators and the screens that match, with what goes with them: descendants, work, screens, the flows that
    /// present them, and everything above these flows. Alerts stay, and get other owners.
    ///
    /// Parents of other flows that go hear of it when all that is under way is done.
    ///
    /// - Parameters:
    ///   - asking: whether coordinators may object.
    ///   - finisher: the coordinator among them that finishes; `nil` if none does.
    ///   - reason: why the others and their descendants go. Flows above theirs are dismissed.
    ///   - position: that of the first presented flow that goes in any case.
    mutating func drop(
        _ chosen: Set<Int> = [], asking: Bool = true, finisher: Int? = nil, for reason: RemovalReason = .dismissed,
        flowsFrom position: Int? = nil, screens matches: (PlacedScreen) -> Bool = { _ in false }
    ) {
        let leaving = state.leaving(with: chosen, flowsFrom: position ?? state.presented.count)
        let ids = leaving.coordinators
        let goes = { (screen: PlacedScreen) in leaving.includes(screen) || matches(screen) }
        for screen in state.screensToLeave(where: goes) { noteGone(screen, asking: asking) }
        if leaving.position < state.presented.count {
            notices += state.guests(ofFlowsFrom: leaving.position).filter { guest in
                !chosen.contains(guest.id) && guest.parent.map { !ids.contains($0) } ?? false
            }
            state.presented.removeSubrange(leaving.position...)
        }
        state.stack.removeScreens(where: goes)
        for index in state.presented.indices { state.presented[index].stack.removeScreens(where: goes) }
        guard !ids.isEmpty else { return }
        let family = reason == .dismissed ? ids : state.families(of: chosen)
        removeCoordinators(ids) { $0 == finisher ? .finished : family.contains($0) ? reason : .dismissed }
    }

    private mutating func removeCoordinators(_ ids: Set<Int>, for reason: (Int) -> RemovalReason) {
        for coordinator in state.coordinators.reversed()
        where ids.contains(coordinator.id) && reason(coordinator.id) != .finished {
            dismissed.append(coordinator.name)
        }
        let gone = state.coordinators.filter { ids.contains($0.id) }
        removed += gone.map { ($0.id, $0.name, $0.parent) }
        state.coordinators.removeAll { ids.contains($0.id) }
        state.removeWork(of: ids)
        state.cleanUp(gone, version: app.version, at: now, for: reason)
        if state.alert != nil { adoptAlerts() }
    }

    /// Notes that a screen goes, before its coordinator does.
    mutating func noteGone(_ screen: PlacedScreen, asking: Bool = true) {
        gone.append(screen)
        if asking { ask(about: screen) }
    }

    /// Notes that the user leaves the screen that was visible, even if it stays.
    mutating func noteLeft() {
        if let visible = original.visible { ask(about: visible) }
    }

    mutating func drop(_ screens: ArraySlice<PlacedScreen>) {
        drop { screen in screens.contains { $0 === screen } }
    }

    /// Dismisses the flow at that position and all flows above it, and notifies the parents that remain.
    mutating func dismissFlows(from position: Int) {
        let guests = state.guests(ofFlowsFrom: position)
        let family = state.families(of: Set(guests.map(\.id)))
        drop(Set(guests.map(\.id)), flowsFrom: position)
        for guest in guests where guest.parent.map({ !family.contains($0) }) ?? false {
            notifyParent(ofDismissed: guest)
        }
    }

    /// Does what follows from the screens that a request or an event has removed, or left: asks whether that may be, and
    /// removes the coordinators that have just lost what they were for: the stack on which they were started, or their last
    /// screen, with nothing of their descendants left either. Their parents hear of it when all that is under way is done.
    ///
    /// One that has removed its last screen itself may still show another one. One whose last child has gone is told of
    /// that first.
    mutating func settle() {
        defer { performed = nil }
        guard !gone.isEmpty || !objectors.isEmpty else { return }
        recordObjection()
        while objection == nil, let bereft {
            drop([bereft.id])
            notices.append(bereft)
            recordObjection()
        }
        if objection == nil { notifyDelegates() }
        (gone, objectors) = ([], [])
    }

    /// Records an objection to what has gone. Of several, that of the topmost screen's coordinator counts.
    private mutating func recordObjection() {
        guard !objectors.isEmpty else { return }
        for screen in original.screens.reversed() where objection == nil && objectors.contains(screen.key) {
            object(to: screen)
        }
    }

    /// The first of the coordinators that have just lost what they were for.
    private var bereft: LivingCoordinator? {
        if hasLostTabs, let homeless { return homeless }
        let screens = state.screens
        return state.coordinators.first { loser in
            loser.parent != nil && !isRequester(loser.id) && hasLostScreen(loser.id)
                && isBereft(loser.id, among: screens)
        }
    }

    /// Whether a coordinator has lost its last screen, and so have all its descendants.
    private func isBereft(_ id: Int, among screens: [PlacedScreen]) -> Bool {
        let family = state.families(of: [id])
        return !screens.contains { family.contains($0.coordinator) }
            && state.coordinators.allSatisfy { living in
                !family.contains(living.id) || hasLostScreen(living.id) && !isRequester(living.id)
            }
    }

    private func isRequester(_ id: Int) -> Bool { performed?.requester.id == id }

    private func hasLostScreen(_ id: Int) -> Bool { gone.contains { $0.coordinator == id } }

    /// Whether a screen with tabs has gone, and with it stacks on which coordinators may have been started.
    private var hasLostTabs: Bool { gone.contains { $0.tabs != nil } }

    /// The first coordinator whose own stack is gone.
    var homeless: LivingCoordinator? {
        var stacks: [Int] = []
        state.stack.forEachStack { stacks.append($0.id) }
        for flow in state.presented { flow.stack.forEachStack { stacks.append($0.id) } }
        return state.coordinators.first { !stacks.contains($0.home) }
    }

    /// Puts `screenWasRemoved` on the agenda for the screens that the user has left, except those with which their
    /// coordinator is removed.
    private mutating func notifyDelegates() {
        guard performed == nil, app.types.contains(where: \.isStackDelegate) else { return }
        let remaining = state.screens
        // What is last on the agenda is done first.
        for screen in gone.reversed() {
            guard let owner = state[screen.coordinator], owner.type.isStackDelegate,
                !state.isIdle(owner, among: remaining)
            else { continue }
            agenda.append(.call(.screenWasRemoved(screen.labelled), owner.id))
        }
    }
}

/// Removes those of whom nothing is left, and tells parents, when all that is under way is done.
extension TransitionRun {
    /// Removes one orphan, and notifies its parent; or notifies the parent of one that is gone already. The last started
    /// comes first.
    ///
    /// - Returns: whether there was one.
    mutating func dismissOrphan(among screens: [PlacedScreen]) -> Bool {
        let orphan = orphan(among: screens)
        if let position = notices.indices.max(by: { notices[$0].id < notices[$1].id }),
            orphan.map({ $0.id < notices[position].id }) ?? true
        {
            notifyParent(ofDismissed: notices.remove(at: position))
            return true
        }
        guard let orphan else { return false }
        drop([orphan.id])
        notifyParent(ofDismissed: orphan)
        settle()
        return true
    }

    /// Puts `childWasDismissed` of the parent on the agenda, unless the parent's own stack was removed with the tabs
    /// that held it: such a parent has no place for screens, and is the next orphan.
    mutating func notifyParent(ofDismissed child: LivingCoordinator) {
        guard let parent = child.parent.flatMap({ state[$0] }), state.stack(parent.home) != nil else { return }
        agenda.append(.call(.childWasDismissed(child.coordinator), parent.id))
    }

    /// The last coordinator that has neither a screen nor a child any longer.
    func orphan(among screens: [PlacedScreen]) -> LivingCoordinator? {
        state.coordinators.last {
            $0.parent != nil && state.isIdle($0, among: screens) && !newcomers.contains($0.id)
        }
    }
}

/// Asks whether the user may leave a screen.
extension TransitionRun {
    /// Notes whether a coordinator objects to leaving its screen. The one that wants it to be left is not asked, nor is the
    /// user again who has agreed.
    private mutating func ask(about screen: PlacedScreen) {
        guard !leavesWithoutAsking, !isRequester(screen.coordinator), !agreedScreens.contains(screen.key),
            state.objection(to: screen) != nil
        else { return }
        objectors.append(screen.key)
    }

    /// Records the objection to leaving a screen that the user sees. One that nobody has seen yet may always be left.
    private mutating func object(to screen: PlacedScreen) {
        guard let alert = original.objection(to: screen, as: state) else { return }
        // One question covers all screens about which the coordinator would ask the same.
        let same = original.screens.filter { other in
            other.coordinator == screen.coordinator && original.objection(to: other, as: state) == alert
        }
        objection = (screen.coordinator, alert, same.map(\.key), nil)
        agenda = []
    }

    /// The result of an event to which a coordinator objects, or for whose error the app has an alert: the original
    /// state with the alert.
    func resultWithAlert() throws(NavigationError) -> TransitionResult {
        var state = original
        guard let objection, let event else {
            return TransitionResult(state: state, transition: Transition(event: nil))
        }
        let isObjection = objection.failure == nil
        let before = state.alerts
        if cause == .event {
            state.restartIdleTimers(at: now)
        } else if before.count >= app.limits.alerts, let failure = objection.failure {
            throw failure
        }
        try check(objection.alert) { reason in
            .impossibleRequest(
                coordinator: original[objection.coordinator]?.name ?? "",
                request: isObjection ? "an answer to shouldLeave" : "an alert of onError", reason: reason)
        }
        let key = state.nextKey("a")
        let subject = isObjection ? self.subject(of: resumed ?? event) : nil
        // The payload of an author's event may hold anything, also secrets, so it is not kept.
        let isKept =
            subject.map { BuiltInEvent(rawValue: $0.type) != nil || $0.payload == nil || $0.payload == [:] } ?? true
        state.agreement = nil
        let alert = PresentedAlert(
            key: key, alert: objection.alert.translated(by: app.words, for: self.state.client),
            coordinator: objection.coordinator, heldUp: isKept ? subject : nil,
            askedFor: isKept ? nil : subject?.type,
            question: subject.map {
                Question(
                    screens: agreedScreens + objection.screens, device: deviceNumber,
                    payload: isKept ? nil : app.checksum(of: $0))
            })
        // A user has answered the alert that is shown, unless the answer itself is held up. Otherwise it stays, and the
        // others before this one.
        let isAnswered = cause == .event && (subject?.type != BuiltInEvent.answer.rawValue || resumed != nil)
        state.alerts = cause == .event ? [alert] + before.dropFirst(isAnswered ? 1 : 0) : before + [alert]
        guard state.isWithinNumberLimit else { throw .stateLimit(bytes: app.sizeLimit) }
        return TransitionResult(
            state: state,
            transition: Transition(
                event: event.type, cause: cause, operations: state.operations(since: original, replaced: [:])),
            caught: objection.failure, asksFirst: isObjection && !isKept)
    }

    /// The event that a question is about, as it is kept: of `back`, which may press the button of an alert, only what it
    /// does then.
    private func subject(of event: PostedEvent) -> PostedEvent {
        var subject = PostedEvent(event.type, payload: event.payload)
        guard resumed == nil, let shown = original.alert else { return subject }
        if event.type == BuiltInEvent.back.rawValue, let button = shown.alert.cancelButton {
            subject = PostedEvent(BuiltInEvent.answer.rawValue, payload: ["button": .string(button.id)])
        }
        if subject.type == BuiltInEvent.answer.rawValue { subject.payload?["alert"] = .string(shown.key) }
        return subject
    }
}

/// The alerts and requests that a coordinator leaves behind when it is removed.
extension TransitionRun {
    /// The living ancestors of a coordinator that was removed, the nearest first.
    private func heirs(of id: Int) -> [Int] {
        var next: Int? = id
        while let id = next, let gone = removed.last(where: { $0.id == id }) { next = gone.parent }
        return next.map(state.lineage) ?? []
    }

    /// Gives each alert of a removed coordinator to the nearest ancestor that can handle the events of the alert's
    /// buttons, or to the nearest of all if none can.
    mutating func adoptAlerts() {
        state.alerts = state.alerts.compactMap { alert in
            if state[alert.coordinator] != nil { return alert }
            let heirs = heirs(of: alert.coordinator)
            return (state.owner(of: alert.alert, among: heirs) ?? heirs.first).map(alert.adopted)
        }
    }

    /// Requires that the owner of each alert can handle the events of its buttons.
    func checkAlerts() throws(NavigationError) {
        for alert in state.alerts {
            guard let owner = state[alert.coordinator], !alert.alert.canBeAnswered(to: owner.type) else { continue }
            throw .impossibleRequest(
                coordinator: owner.name, request: "alert()",
                reason: "a button of “\(alert.alert.title)” sends an event that nobody has any longer, "
                    + "because the coordinator that showed the alert was removed")
        }
    }

    /// Removes the alerts, shown before a signal came, that it has made pointless: those with a button whose event
    /// nobody has any longer, and the questions whether to leave a screen, if a screen is gone or another one is
    /// visible.
    mutating func removePointlessAlerts(among screens: [PlacedScreen]) {
        guard let before = original.alert else { return }
        let keys = Set(screens.map(\.key))
        let isElsewhere =
            state.visible?.key != original.visible?.key || original.screens.contains { !keys.contains($0.key) }
        let known = Set(sequence(first: before, next: \.next).map(\.key))
        state.alerts = state.alerts.filter { alert in
            guard known.contains(alert.key) else { return true }
            if isElsewhere, alert.heldUp != nil || alert.askedFor != nil { return false }
            return state[alert.coordinator].map { alert.alert.canBeAnswered(to: $0.type) } ?? false
        }
    }

    /// Performs a request of a coordinator that was removed, in the name of its nearest living ancestor, if the request
    /// concerns others. Of the rest, a value that can no longer be delivered is refused, so that it is not lost unnoticed.
    mutating func perform(_ request: any Request, ofRemoved id: Int) throws(NavigationError) {
        if request is Deliver {
            throw .impossibleRequest(
                coordinator: removed.last { $0.id == id }?.name ?? "", request: request.name,
                reason: "it was removed by an earlier request")
        }
        guard request.outlivesCoordinator else { return }
        let heirs = heirs(of: id)
        guard let heir = heirs.first.flatMap({ state[$0] }) else { return }
        guard let message = request as? Tell else { return try perform(request, by: heir) }
        performed = (message, heir)
        message.perform(in: &self, toOneOf: heirs[...])
    }
}

extension NavigationState {
    /// The screens that match and the screens in their tabs, the topmost first. Some may be there twice.
    func screensToLeave(where matches: (PlacedScreen) -> Bool) -> [PlacedScreen] {
        var screens: [PlacedScreen] = []
        forEachScreen { if matches($0) { $0.forEachWithin { screens.append($0) } } }
        return screens.reversed()
    }

    /// The alert that the screen's coordinator shows before the screen is left; `nil` if it may be left.
    ///
    /// - Parameter drawn: drawn for the device for which the alert is made; `nil` for the one that this state is drawn for.
    func objection(to screen: PlacedScreen, as drawn: NavigationState? = nil) -> Alert? {
        self[screen.coordinator]?.coordinator.shouldLeave(screen.screen, in: context(as: drawn ?? self))
    }

    /// What goes together: coordinators, all their descendants, the flows that they have presented, the flows above these,
    /// and who was started there.
    ///
    /// - Parameter position: that of the first flow that goes in any case.
    func leaving(with ids: Set<Int>, flowsFrom position: Int) -> Leaving {
        // Most often only screens go.
        if ids.isEmpty, position == presented.count {
            return Leaving(coordinators: [], position: position, screens: [])
        }
        let family = families(of: ids)
        let first = presented.prefix(position).firstIndex { family.contains($0.coordinator) } ?? position
        let all = family.union(guests(ofFlowsFrom: first).map(\.id))
        guard all == family else { return leaving(with: all, flowsFrom: first) }
        var screens: [PlacedScreen] = []
        for flow in presented[first...] { flow.stack.forEachScreen { screens.append($0) } }
        return Leaving(coordinators: family, position: first, screens: screens)
    }

    struct Leaving {
        let coordinators: Set<Int>
        /// That of the first presented flow that goes; all above it go, too.
        let position: Int
        /// Those of the flows.
        let screens: [PlacedScreen]

        func includes(_ screen: PlacedScreen) -> Bool {
            coordinators.contains(screen.coordinator) || screens.contains { $0 === screen }
        }
    }

    /// The ids of coordinators and all their descendants.
    func families(of ids: Set<Int>) -> Set<Int> {
        // Parents come before their children, so one pass finds them all.
        coordinators.reduce(into: ids) { family, coordinator in
            if let parent = coordinator.parent, family.contains(parent) { family.insert(coordinator.id) }
        }
    }
}

/// Removes from a state what a new declaration of the app cannot keep.
extension TransitionRun {
    /// Removes, without asking: coordinators and screens with everything that depends on them, alerts that can no
    /// longer be answered, and a pending link that no longer exists.
    mutating func removeLost(coordinators: Set<Int>, screens: Set<String>) {
        let before = state.coordinators
        let families = state.families(of: coordinators)
        state.alerts = state.alerts.filter { canBeAnswered($0) && !families.contains($0.coordinator) }
        drop(families)
        for coordinator in before where state[coordinator.id] == nil { notifyParent(ofDismissed: coordinator) }
        drop { screens.contains($0.key) }
        // Those who have lost their last screen are the next orphans.
        (gone, notices) = ([], [])
        if let link = state.pendingLink {
            let isUnanswered = link.waitsForAnswer && original.alert != nil && state.alert == nil
            if isUnanswered || (try? app.link(link.path)) == nil { state.pendingLink = nil }
        }
    }

    private func canBeAnswered(_ alert: PresentedAlert) -> Bool {
        if let event = alert.subject, BuiltInEvent(rawValue: event) == nil, !app.hasEvent(event),
            app.aliases[event] == nil
        {
            return false
        }
        return state[alert.coordinator].map { alert.alert.canBeAnswered(to: $0.type) } ?? false
    }

    /// Ends the transition as if no coordinator did anything when it is called.
    mutating func settleWithoutCalls() {
        repeat { agenda = [] } while dismissOrphan(among: state.screens) || removeEmptyPlace()
    }

    /// Removes one tab or one flow that has lost its last screen, or one coordinator whose tab is gone, and with it the
    /// stack on which it was started.
    ///
    /// - Returns: whether there was one to remove.
    mutating func removeEmptyPlace() -> Bool {
        // Nobody has left anything.
        defer { gone = [] }
        if let homeless {
            drop(state.families(of: [homeless.id]))
            notifyParent(ofDismissed: homeless)
            return true
        }
        if let flow = state.presented.firstIndex(where: { $0.stack.screens.isEmpty }) {
            drop(state.families(of: Set(state.guests(ofFlowsFrom: flow).map(\.id))), flowsFrom: flow)
            return true
        }
        for screen in state.screens {
            guard let tabs = screen.tabs, let position = tabs.items.firstIndex(where: { $0.stack.screens.isEmpty })
            else { continue }
            if tabs.items.count == 1 {
                drop { $0.key == screen.key }
            } else {
                state.changeTabs(of: screen.key) { $0.remove(at: position) }
            }
            return true
        }
        return false
    }
}

extension PlacedTabs {
    /// Removes a tab, which must not be the only one. If it was selected, the first of the others is selected instead.
    fileprivate mutating func remove(at position: Int) {
        let kept = items.indices.filter { $0 != position }
        self = rearranged(kept, drawing: items)
    }

    /// The tabs with the ids, labels and order that a migration gave them. Tabs that it left out come last, unchanged.
    func migrated(to labels: [TabLabel]) -> PlacedTabs {
        guard Set(labels.map(\.id)).count == labels.count else { return self }
        let named = labels.compactMap { label in items.firstIndex { $0.stack.id == label.stack } }
        let order = named + items.indices.filter { !named.contains($0) }
        let drawn = items.map { tab in
            labels.first { $0.stack == tab.stack.id }.map { PlacedTab($0, stack: tab.stack) } ?? tab
        }
        return rearranged(order, drawing: drawn)
    }

    /// - Parameter order: the positions, as they are now, in their new order.
    private func rearranged(_ order: [Int], drawing items: [PlacedTab]) -> PlacedTabs {
        let position = { (old: Int) in order.firstIndex(of: old) }
        return PlacedTabs(
            selection: position(selection) ?? 0, items: order.map { items[$0] }, back: back,
            history: history.compactMap(position).filter { $0 != position(selection) ?? 0 })
    }
}
