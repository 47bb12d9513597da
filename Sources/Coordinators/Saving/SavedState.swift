internal import JSONCoding

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
struct SavedState: JSONReadable {
    let lastKey: Int
    let lastID: Int
    let defaults: JSONObject
    let coordinators: [SavedCoordinator]
    let stack: SavedStack
    let presented: [SavedFlow]?
    let alert: SavedAlert?
    let pendingLink: PendingLink?
    let client: ClientInfo
    let shared: JSONObject

    init(json: JSON) throws(JSONDecodingError) {
        lastKey = try json.count("lastKey")
        lastID = try json.count("lastID")
        defaults = try json.member("defaults")
        coordinators = try json.member("coordinators")
        stack = try json.member("stack")
        presented = try json.member(ifAny: "presented")
        alert = try json.member(ifAny: "alert")
        pendingLink = try json.member(ifAny: "pendingLink")
        shared = try json.member(ifAny: "shared") ?? [:]
        client =
            try json.member(ifAny: "client").map { (client: JSON) throws(JSONDecodingError) in
                try ClientInfo(client)
            } ?? .none
    }
}

struct SavedCoordinator: JSONReadable {
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

struct SavedStack: JSONReadable {
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

struct SavedScreen: JSONReadable {
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

struct SavedTabs: JSONReadable {
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

struct SavedTab: JSONReadable {
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

struct SavedFlow: JSONReadable {
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

struct SavedAlert: JSONReadable {
    let restored: PresentedAlert

    init(json: JSON) throws(JSONDecodingError) {
        let alert = Alert(
            try json.member("title"), message: try json.member(ifAny: "message"), buttons: try json.member("buttons"))
        restored = PresentedAlert(
            key: try json.member("key"), alert: alert, coordinator: try json.count("coordinator"),
            heldUp: try json.member(ifAny: "heldUp"))
    }
}
