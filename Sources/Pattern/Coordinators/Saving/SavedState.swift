internal import JSONCoding

extension JSON {
    /// The value of a member that is a number from 0 to `numberLimit`, so that counting on from it cannot overflow.
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

// The parts of a state as `NavigationState.encoded` writes them, read but not yet restored.

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
        return PlacedTabs(selection: selection, items: tabs, back: back ?? .nothing, history: history)
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
            try json.member("style"), try json.member(ifAny: "detent"),
            isDismissable: try json.member(ifAny: "isDismissable") ?? true)
        coordinator = try json.count("coordinator")
        stack = try json.member("stack")
    }

    func restored(in state: NavigationState) throws(JSONDecodingError) -> PresentedFlow {
        PresentedFlow(
            key: key, presentation: presentation, stack: try stack.restored(in: state), coordinator: coordinator)
    }
}

// Values that can be read without the rest of the state.

extension PresentedAlert: JSONReadable {
    package convenience init(json: JSON) throws(JSONDecodingError) {
        let alert = Alert(
            try json.member("title"), message: try json.member(ifAny: "message"), buttons: try json.member("buttons"))
        let next: PresentedAlert? = try json.member(ifAny: "next")
        self.init(
            key: try json.member("key"), alert: alert, coordinator: try json.count("coordinator"),
            heldUp: try json.member(ifAny: "heldUp"), askedFor: try json.member(ifAny: "askedFor"),
            question: try Question(saved: json["question"]), next: next)
    }
}

extension Screen: JSONReadable {
    package init(json: JSON) throws(JSONDecodingError) {
        let link: String? = try json.member(ifAny: "linkPattern")
        let events: [JSON]? = try json.member(ifAny: "events")
        let buttons: [Control] = try json.member(ifAny: "buttons") ?? []
        let titles: JSONObject? = try json.member(ifAny: "eventTitles")
        let roles: JSONObject? = try json.member(ifAny: "eventRoles")
        let values: JSONObject? = try json.member(ifAny: "eventValues")
        self.init(
            try json.member("name"), title: try json.member(ifAny: "title"),
            params: try json.member(ifAny: "params") ?? [:],
            events: try events?.map { (event: JSON) throws(JSONDecodingError) in
                if let button = event.integer {
                    guard buttons.indices.contains(button) else {
                        throw JSONDecodingError(path: ["events"], reason: "names no button")
                    }
                    return buttons[button]
                }
                let event = try String(json: event)
                let role = roles?[event]?.string.flatMap { Control.Role(rawValue: $0) }
                var control = Control(titles?[event]?.string, role: role, sends: event)
                if let shown = values?[event] { control.values = shown }
                return control
            }, rows: try json.member(ifAny: "rows") ?? [],
            back: try json.member(ifAny: "back") ?? .allowed, link: link.map { LinkPattern($0) },
            hidesNavigationBar: try json.member(ifAny: "hidesNavigationBar") ?? false,
            hasContent: try json.member(ifAny: "hasContent") ?? false)
        contentVersion = try json.count(ifAny: "contentVersion") ?? 0
        let devices: [String]? = try json.member(ifAny: "roles")
        self.roles = devices?.map { DeviceRole($0) } ?? []
    }
}

extension Control: JSONReadable {
    package init(json: JSON) throws(JSONDecodingError) {
        let role: Role? = try json.member(ifAny: "role")
        self.init(json["title"]?.string, role, try json.member("type"), json["payload"])
        isEnabled = try json.member(ifAny: "isEnabled") ?? true
    }
}

extension Row: JSONReadable {
    package init(json: JSON) throws(JSONDecodingError) {
        var own = json
        // The title is the row's, not its control's.
        own["title"] = nil
        self.init(
            title: try json.member("title"), detail: try json.member(ifAny: "detail"),
            isSelected: try json.member(ifAny: "isSelected"),
            control: json["type"] == nil ? nil : try Control(json: own))
    }
}

extension AlertButton: JSONReadable {
    package init(json: JSON) throws(JSONDecodingError) {
        let (id, title): (String, String) = (try json.member("id"), try json.member("title"))
        let role: Role? = try json.member(ifAny: "role")
        let leaves: Bool? = try json.member(ifAny: "leaves")
        self = leaves == true ? .leave(id, title: title, role: role) : AlertButton(id, title: title, role: role)
        event = try json.member(ifAny: "event")
    }
}

extension EncodedEvent: JSONReadable {
    package init(json: JSON) throws(JSONDecodingError) {
        self.init(name: try json.member("name"), payload: try json.member(ifAny: "payload"))
    }
}

extension PostedEvent: JSONReadable {
    package init(json: JSON) throws(JSONDecodingError) {
        self.init(try json.member("type"), payload: try json.member(ifAny: "payload"))
    }
}

extension PendingLink: JSONReadable {
    package init(json: JSON) throws(JSONDecodingError) {
        self.init(
            path: try json.member("path"), coordinator: try json.count(ifAny: "coordinator"),
            flow: try json.member(ifAny: "until"))
    }
}

extension PendingWork: JSONReadable {
    package init(json: JSON) throws(JSONDecodingError) {
        let kind: Kind =
            if let effect = json["effect"] {
                .effect(effect, since: try json.count("since"))
            } else if let cleanUp = json["cleanUp"] {
                .cleanUp(
                    CleanUp(
                        name: try cleanUp.member("name"), state: try cleanUp.member("state"),
                        version: try cleanUp.count("version"), reason: try cleanUp.member("reason"),
                        since: try json.count("since")))
            } else {
                .timer(try json.member("signal"), due: try json.count("due"), idle: try json.count(ifAny: "idle"))
            }
        self.init(
            id: try json.member("id"), number: try json.count("number"), coordinator: try json.count("coordinator"),
            kind: kind)
    }
}

extension RemovalReason: JSONReadable {}
extension BackRule: JSONReadable {}
extension Control.Role: JSONReadable {}
extension TabBackRule: JSONReadable {}
extension AlertButton.Role: JSONReadable {}
extension PresentedFlow.Style: JSONReadable {}
extension PresentedFlow.Detent: JSONReadable {}

extension LivingCoordinator {
    /// The coordinator's properties as they are saved.
    var savedState: JSON { (try? JSON(parsing: encoded, maximumDepth: 512))?["state"] ?? [:] }

    /// The first member of `saved`, a coordinator's saved properties, that this coordinator does not save; `nil` if it
    /// saves them all.
    func memberMissing(of saved: JSON) -> String? {
        let text = JSONWriter.bytes(capacity: encodedSize) { $0.value(saved) }
        if encoded.dropLast().suffix(text.count).elementsEqual(text) { return nil }
        return (try? JSON(parsing: encoded, maximumDepth: 512))?["state"]?.memberMissing(of: saved)
    }
}

extension JSON {
    /// Decodes a value that an earlier declaration of the type saved. `blank` supplies the members that the type
    /// requires and the value lacks.
    ///
    /// - Parameter blank: the encoding of a value of this type; `nil` if there is none.
    func decode<Value: Decodable>(
        as type: Value.Type, completedFrom blank: JSON?
    ) throws(JSONDecodingError) -> Value {
        var saved = self
        while true {
            do {
                return try saved.decode(as: type)
            } catch {
                guard error.code == .required, let blank, saved.copyMember(at: error.path[...], from: blank) else {
                    throw error
                }
            }
        }
    }

    /// Copies one member from another value.
    ///
    /// - Parameter path: the names that lead to the member.
    /// - Returns: whether the other value has the member and this one lacked it.
    private mutating func copyMember(at path: ArraySlice<String>, from other: JSON) -> Bool {
        guard let name = path.first, object != nil, let source = other[name] else { return false }
        guard var member = self[name] else {
            self[name] = source
            return true
        }
        guard path.count > 1, member.copyMember(at: path.dropFirst(), from: source) else { return false }
        self[name] = member
        return true
    }

    /// The path of the first member of another value that this one lacks; `nil` if it has them all. Objects within
    /// objects are compared, arrays are not.
    func memberMissing(of other: JSON) -> String? {
        guard let object, let otherObject = other.object else { return nil }
        for member in otherObject.members where member.value != .null {
            guard let own = object[member.name] else { return member.name }
            if let missing = own.memberMissing(of: member.value) { return "\(member.name)/\(missing)" }
        }
        return nil
    }
}
