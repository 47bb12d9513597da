/// Taking away, and asking first.
extension TransitionRun {
    /// Takes screens away, unless a coordinator wants to be asked first.
    ///
    /// - Parameter asker: the coordinator that asks for it; `nil` for the user.
    mutating func removeScreens(_ screens: ArraySlice<PlacedScreen>, by asker: Int?) {
        removeScreens(by: asker) { screen in screens.contains { $0 === screen } }
    }

    /// The same of all that match.
    mutating func removeScreens(by asker: Int?, where matches: (PlacedScreen) -> Bool) {
        guard !isHeldUp(by: asker, where: matches) else { return }
        takeAwayScreens(where: matches)
    }

    /// Ends coordinators and their descendants, with their screens, their alert and the flows that they were presented
    /// in, and everything over these; unless a coordinator wants to be asked first.
    ///
    /// - Parameter finisher: the one of them that finishes.
    /// - Returns: whether that was done.
    @discardableResult
    mutating func remove(_ ids: Set<Int>, by asker: Int?, finisher: Int? = nil) -> Bool {
        let ids = state.families(of: ids)
        guard !isHeldUp(by: asker, where: { ids.contains($0.coordinator) }) else { return false }
        end(ids, finisher: finisher)
        return true
    }

    /// Dismisses the flow at that position and all above it; the parents of their coordinators are told.
    mutating func dismissFlows(from position: Int, by asker: Int?) {
        let coordinators = state.presented[position...].map(\.coordinator)
        let told = coordinators.compactMap { state[$0] }.filter { coordinator in
            coordinator.parent.map { !state.families(of: Set(coordinators)).contains($0) } ?? false
        }
        guard remove(Set(coordinators), by: asker) else { return }
        for coordinator in told { tellParent(ofDismissed: coordinator) }
    }

    /// Whether the screen in sight may be left for another one that covers or replaces it.
    mutating func mayLeaveVisible(by asker: Int?) -> Bool {
        guard let visible = state.visible, objection == nil, !waivesObjections else { return objection == nil }
        return !isHeldUp(visible, by: asker)
    }

    /// What comes of an event that a coordinator wants to ask about first.
    func heldUp() throws(NavigationError) -> TransitionResult {
        var state = original
        guard let objection, let event else {
            return TransitionResult(state: state, transition: Transition(event: nil))
        }
        try check(objection.alert) { reason in
            .impossibleRequest(
                coordinator: original[objection.coordinator]?.name ?? "", request: "an answer to shouldLeave",
                reason: reason)
        }
        let key = state.nextKey("a")
        state.alert = PresentedAlert(
            key: key, alert: objection.alert, coordinator: objection.coordinator,
            heldUp: PostedEvent(event.type, payload: event.payload))
        guard state.isWithinNumbers else { throw .stateLimit }
        return TransitionResult(
            state: state, transition: Transition(event: event.type, operations: [.alert(key: key)]))
    }

    /// Asks the coordinators of the screens that match and of those in their tabs, the topmost first. Who acts on its own
    /// is not asked, nor is anybody about a screen that the user has not seen yet.
    mutating func isHeldUp(by asker: Int?, where matches: (PlacedScreen) -> Bool) -> Bool {
        guard objection == nil, !waivesObjections else { return objection != nil }
        var asked: [PlacedScreen] = []
        state.forEachScreen { if matches($0) { $0.forEachWithin { asked.append($0) } } }
        for screen in asked.reversed() where isHeldUp(screen, by: asker) { return true }
        return false
    }

    private mutating func isHeldUp(_ screen: PlacedScreen, by asker: Int?) -> Bool {
        guard screen.coordinator != asker, let owner = state[screen.coordinator],
            let alert = owner.coordinator.shouldLeave(screen.screen),
            original.screens.contains(where: { $0.key == screen.key })
        else { return false }
        objection = (owner.id, alert)
        agenda = []
        return true
    }

    /// Ends coordinators without asking.
    ///
    /// - Parameter finisher: the one of them that finishes; the others are dismissed.
    mutating func end(_ ids: Set<Int>, finisher: Int? = nil) {
        // What lies over a flow goes with it.
        if let position = state.presented.firstIndex(where: { ids.contains($0.coordinator) }) {
            let above = state.families(of: Set(state.presented[position...].map(\.coordinator)))
            guard above.isSubset(of: ids) else { return end(ids.union(above), finisher: finisher) }
            for flow in state.presented[position...].reversed() { operations.append(.dismiss(key: flow.key)) }
            state.presented.removeSubrange(position...)
        }
        for coordinator in state.coordinators.reversed()
        where ids.contains(coordinator.id) && coordinator.id != finisher {
            dismissed.append(coordinator.name)
        }
        state.coordinators.removeAll { ids.contains($0.id) }
        takeAwayScreens { ids.contains($0.coordinator) }
        if let alert = state.alert, ids.contains(alert.coordinator) { dismissAlert() }
    }

    private mutating func takeAwayScreens(where matches: (PlacedScreen) -> Bool) {
        var removed: [String] = []
        state.stack.removeScreens(where: matches, into: &removed)
        for index in state.presented.indices {
            state.presented[index].stack.removeScreens(where: matches, into: &removed)
        }
        for key in removed { operations.append(.pop(key: key)) }
    }

    mutating func dismissAlert() {
        guard let alert = state.alert else { return }
        state.alert = nil
        operations.append(.dismissAlert(key: alert.key))
    }
}

extension NavigationState {
    /// Coordinators and their descendants. Parents stand before their children, so one pass finds them.
    func families(of ids: Set<Int>) -> Set<Int> {
        coordinators.reduce(into: ids) { family, coordinator in
            if let parent = coordinator.parent, family.contains(parent) { family.insert(coordinator.id) }
        }
    }
}
