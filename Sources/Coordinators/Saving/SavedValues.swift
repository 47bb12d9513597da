internal import JSONCoding

// Reads saved values that need nothing else of the state.

extension Screen: JSONReadable {
    package init(json: JSON) throws(JSONDecodingError) {
        let link: String? = try json.member(ifAny: "linkPattern")
        let events: [String]? = try json.member(ifAny: "events")
        let titles: JSONObject? = try json.member(ifAny: "eventTitles")
        let roles: JSONObject? = try json.member(ifAny: "eventRoles")
        self.init(
            try json.member("name"), title: try json.member(ifAny: "title"),
            params: try json.member(ifAny: "params") ?? [:],
            events: events?.map { event in
                let role = roles?[event]?.string.flatMap { Control.Role(rawValue: $0) }
                return Control(titles?[event]?.string, role: role, sends: event)
            },
            back: try json.member(ifAny: "back") ?? .allowed, link: link.map { LinkPattern($0) },
            hidesNavigationBar: try json.member(ifAny: "hidesNavigationBar") ?? false,
            hasContent: try json.member(ifAny: "hasContent") ?? false)
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
        self.init(path: try json.member("path"), coordinator: try json.count("coordinator"))
    }
}

extension BackRule: JSONReadable {}
extension TabBackRule: JSONReadable {}
extension AlertButton.Role: JSONReadable {}
extension PresentedFlow.Style: JSONReadable {}
extension PresentedFlow.Detent: JSONReadable {}
