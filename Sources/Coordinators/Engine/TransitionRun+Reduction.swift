/// Takes from a state what a new declaration of the app cannot keep.
extension TransitionRun {
    /// Removes coordinators and screens with all that depends on them, without asking, an alert that cannot be answered
    /// any longer, and a link that no longer exists.
    mutating func reduce(coordinators: Set<Int>, screens: Set<String>) {
        let before = state.coordinators
        end(state.families(of: coordinators))
        for coordinator in before where state[coordinator.id] == nil { tellParent(ofDismissed: coordinator) }
        removeScreensWithoutAsking { screens.contains($0.key) }
        if let alert = state.alert, !canBeAnswered(alert) { dismissAlert() }
        if let link = state.pendingLink, (try? app.link(link.path)) == nil { state.pendingLink = nil }
    }

    private func canBeAnswered(_ alert: PresentedAlert) -> Bool {
        if let event = alert.heldUp?.type, BuiltInEvent(rawValue: event) == nil, !app.hasEvent(event) { return false }
        guard let type = state[alert.coordinator]?.type else { return false }
        return alert.alert.buttons.allSatisfy { $0.event.map(type.accepts) ?? true }
    }

    /// Ends the transition as if no coordinator did anything when it is called.
    mutating func settleWithoutCalls() {
        repeat { agenda = [] } while dismissOrphan(among: state.screens) || removeEmptyPlace()
    }

    /// Removes one tab or one flow that has lost its last screen, or a coordinator that has lost the stack on which it was
    /// started, because its tab is gone; with the flows that it has presented.
    ///
    /// - Returns: whether there was one.
    mutating func removeEmptyPlace() -> Bool {
        if let homeless = state.coordinators.first(where: { state.stack($0.home) == nil }) {
            end(state.families(of: [homeless.id]))
            tellParent(ofDismissed: homeless)
            return true
        }
        if let flow = state.presented.first(where: { $0.stack.screens.isEmpty }) {
            end(state.families(of: [flow.coordinator]))
            return true
        }
        for screen in state.screens {
            guard let tabs = screen.tabs, let position = tabs.items.firstIndex(where: { $0.stack.screens.isEmpty })
            else { continue }
            if tabs.items.count == 1 {
                removeScreensWithoutAsking { $0.key == screen.key }
            } else {
                let selected = tabs.selected.id
                state.changeTabs(of: screen.key) { $0.remove(at: position) }
                operations.append(.update(key: screen.key))
                if position == tabs.selection, let tab = state.tabs(of: screen.key)?.selected.id, tab != selected {
                    operations.append(.selectTab(key: screen.key, tab: tab))
                }
            }
            return true
        }
        return false
    }
}

extension NavigationState {
    fileprivate func tabs(of key: String) -> PlacedTabs? { screens.first { $0.key == key }?.tabs }
}

extension PlacedTabs {
    /// Removes a tab; there must be another. If it is selected, the first one is selected instead.
    fileprivate mutating func remove(at position: Int) {
        let kept = items.indices.filter { $0 != position }
        self = rearranged(kept, drawing: items)
    }

    /// The tabs with the ids, labels and order that a migration has given them. Tabs that it has left out come last,
    /// as they are.
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
            order.map { items[$0] }, selection: position(selection) ?? 0, back: back,
            history: history.compactMap(position).filter { $0 != position(selection) ?? 0 })
    }
}
