package import Coordinators
import JSONCoding

/// A state as lists: what the model works on.
package struct Plain: Equatable {
    struct Node: Equatable {
        let id: Int
        let parent: Int?
        var home: Int
        let kind: Kind
        let name: String
    }

    struct Card: Equatable {
        var key: String
        let name: String
        var params: JSONObject = [:]
        let owner: Int
        var isForbidden = false
        var tabs: Tabs?
    }

    struct Tabs: Equatable {
        var selected: String
        var items: [(id: String, stack: Pile)]
        var back = TabBackRule.nothing
        var history: [String] = []

        static func == (left: Tabs, right: Tabs) -> Bool {
            left.selected == right.selected
                && left.items.elementsEqual(right.items) { $0.id == $1.id && $0.stack == $1.stack }
        }

        var selection: Pile? { items.first { $0.id == selected }?.stack }
    }

    struct Pile: Equatable {
        var id: Int
        var cards: [Card] = []
    }

    struct Flow: Equatable {
        var key: String
        var owner: Int
        var isDismissable: Bool
        var pile: Pile
    }

    struct Work: Equatable {
        let id: String
        let owner: Int
        let isCleanUp: Bool
    }

    struct Alert: Equatable {
        let key: String
        /// Who gets the events of its buttons.
        var owner: Int
    }

    var nodes: [Node]
    var main: Pile
    var flows: [Flow]
    /// The one that is shown comes first.
    var alerts: [Alert]
    var work: [Work]
    /// Whether the device that sees it may do nothing.
    var isOnlyShown: Bool

    /// The coordinators' own names.
    package var names: [String] { nodes.map(\.name) }

    package init(_ state: NavigationState) {
        nodes = state.coordinators.map { living in
            Node(
                id: living.id, parent: living.parent, home: living.home, kind: Kind(rawValue: living.name) ?? .any,
                name: Actors.me(of: living.coordinator)?.name ?? "")
        }
        main = Pile(state.stack)
        flows = state.presented.map {
            Flow(key: $0.key, owner: $0.coordinator, isDismissable: $0.isDismissable, pile: Pile($0.stack))
        }
        alerts = []
        if state.alert != nil { alerts = state.alerts.map { Alert(key: $0.key, owner: $0.coordinator) } }
        work = state.pending.map { Work(id: $0.id, owner: $0.coordinator, isCleanUp: $0.cleanUp != nil) }
        let roles = state.visible?.screen.roles.map(\.name) ?? []
        isOnlyShown = state.role?.name == "display" || !roles.isEmpty && !roles.contains(state.role?.name ?? "")
    }
}

extension Plain.Pile {
    fileprivate init(_ stack: ScreenStack) {
        self.init(id: stack.id, cards: stack.screens.map(Plain.Card.init))
    }

    var innermost: Plain.Pile { cards.last?.tabs?.selection?.innermost ?? self }

    /// Visits each screen, those in tabs after the one that has them.
    func visitCards(_ visit: (Plain.Card) -> Void) {
        for card in cards {
            visit(card)
            for item in card.tabs?.items ?? [] { item.stack.visitCards(visit) }
        }
    }

    func forEachPile(_ visit: (Plain.Pile) -> Void) {
        visit(self)
        for card in cards { for item in card.tabs?.items ?? [] { item.stack.forEachPile(visit) } }
    }

    /// Changes the stack of that id, here or in a tab.
    mutating func change(_ pile: Int, _ change: (inout Plain.Pile) -> Void) {
        if id == pile { return change(&self) }
        for index in cards.indices where cards[index].tabs != nil {
            for item in cards[index].tabs?.items.indices ?? 0..<0 {
                cards[index].tabs?.items[item].stack.change(pile, change)
            }
        }
    }

    /// Removes the screens that match, here and in tabs.
    mutating func remove(where matches: (Plain.Card) -> Bool) {
        cards.removeAll(where: matches)
        for index in cards.indices where cards[index].tabs != nil {
            for item in cards[index].tabs?.items.indices ?? 0..<0 {
                cards[index].tabs?.items[item].stack.remove(where: matches)
            }
        }
    }

    mutating func changeCard(_ key: String, _ change: (inout Plain.Card) -> Void) {
        for index in cards.indices {
            if cards[index].key == key { change(&cards[index]) }
            for item in cards[index].tabs?.items.indices ?? 0..<0 {
                cards[index].tabs?.items[item].stack.changeCard(key, change)
            }
        }
    }

    mutating func changeTabs(of key: String, _ change: (inout Plain.Tabs) -> Void) {
        for index in cards.indices {
            guard var tabs = cards[index].tabs else { continue }
            if cards[index].key == key { change(&tabs) }
            for item in tabs.items.indices { tabs.items[item].stack.changeTabs(of: key, change) }
            cards[index].tabs = tabs
        }
    }
}

extension Plain.Card {
    fileprivate init(_ placed: PlacedScreen) {
        key = placed.key
        name = placed.screen.name
        params = placed.screen.params
        owner = placed.coordinator
        isForbidden = placed.screen.back == .forbidden
        tabs = placed.tabs.map { tabs in
            Plain.Tabs(
                selected: tabs.selected.id, items: tabs.items.map { ($0.id, Plain.Pile($0.stack)) }, back: tabs.back,
                history: tabs.history.map { tabs.items[$0].id })
        }
    }
}

extension Plain {
    subscript(id: Int) -> Node? { nodes.first { $0.id == id } }

    var top: Pile { flows.last?.pile ?? main }
    var visible: Card? { top.innermost.cards.last }

    /// All screens, bottom first.
    var cards: [Card] {
        var cards: [Card] = []
        main.visitCards { cards.append($0) }
        for flow in flows { flow.pile.visitCards { cards.append($0) } }
        return cards
    }

    func pile(_ id: Int) -> Pile? {
        var found: Pile?
        main.forEachPile { if $0.id == id { found = $0 } }
        for flow in flows { flow.pile.forEachPile { if $0.id == id { found = $0 } } }
        return found
    }

    /// The visible stacks, the outermost first.
    var visiblePiles: [Pile] {
        var piles = [top]
        while let inner = piles[piles.count - 1].cards.last?.tabs?.selection { piles.append(inner) }
        return piles
    }

    mutating func change(_ pile: Int, _ change: (inout Pile) -> Void) {
        main.change(pile, change)
        for index in flows.indices { flows[index].pile.change(pile, change) }
    }

    mutating func changeTabs(of key: String, _ change: (inout Tabs) -> Void) {
        main.changeTabs(of: key, change)
        for index in flows.indices { flows[index].pile.changeTabs(of: key, change) }
    }

    mutating func changeCard(_ key: String, _ change: (inout Card) -> Void) {
        main.changeCard(key, change)
        for index in flows.indices { flows[index].pile.changeCard(key, change) }
    }

    mutating func removeCards(where matches: (Card) -> Bool) {
        main.remove(where: matches)
        for index in flows.indices { flows[index].pile.remove(where: matches) }
    }

    /// The ids of a coordinator and its ancestors.
    func lineage(_ id: Int) -> [Int] {
        var ids: [Int] = []
        var next: Int? = id
        while let id = next, let node = self[id] {
            ids.append(id)
            next = node.parent
        }
        return ids
    }

    func family(_ ids: Set<Int>) -> Set<Int> {
        var family = ids
        for node in nodes { if let parent = node.parent, family.contains(parent) { family.insert(node.id) } }
        return family
    }

    func children(_ id: Int) -> [Node] { nodes.filter { $0.parent == id } }

    /// The position of the flow that a stack is in.
    func flow(of pile: Int) -> Int? {
        flows.firstIndex { flow in
            var isIn = false
            flow.pile.forEachPile { if $0.id == pile { isIn = true } }
            return isIn
        }
    }

    /// The stack on which a coordinator pushes: that of the visible screen if it is its own, otherwise the one on which
    /// it was started.
    func place(of node: Node) -> Int {
        let innermost = top.innermost
        return innermost.cards.last?.owner == node.id ? innermost.id : node.home
    }

    /// Removes coordinators with their descendants, screens and work, and the flows that present them with all above.
    ///
    /// - Parameter position: that of the first flow that goes in any case.
    mutating func remove(_ ids: Set<Int>, flowsFrom position: Int? = nil) {
        var (ids, first) = (family(ids), position ?? flows.count)
        while true {
            first = flows[..<first].firstIndex { ids.contains($0.owner) } ?? first
            var piles: Set<Int> = []
            for flow in flows[first...] { flow.pile.forEachPile { piles.insert($0.id) } }
            let more = family(ids.union(nodes.filter { piles.contains($0.home) }.map(\.id)))
            if more == ids { break }
            ids = more
        }
        flows.removeSubrange(first...)
        nodes.removeAll { ids.contains($0.id) }
        work.removeAll { ids.contains($0.owner) }
        removeCards { ids.contains($0.owner) }
    }

    /// Removes those who have lost what they were for, with all that they have started.
    mutating func removeBereft(since before: Plain, by asker: Int?) {
        let old = before.places.owners
        while true {
            let new = places
            // Those of whom something is left, or who have not lost anything: children come after their parents.
            var kept: Set<Int> = []
            for node in nodes.reversed()
            where node.id == asker || !old.contains(node.id) || new.owners.contains(node.id) || kept.contains(node.id) {
                kept.insert(node.id)
                if let parent = node.parent { kept.insert(parent) }
            }
            let lost = nodes.first { node in
                node.parent != nil && (!new.piles.contains(node.home) || !kept.contains(node.id))
                    && before[node.id] != nil
            }
            guard let lost else { return }
            remove([lost.id])
        }
    }

    /// Those who have lost what they were for: a coordinator whose last screen has gone, and one whose own stack has.
    func bereft(since before: Plain, by asker: Int?) -> Set<Int> {
        let (old, new) = (before.places, places)
        var parents: Set<Int> = []
        for node in nodes { if let parent = node.parent { parents.insert(parent) } }
        let known = Set(before.nodes.map(\.id))
        var lost: Set<Int> = []
        for node in nodes where node.parent != nil && known.contains(node.id) {
            if !new.piles.contains(node.home) { lost.insert(node.id) }
            guard node.id != asker, !new.owners.contains(node.id), !parents.contains(node.id) else { continue }
            if old.owners.contains(node.id) { lost.insert(node.id) }
        }
        return lost
    }

    /// The ids of all stacks, and of the coordinators that have a screen.
    private var places: (piles: Set<Int>, owners: Set<Int>) {
        var places: (piles: Set<Int>, owners: Set<Int>) = ([], [])
        for pile in [main] + flows.map(\.pile) {
            pile.forEachPile { pile in
                places.piles.insert(pile.id)
                for card in pile.cards { places.owners.insert(card.owner) }
            }
        }
        return places
    }

    /// How this differs from the expected state, in a few words; `nil` if it does not. What is new has a key that the
    /// expected state gives as `?`.
    func difference(to expected: Plain, without doomed: Set<Int>) -> String? {
        let ids = Set(nodes.map(\.id)).subtracting(doomed)
        let expectedIDs = Set(expected.nodes.map(\.id)).subtracting(doomed).subtracting([-1])
        if !expectedIDs.isSubset(of: ids) { return "a coordinator is gone" }
        if ids.count - expectedIDs.count != expected.nodes.count(where: { $0.id == -1 }) {
            return "other coordinators are there"
        }
        for node in nodes where !doomed.contains(node.id) {
            if let other = expected[node.id], other.home != -1, other.home != node.home {
                return "a coordinator's own stack is another one"
            }
        }
        if flows.count != expected.flows.count { return "flows: \(flows.count) instead of \(expected.flows.count)" }
        for (flow, other) in zip(flows, expected.flows) {
            if other.key != "?", flow.key != other.key { return "another flow" }
            if let difference = flow.pile.difference(to: other.pile) { return difference }
        }
        if let difference = main.difference(to: expected.main) { return difference }
        if alerts.count != expected.alerts.count {
            return "alerts: \(alerts.count) instead of \(expected.alerts.count)"
        }
        for (alert, other) in zip(alerts, expected.alerts) where other.key != "?" && alert.key != other.key {
            return "another alert"
        }
        let (own, others) = (work.filter { !$0.isCleanUp }, expected.work.filter { !$0.isCleanUp })
        if own.map(\.id) != others.map(\.id) || own.map(\.owner) != others.map(\.owner) { return "other work" }
        return nil
    }
}

extension Plain.Pile {
    fileprivate func difference(to expected: Plain.Pile) -> String? {
        if cards.count != expected.cards.count { return "a stack of \(cards.count) instead of \(expected.cards.count)" }
        for (card, other) in zip(cards, expected.cards) {
            if other.key != "?", card.key != other.key { return "another screen" }
            if card.name != other.name || card.owner != other.owner { return "another screen" }
            if card.params != other.params { return "a screen has other parameters" }
            if (card.tabs == nil) != (other.tabs == nil) { return "tabs" }
            guard let tabs = card.tabs, let others = other.tabs else { continue }
            if tabs.items.map(\.id) != others.items.map(\.id) { return "other tabs" }
            if tabs.selected != others.selected { return "another tab is selected" }
            for (item, other) in zip(tabs.items, others.items) {
                if let difference = item.stack.difference(to: other.stack) { return difference }
            }
        }
        return nil
    }
}
