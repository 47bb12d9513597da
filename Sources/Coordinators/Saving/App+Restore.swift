public import JSONCoding

/// Why a saved state cannot be restored.
public enum RestoreError: Error, Equatable, Sendable {
    /// The text is not what `NavigationState.encoded` writes.
    case damaged(JSONDecodingError)
    /// A newer version of the app saved it.
    case newer(version: Int)
    /// The app no longer has a coordinator of that name.
    case unknownCoordinator(name: String)
    /// A coordinator's saved state no longer fits its type.
    case incompatible(coordinator: String, JSONDecodingError)
}

extension App {
    /// Restores an encoded state; the result is equal to the original. No handler is called.
    public func restore(_ saved: JSON) throws(RestoreError) -> NavigationState {
        let version: Int
        let parts: SavedState
        do {
            version = try saved.count("version")
            parts = try SavedState(json: saved)
        } catch {
            throw .damaged(error)
        }
        guard version <= self.version else { throw .newer(version: version) }
        var state = NavigationState()
        for coordinator in parts.coordinators { state.coordinators.append(try restore(coordinator, from: version)) }
        do {
            try state.restore(parts)
        } catch {
            throw .damaged(error)
        }
        guard (try? state.checkInvariants()) != nil, state.isSound else {
            throw .damaged(JSONDecodingError(path: [], reason: "contradicts itself"))
        }
        return state
    }

    private func restore(
        _ saved: SavedCoordinator, from version: Int
    ) throws(RestoreError) -> LivingCoordinator {
        guard let type = types.first(where: { $0.name == saved.name }) else {
            throw .unknownCoordinator(name: saved.name)
        }
        let coordinator: any Coordinator
        do {
            coordinator = try type.restore(saved.state, from: version)
        } catch {
            throw .incompatible(coordinator: saved.name, error)
        }
        do {
            return try LivingCoordinator(
                id: saved.id, parent: saved.parent, home: saved.home, type: type, coordinator: coordinator,
                saved: version == self.version ? saved.state : nil)
        } catch {
            throw .damaged(JSONDecodingError(path: ["coordinators"], reason: "cannot be encoded again"))
        }
    }
}

extension NavigationState {
    /// Restores everything but the coordinators, which have been restored already.
    fileprivate mutating func restore(_ saved: SavedState) throws(JSONDecodingError) {
        lastKey = saved.lastKey
        lastID = saved.lastID
        defaults = Defaults(saved.defaults)
        stack = try saved.stack.restored(in: self)
        for flow in saved.presented ?? [] { presented.append(try flow.restored(in: self)) }
        alert = saved.alert?.restored
        pendingLink = saved.pendingLink
        client = saved.client
    }

    /// Whether every number occurs once and will not be given out again, and whether the root and every flow has the
    /// stack on which it was started.
    fileprivate var isSound: Bool {
        var stacks: [Int] = []
        stack.forEachStack { stacks.append($0.id) }
        for flow in presented { flow.stack.forEachStack { stacks.append($0.id) } }
        // A key is a letter and a number.
        var keys = screens.map { Int($0.key.dropFirst()) }
        keys += presented.map { Int($0.key.dropFirst()) }
        if let alert { keys.append(Int(alert.key.dropFirst())) }
        let numbers = keys.compactMap(\.self)
        return numbers.count == keys.count && numbers.areDistinct(upTo: lastKey)
            && coordinators.map(\.id).areDistinct(upTo: lastID) && stacks.areDistinct(upTo: lastID)
            && coordinators.first?.parent == nil && coordinators.first?.home == stack.id
            && presented.allSatisfy { self[$0.coordinator]?.home == $0.stack.id }
    }
}

extension [Int] {
    fileprivate func areDistinct(upTo limit: Int) -> Bool {
        let sorted = sorted()
        return sorted.first ?? 0 >= 0 && sorted.last ?? 0 <= limit
            && zip(sorted, sorted.dropFirst()).allSatisfy { $0 < $1 }
    }
}

extension JSON {
    /// The value of a member that is a counter. It is at most `numberLimit`, so that adding to it does not overflow.
    func count(_ name: String) throws(JSONDecodingError) -> Int {
        guard let count = try count(ifAny: name) else { throw JSONDecodingError(path: [], reason: "lacks “\(name)”") }
        return count
    }

    func count(ifAny name: String) throws(JSONDecodingError) -> Int? {
        guard let count: Int = try member(ifAny: name) else { return nil }
        guard (0...NavigationState.numberLimit).contains(count) else {
            throw JSONDecodingError(path: [name], reason: "must be an integer in range")
        }
        return count
    }
}

/// The saved form, as `NavigationState.encoded` writes it.
private struct SavedState: JSONReadable {
    let lastKey: Int
    let lastID: Int
    let defaults: JSONObject
    let coordinators: [SavedCoordinator]
    let stack: SavedStack
    let presented: [SavedFlow]?
    let alert: SavedAlert?
    let pendingLink: PendingLink?
    let client: ClientInfo

    init(json: JSON) throws(JSONDecodingError) {
        lastKey = try json.count("lastKey")
        lastID = try json.count("lastID")
        defaults = try json.member("defaults")
        coordinators = try json.member("coordinators")
        stack = try json.member("stack")
        presented = try json.member(ifAny: "presented")
        alert = try json.member(ifAny: "alert")
        pendingLink = try json.member(ifAny: "pendingLink")
        client =
            try json.member(ifAny: "client").map { (client: JSON) throws(JSONDecodingError) in
                try ClientInfo(client)
            } ?? .none
    }
}

private struct SavedCoordinator: JSONReadable {
    let id: Int
    let parent: Int?
    let home: Int
    let name: String
    let state: JSON

    init(json: JSON) throws(JSONDecodingError) {
        id = try json.count("id")
        parent = try json.count(ifAny: "parent")
        home = try json.count("home")
        name = try json.member("name")
        state = try json.member("state")
    }
}

private struct SavedStack: JSONReadable {
    let id: Int
    let screens: [SavedScreen]

    init(json: JSON) throws(JSONDecodingError) {
        id = try json.count("id")
        screens = try json.member("screens")
    }

    func restored(in state: NavigationState) throws(JSONDecodingError) -> ScreenStack {
        var stack = ScreenStack(id: id)
        for screen in screens { stack.screens.append(try screen.restored(in: state)) }
        return stack
    }
}

private struct SavedScreen: JSONReadable {
    let key: String
    let screen: Screen
    let coordinator: Int
    let tabs: SavedTabs?

    init(json: JSON) throws(JSONDecodingError) {
        key = try json.member("key")
        screen = try Screen(json: json)
        coordinator = try json.count("coordinator")
        tabs = try json.member(ifAny: "tabs")
    }

    func restored(in state: NavigationState) throws(JSONDecodingError) -> PlacedScreen {
        guard let coordinator = state[coordinator] else {
            throw JSONDecodingError(path: ["stack"], reason: "has a screen without a coordinator")
        }
        return PlacedScreen(key: key, screen: screen, coordinator: coordinator, tabs: try tabs?.restored(in: state))
    }
}

private struct SavedTabs: JSONReadable {
    let selection: Int
    let back: TabBackRule?
    let history: [Int]
    let items: [SavedTab]

    init(json: JSON) throws(JSONDecodingError) {
        selection = try json.member("selection")
        back = try json.member(ifAny: "back")
        history = try json.member(ifAny: "history") ?? []
        items = try json.member("items")
        guard ([selection] + history).allSatisfy(items.indices.contains) else {
            throw JSONDecodingError(path: ["selection"], reason: "is not acceptable")
        }
    }

    func restored(in state: NavigationState) throws(JSONDecodingError) -> PlacedTabs {
        var tabs: [PlacedTab] = []
        for item in items {
            tabs.append(
                PlacedTab(
                    id: item.id, title: item.title, icon: item.icon, badge: item.badge,
                    stack: try item.stack.restored(in: state)))
        }
        return PlacedTabs(tabs, selection: selection, back: back ?? .nothing, history: history)
    }
}

private struct SavedTab: JSONReadable {
    let id: String
    let title: String?
    let icon: String?
    let badge: String?
    let stack: SavedStack

    init(json: JSON) throws(JSONDecodingError) {
        id = try json.member("id")
        title = try json.member(ifAny: "title")
        icon = try json.member(ifAny: "icon")
        badge = try json.member(ifAny: "badge")
        stack = try json.member("stack")
    }
}

private struct SavedFlow: JSONReadable {
    let key: String
    let presentation: Presentation
    let coordinator: Int
    let stack: SavedStack

    init(json: JSON) throws(JSONDecodingError) {
        key = try json.member("key")
        presentation = Presentation(
            style: try json.member("style"), detent: try json.member(ifAny: "detent"),
            isDismissable: try json.member(ifAny: "isDismissable") ?? true)
        coordinator = try json.count("coordinator")
        stack = try json.member("stack")
    }

    func restored(in state: NavigationState) throws(JSONDecodingError) -> PresentedFlow {
        PresentedFlow(
            key: key, presentation: presentation, stack: try stack.restored(in: state), coordinator: coordinator)
    }
}

private struct SavedAlert: JSONReadable {
    let restored: PresentedAlert

    init(json: JSON) throws(JSONDecodingError) {
        let alert = Alert(
            try json.member("title"), message: try json.member(ifAny: "message"), buttons: try json.member("buttons"))
        restored = PresentedAlert(
            key: try json.member("key"), alert: alert, coordinator: try json.count("coordinator"),
            heldUp: try json.member(ifAny: "heldUp"))
    }
}
