import Coordinators

/// What each request of `Navigator` does, by its documentation.
enum Model {
    enum Expectation {
        case state(Plain)
        /// The request cannot be performed.
        case refused(String)
        /// The documentation leaves it open, or the model does.
        case open
    }

    /// - Parameters:
    ///   - node: the coordinator that makes the request.
    ///   - before: the state when it is performed.
    static func perform(_ issued: Issued, by node: Plain.Node, on before: Plain, limits: Limits) -> Expectation {
        var after = before
        let command = issued.command
        let place = before.place(of: node)
        let pile = before.pile(place)
        switch command.word {
        case .push, .pushNew, .pushTabs, .replace, .setStack, .pop, .popTo, .popToOrPush, .popToKey, .popToRoot:
            guard let pile else { return .refused("its stack is gone") }
            return stack(issued, by: node, pile, after, limits)
        case .update, .updateKey:
            let own = before.cards.last {
                $0.owner == node.id && (command.word == .update ? $0.name : $0.key) == issued.text
            }
            guard let own else { return .refused("no such screen") }
            let text = Actors.params(command.look ?? Look())["text"]
            after.changeCard(own.key) { $0.params["text"] = text }
        case .invalidateContent, .invalidateKey: return .open
        case .selectTab, .setBadge:
            let own = before.cards.filter { card in
                card.owner == node.id && card.tabs?.items.contains { $0.id == issued.text } == true
            }
            guard let card = own.last else { return .refused("no such tab") }
            guard own.count == 1 else { return .open }
            if command.word == .selectTab { after.changeTabs(of: card.key) { $0.selected = issued.text } }
        case .setTabs: return setTabs(issued, by: node, after)
        case .start:
            guard pile != nil else { return .refused("its stack is gone") }
            after.nodes.append(Plain.Node(id: -1, parent: node.id, home: place, kind: .any, name: issued.child))
        case .present where command.look != nil:
            let pile = Plain.Pile(id: -1, cards: [card(command.look ?? Look(), node.id)])
            after.flows.append(Plain.Flow(key: "?", owner: node.id, isDismissable: command.isOn ?? true, pile: pile))
        case .present:
            after.nodes.append(Plain.Node(id: -1, parent: node.id, home: -1, kind: .any, name: issued.child))
            after.flows.append(
                Plain.Flow(
                    key: "?", owner: -1, isDismissable: command.isOn ?? (command.at != 1), pile: Plain.Pile(id: -1)))
        case .dismiss:
            if let own = before.flow(of: place) { after.remove([], flowsFrom: own) }
        case .dismissPresented:
            let above = before.flow(of: node.home).map { $0 + 1 } ?? 0
            after.remove([], flowsFrom: above)
        case .alert:
            let buttons = (command.buttons ?? [ButtonSpec(id: 0)]).map(\.id)
            guard !buttons.isEmpty, Set(buttons).count == buttons.count else { return .refused("buttons") }
            guard before.alerts.isEmpty || before.alerts.count < limits.alerts else { return .refused("alerts") }
            after.alerts.append(Plain.Alert(key: "?", owner: node.id))
        case .dismissAlerts: after.alerts = []
        case .finish:
            guard node.parent != nil else { return .refused("the root") }
            after.remove([node.id])
        case .deliver: if node.parent == nil { return .refused("the root") }
        case .endChildren: after.remove(Set(before.children(node.id).map(\.id)))
        case .move, .moveToStack, .presentMoving: return move(issued, by: node, after, limits)
        case .perform, .schedule, .scheduleAt, .scheduleWhenIdle:
            after.work.removeAll { $0.id == issued.text && $0.owner == node.id }
            guard after.work.count(where: { !$0.isCleanUp }) < limits.pending else { return .refused("work") }
            after.work.append(Plain.Work(id: issued.text, owner: node.id, isCleanUp: false))
        case .cancel: after.work.removeAll { $0.id == issued.text && $0.owner == node.id }
        case .requestPairingCode, .rotateToken: return .open
        case .tell, .tellChildren, .revokeDevice, .signIn, .signOut, .endSessions: break
        case .look, .resolve, .share, .remember, .guardScreens, .enable, .conduct, .fail, .refuse: return .open
        }
        return .state(after)
    }

    static func understands(_ kind: Kind?, _ other: Kind?) -> Bool { kind == nil || kind == .any || kind == other }

    private static func stack(
        _ issued: Issued, by node: Plain.Node, _ pile: Plain.Pile, _ state: Plain, _ limits: Limits
    ) -> Expectation {
        var after = state
        let command = issued.command
        let new = card(command.look ?? Look(), node.id)
        func grown(_ after: Plain) -> Expectation {
            after.pile(pile.id).map { $0.cards.count > limits.stack } == true
                ? .refused("the stack is full") : .state(after)
        }
        func cut(to count: Int) -> Expectation {
            after.change(pile.id) { $0.cards.removeSubrange(count...) }
            return .state(after)
        }
        switch command.word {
        case .push:
            after.change(pile.id) { $0.cards.append(new) }
            return grown(after)
        case .pushNew:
            if let top = pile.cards.last, top.owner == node.id, top.name == new.name, top.params == new.params {
                return .state(after)
            }
            after.change(pile.id) { $0.cards.append(new) }
            return grown(after)
        case .pushTabs:
            guard !issued.tabs.isEmpty, Set(issued.tabs).count == issued.tabs.count, issued.tabs.contains(issued.text)
            else { return .refused("tabs") }
            let items = zip(issued.tabs, command.tabs ?? []).map { id, spec in (id, newPile(spec, node.id)) }
            var card = new
            card.tabs = Plain.Tabs(selected: issued.text, items: items)
            after.change(pile.id) { $0.cards.append(card) }
            for spec in command.tabs ?? [] where spec.look == nil {
                after.nodes.append(Plain.Node(id: -1, parent: node.id, home: -1, kind: .any, name: ""))
            }
            return grown(after)
        case .pop:
            if pile.cards.isEmpty { return .open }
            guard pile.cards.count > 1, let top = pile.cards.last else { return .state(after) }
            guard state.lineage(top.owner).contains(node.id) else { return .refused("another flow's") }
            return cut(to: pile.cards.count - 1)
        case .popTo, .popToOrPush, .popToKey:
            let index = pile.cards.lastIndex { (command.word == .popToKey ? $0.key : $0.name) == issued.text }
            if let index { return cut(to: index + 1) }
            guard command.word == .popToOrPush else { return .refused("no such screen") }
            after.change(pile.id) { $0.cards.append(new) }
            return grown(after)
        case .popToRoot: return pile.cards.isEmpty ? .open : cut(to: 1)
        case .replace:
            guard pile.cards.last?.owner == node.id else { return .refused("not its own") }
            after.change(pile.id) { $0.cards[$0.cards.count - 1] = new }
            return .state(after)
        default:
            let looks = command.looks ?? []
            guard !looks.isEmpty else { return .refused("no screen") }
            let first = pile.cards.firstIndex { $0.owner == node.id }
            after.change(pile.id) { pile in
                if let first { pile.cards.removeSubrange(first...) }
                pile.cards += looks.map { card($0, node.id) }
            }
            return grown(after)
        }
    }

    private static func card(_ look: Look, _ owner: Int) -> Plain.Card {
        Plain.Card(key: "?", name: "s\(look.name)", params: Actors.params(look), owner: owner)
    }

    private static func newPile(_ spec: TabSpec, _ owner: Int) -> Plain.Pile {
        Plain.Pile(id: -1, cards: spec.look.map { [card($0, owner)] } ?? [])
    }

    private static func setTabs(_ issued: Issued, by node: Plain.Node, _ state: Plain) -> Expectation {
        let specs = issued.command.tabs ?? []
        guard !specs.isEmpty, Set(issued.tabs).count == specs.count else { return .refused("tabs") }
        let own = state.cards.filter { $0.owner == node.id && $0.tabs != nil }
        guard let card = own.last, let tabs = card.tabs else { return .refused("no tabs") }
        guard own.count == 1 else { return .open }
        var after = state
        var piles: Set<Int> = []
        for item in tabs.items where !issued.tabs.contains(item.id) { item.stack.forEachPile { piles.insert($0.id) } }
        after.remove(Set(state.nodes.filter { piles.contains($0.home) }.map(\.id)))
        for spec in specs where spec.look == nil {
            // Only a tab that is new starts its child; whether one that was emptied is, depends on who may still use it.
            if tabs.items.contains(where: { $0.id == "t\(spec.id)" && $0.stack.cards.isEmpty }) { return .open }
            if !tabs.items.contains(where: { $0.id == "t\(spec.id)" }) {
                after.nodes.append(Plain.Node(id: -1, parent: node.id, home: -1, kind: .any, name: ""))
            }
        }
        var isOpen = false
        after.changeTabs(of: card.key) { tabs in
            let before = tabs.items
            let position = before.firstIndex { $0.id == tabs.selected } ?? 0
            if before.contains(where: { $0.stack.cards.isEmpty }) { isOpen = true }
            tabs.items = zip(issued.tabs, specs).map { id, spec in
                (id, before.first { $0.id == id }?.stack ?? newPile(spec, node.id))
            }
            if !issued.tabs.contains(tabs.selected) {
                tabs.selected = tabs.items[min(position, tabs.items.count - 1)].id
            }
        }
        return isOpen ? .open : .state(after)
    }

    private static func move(
        _ issued: Issued, by node: Plain.Node, _ state: Plain, _ limits: Limits
    ) -> Expectation {
        let kind = issued.command.kind ?? .alpha
        guard let child = state.children(node.id).last(where: { $0.kind == kind }) else { return .refused("no child") }
        let family = state.family([child.id])
        guard let source = state.pile(child.home) else { return .open }
        let moved = source.cards.filter { family.contains($0.owner) }
        guard !moved.isEmpty else { return .refused("no screen") }
        // The reasons to refuse are many; what is moved must be whole.
        if state.flows.contains(where: { family.contains($0.owner) }) { return .open }
        let isEmptied = moved.count == source.cards.count
        var after = state
        func settle(on target: Int) {
            for index in after.nodes.indices
            where after.nodes[index].home == source.id && family.contains(after.nodes[index].id) {
                after.nodes[index].home = target
            }
        }
        let target: Int
        switch issued.command.word {
        case .moveToStack: target = state.place(of: node)
        case .move:
            let own = state.cards.filter { card in
                card.owner == node.id && card.tabs?.items.contains { $0.id == issued.text } == true
            }
            guard own.count == 1, let item = own[0].tabs?.items.first(where: { $0.id == issued.text }) else {
                return own.isEmpty ? .refused("no such tab") : .open
            }
            target = item.stack.id
        default:
            if isEmptied { return .refused("it would be empty") }
            after.change(source.id) { pile in pile.cards.removeAll { card in moved.contains { $0.key == card.key } } }
            after.flows.append(
                Plain.Flow(
                    key: "?", owner: child.id, isDismissable: true, pile: Plain.Pile(id: -1, cards: moved)))
            settle(on: -1)
            return .state(after)
        }
        if target == source.id { return .open }
        if isEmptied { return .refused("it would be empty") }
        after.change(source.id) { pile in pile.cards.removeAll { card in moved.contains { $0.key == card.key } } }
        after.change(target) { $0.cards += moved }
        settle(on: target)
        if after.pile(target).map({ $0.cards.count > limits.stack }) == true { return .refused("the stack is full") }
        // A flow cannot be moved into itself.
        return after.cards.count == state.cards.count ? .state(after) : .open
    }
}
