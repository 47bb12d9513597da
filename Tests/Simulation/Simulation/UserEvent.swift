import Coordinators
import JSONCoding

/// A built-in event, and what it does by its documentation.
struct UserEvent {
    let event: BuiltInEvent
    let payload: JSON?

    /// Whether all that it does is to leave screens, of which delegates hear.
    var leavesScreens: Bool {
        switch event {
        case .back, .backTo, .backToRoot, .selectTab: true
        case .dismiss, .answer, .open, .relaunch, .describeClient: false
        }
    }

    func expectation(on before: Plain) -> Model.Expectation {
        var after = before
        let isForbidden = before.visible?.isForbidden == true
        guard before.alerts.isEmpty else { return .open }
        if before.isOnlyShown, event != .describeClient { return .refused("the device may only look") }
        switch event {
        case .back: return isForbidden ? .refused("the screen forbids it") : back(before)
        case .backTo:
            if isForbidden { return .refused("the screen forbids it") }
            let (key, name) = (payload?["key"]?.string, payload?["name"]?.string)
            for pile in before.visiblePiles.reversed() {
                guard let index = pile.cards.dropLast().lastIndex(where: { $0.key == key || $0.name == name }) else {
                    continue
                }
                after.change(pile.id) { $0.cards.removeSubrange((index + 1)...) }
                return .state(after)
            }
            return .refused("there is no such screen")
        case .backToRoot:
            if isForbidden { return .refused("the screen forbids it") }
            guard let pile = before.visiblePiles.last(where: { $0.cards.count > 1 }) else {
                return .refused("there is nothing to go back to")
            }
            after.change(pile.id) { $0.cards.removeSubrange(1...) }
            return .state(after)
        case .selectTab: return selectTab(before, isForbidden)
        case .dismiss:
            if isForbidden { return .refused("the screen forbids it") }
            let key = payload?["key"]?.string
            let found = key.map { key in before.flows.firstIndex { $0.key == key } } ?? before.flows.indices.last
            guard let position = found, before.flows[position...].allSatisfy(\.isDismissable) else {
                return .refused("there is no flow that may be dismissed")
            }
            after.remove([], flowsFrom: position)
            return .state(after)
        case .answer, .open, .relaunch, .describeClient: return .open
        }
    }

    private func back(_ before: Plain) -> Model.Expectation {
        var after = before
        for pile in before.visiblePiles.reversed() {
            if let card = pile.cards.last, let tabs = card.tabs {
                let previous =
                    switch tabs.back {
                    case .nothing: nil as String?
                    case .firstTab: tabs.items.first?.id == tabs.selected ? nil : tabs.items.first?.id
                    case .history: tabs.history.last
                    }
                if let previous {
                    after.changeTabs(of: card.key) { $0.selected = previous }
                    return .state(after)
                }
            }
            if pile.cards.count > 1 {
                after.change(pile.id) { $0.cards.removeLast() }
                return .state(after)
            }
        }
        guard let flow = before.flows.last, flow.isDismissable else {
            return .refused("there is nothing to go back to")
        }
        after.remove([], flowsFrom: before.flows.count - 1)
        return .state(after)
    }

    private func selectTab(_ before: Plain, _ isForbidden: Bool) -> Model.Expectation {
        var after = before
        for pile in before.visiblePiles.reversed() {
            guard let card = pile.cards.last, let tabs = card.tabs else { continue }
            let index = payload?["index"]?.integer
            let id =
                payload?["tab"]?.string ?? index.flatMap { tabs.items.indices.contains($0) ? tabs.items[$0].id : nil }
            guard let id, let item = tabs.items.first(where: { $0.id == id }) else { continue }
            if id == tabs.selected {
                if !isForbidden { after.change(item.stack.id) { $0.cards.removeSubrange(min(1, $0.cards.count)...) } }
                return .state(after)
            }
            // A delegate is asked first.
            if before[card.owner]?.kind != .alpha { return .open }
            after.changeTabs(of: card.key) { $0.selected = id }
            return .state(after)
        }
        return .refused("there is no such tab")
    }
}

extension Plain {
    /// How the screens and flows differ from the expected ones; coordinators and work may still have to go.
    func differenceOfScreens(to expected: Plain) -> String? {
        var (own, other) = (self, expected)
        (own.nodes, other.nodes) = ([], [])
        (own.work, other.work) = ([], [])
        (own.alerts, other.alerts) = ([], [])
        return own.difference(to: other, without: [])
    }
}
