internal import ByteText
internal import JSONCoding

/// What differs between two descriptions of an app, and whom it breaks.
///
/// A client is broken by what it cannot send any more, and by what it gets otherwise: an event that is gone, a payload
/// that must have more or may have less, a parameter that is gone or has another type. It is not by what is new.
struct AppComparison {
    /// Sentences without a full stop, in the order of the older description.
    private(set) var breaks: [String] = []
    private(set) var additions: [String] = []
    /// Whether the bounds and choices of a payload are compared: not those of a session with what is declared without one.
    private var comparesBounds = true
    /// The roles of the devices that use the older app and may act.
    private let actingRoles: [String]

    init(from old: DescribedApp, to new: DescribedApp) {
        // Without roles, a device gets the first one of the newer app.
        actingRoles = (old.roles ?? Array((new.roles ?? []).prefix(1))).filter(\.mayAct).map(\.name)
        if old.name != new.name { breaks.append("all clients: the app “\(old.name)” is now “\(new.name)”") }
        for coordinator in old.coordinators {
            let own = new.coordinators.first { $0.name == coordinator.name }
            for event in coordinator.events { compare(event, of: coordinator.name, own, in: new) }
            for signal in coordinator.signals ?? [] {
                let name = "services that send “\(signal.type)” to \(coordinator.name)"
                if let now = own?.signals?.first(where: { $0.type == signal.type }) {
                    comparePayloads(signal.schema, now.schema, name)
                } else {
                    breaks.append("\(name): it is gone")
                }
            }
        }
        for coordinator in new.coordinators {
            let own = old.coordinators.first { $0.name == coordinator.name }
            let known = own?.events.map(\.type) ?? []
            for event in coordinator.events where !event.names.contains(where: known.contains) {
                additions.append("event “\(event.type)” of \(coordinator.name)")
            }
            for signal in coordinator.signals ?? []
            where own?.signals?.contains(where: { $0.type == signal.type }) != true {
                additions.append("signal “\(signal.type)” of \(coordinator.name)")
            }
        }
        compareRoles(old, new)
        compareScreens(old, new)
        compareButtons(old, new)
        for link in old.links where !new.links.contains(where: { Self.means($0, link) }) {
            breaks.append("links “\(link)”: no coordinator opens them any more")
        }
        for link in new.links where !old.links.contains(where: { Self.means($0, link) }) {
            additions.append("link “\(link)”")
        }
    }

    /// The lines of a report.
    var lines: [String] { breaks.map { "breaks \($0)" } + additions.map { "harmless: \($0)" } }

    private mutating func compare(
        _ event: DescribedApp.Event, of coordinator: String, _ own: DescribedApp.Coordinator?, in new: DescribedApp
    ) {
        let name = "clients that post “\(event.type)” to \(coordinator)"
        let same = own?.events.first { $0.type == event.type }
        let renamed = own?.events.first { $0.aliases?.contains(event.type) == true }
        if let now = same ?? renamed {
            if same == nil { additions.append("“\(event.type)” of \(coordinator) is an alias of “\(now.type)”") }
            for role in event.roles ?? actingRoles where now.roles?.contains(role) == false {
                breaks.append("\(name): it is no longer for the role “\(role)”")
            }
            comparesBounds = event.source == now.source
            comparePayloads(event.schema, now.schema, name)
            comparesBounds = true
        } else if own == nil,
            // Clients do not say to which coordinator they post.
            let other = new.coordinators.flatMap(\.events).first(where: { $0.names.contains(event.type) })
        {
            additions.append("“\(event.type)” of \(coordinator) belongs to another coordinator")
            comparePayloads(event.schema, other.schema, name)
        } else {
            breaks.append("\(name): the event is gone")
        }
    }

    private mutating func compareRoles(_ old: DescribedApp, _ new: DescribedApp) {
        if let old = old.roles?.first?.name, let new = new.roles?.first?.name, old != new {
            breaks.append("devices that open sessions: their role is “\(new)”, not “\(old)”")
        }
        for role in old.roles ?? [] {
            let name = "devices of the role “\(role.name)”"
            guard let now = new.roles?.first(where: { $0.name == role.name }) else {
                breaks.append("\(name): it is gone, so they may only look")
                continue
            }
            if role.mayAct, !now.mayAct { breaks.append("\(name): they may only look") }
            if role.mayEndOthers == true, now.mayEndOthers == false, now.mayAct {
                breaks.append("\(name): they may not revoke others, fork or end the session any more")
            }
            for lost in role.gives ?? [] where now.gives?.contains(lost) == false {
                breaks.append("\(name): they do not give “\(lost)” any more")
            }
        }
        for role in new.roles ?? [] where old.roles?.contains(where: { $0.name == role.name }) != true {
            additions.append("new role “\(role.name)”")
        }
    }

    private mutating func compareScreens(_ old: DescribedApp, _ new: DescribedApp) {
        for screen in old.screens ?? [] {
            let name = "clients that draw “\(screen.name)”"
            guard let now = new.screens?.first(where: { $0.name == screen.name }) else {
                breaks.append("\(name): the screen is gone")
                continue
            }
            if screen.params != nil || now.params != nil {
                let none: JSON = ["type": "object"]
                compareReceived(screen.params ?? none, now.params ?? none, at: "params", name)
            }
            if screen.hasContent == true, now.hasContent != true {
                breaks.append("\(name): it has no content any more")
            }
            if let content = screen.content, let present = now.content {
                compareReceived(content, present, at: "content", name)
            }
            for event in screen.events ?? [] where now.events?.contains(event) == false {
                additions.append("screen “\(screen.name)” does not offer “\(event)” any more")
            }
            for tab in screen.tabs ?? [] where now.tabs?.contains(where: { $0.id == tab.id }) != true {
                breaks.append("\(name): the tab “\(tab.id)” is gone")
            }
            for tab in now.tabs ?? [] where screen.tabs?.contains(where: { $0.id == tab.id }) != true {
                additions.append("tab “\(tab.id)” of screen “\(screen.name)”")
            }
        }
        for screen in new.screens ?? [] where old.screens?.contains(where: { $0.name == screen.name }) != true {
            additions.append("screen “\(screen.name)”")
        }
    }

    /// An alert has no name, and its title may change, so its buttons are looked for among all of its coordinator.
    private mutating func compareButtons(_ old: DescribedApp, _ new: DescribedApp) {
        let (before, now) = (Self.buttons(of: old), Self.buttons(of: new))
        for button in before where !now.contains(button) {
            breaks.append("clients that answer alerts of \(button.coordinator): the button “\(button.id)” is gone")
        }
        for button in now where !before.contains(button) {
            additions.append("button “\(button.id)” of alerts of \(button.coordinator)")
        }
    }

    private struct AlertButton: Hashable { let coordinator, id: String }

    /// Each button once, those of a coordinator together.
    private static func buttons(of app: DescribedApp) -> [AlertButton] {
        let alerts = app.alerts ?? []
        return alerts.map(\.coordinator).distinct(by: \.self).flatMap { coordinator in
            alerts.filter { $0.coordinator == coordinator }.flatMap(\.buttons).distinct(by: \.id)
                .map { AlertButton(coordinator: coordinator, id: $0.id) }
        }
    }

    /// Whether two patterns match the same paths: the names of a path's parameters do not count.
    private static func means(_ left: String, _ right: String) -> Bool { nameless(left) == nameless(right) }

    private static func nameless(_ link: String) -> String {
        let parts = link.parts(at: "?", limit: 2)
        let pieces = parts[0].parts(at: "{")
        var path = String(pieces[0])
        for piece in pieces.dropFirst() {
            let isList = piece.utf8.contains(UInt8(ascii: "."))
            let end = piece.utf8.firstIndex { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "}") } ?? piece.endIndex
            path += "{" + (isList ? "..." : "") + piece[end...]
        }
        return ([path] + parts.dropFirst().map { String($0) }).joined(separator: "?")
    }
}

// Values that clients send: the new type must take all that the old one took.
extension AppComparison {
    private mutating func comparePayloads(_ old: JSON?, _ new: JSON?, _ name: String) {
        switch (old, new) {
        case (let old?, let new?): compareSent(old, new, at: "payload", name)
        case (_?, nil): breaks.append("\(name): it takes no payload any more")
        case (nil, let new?):
            let type = ValueType(new)
            if !type.isOptional, type.members?.contains(where: \.isRequired) != false {
                breaks.append("\(name): it must have a payload")
            } else {
                additions.append("\(name) may send a payload")
            }
        case (nil, nil): break
        }
    }

    private mutating func compareSent(_ old: JSON, _ new: JSON, at place: String, _ name: String) {
        let (before, now) = (ValueType(old), ValueType(new))
        if before.isOptional, !now.isOptional, !now.isAnything {
            breaks.append("\(name): \(place) must not be null any more")
        }
        switch (before.unwrapped, now.unwrapped) {
        case (.record(let before), .record(let now)):
            for member in now {
                let inner = "\(place).\(member.name)"
                guard let known = before.first(where: { $0.name == member.name }) else {
                    if member.isRequired {
                        breaks.append("\(name): \(inner) must be there")
                    } else {
                        additions.append("\(name) may send \(inner)")
                    }
                    continue
                }
                if member.isRequired, !known.isRequired { breaks.append("\(name): \(inner) must be there") }
                compareSent(Self.unwrapped(known.schema), Self.unwrapped(member.schema), at: inner, name)
            }
            for member in before where !now.contains(where: { $0.name == member.name }) {
                additions.append("\(name) need not send \(place).\(member.name), which is ignored")
            }
        case (.list, .list):
            compareSent(old["items"] ?? [:], new["items"] ?? [:], at: "\(place)[]", name)
        case (.map(let before), .map(let now)):
            if now.isAnything { break }
            if before.isAnything { breaks.append("\(name): \(place) takes fewer values") }
        case (.string, .choice) where !comparesBounds, (.choice, .choice) where !comparesBounds: break
        case (.choice(let before), .choice(let now)):
            let gone = before.filter { !now.contains($0) }.map { "“\($0)”" }
            if !gone.isEmpty {
                breaks.append("\(name): \(place) must not be \(gone.joined(separator: " or ")) any more")
            }
        case (let before, let now) where !now.takes(before):
            breaks.append("\(name): \(place) must be \(now.words), not \(before.words)")
        default: compareBounds(old, new, at: place, name)
        }
    }

    private mutating func compareBounds(_ old: JSON, _ new: JSON, at place: String, _ name: String) {
        guard comparesBounds else { return }
        let (old, new) = (Self.unwrapped(old), Self.unwrapped(new))
        for keyword in ["minimum", "minLength"] {
            guard let bound = new[keyword]?.number, bound > old[keyword]?.number ?? -.infinity else { continue }
            // An integer without bounds has those of 64 bits, and a text has no length below 0.
            if keyword == "minLength", bound <= 0 { continue }
            breaks.append("\(name): \(place) has a higher \(keyword) now, \(new[keyword]?.description ?? "")")
        }
        for keyword in ["maximum", "maxLength"] {
            guard let bound = new[keyword]?.number, bound < old[keyword]?.number ?? .infinity else { continue }
            breaks.append("\(name): \(place) has a lower \(keyword) now, \(new[keyword]?.description ?? "")")
        }
    }

    /// The schema of a value that may also be left out.
    private static func unwrapped(_ schema: JSON) -> JSON {
        guard let others = schema["anyOf"]?.array?.filter({ $0["type"] != "null" }), others.count == 1 else {
            return schema
        }
        return others[0]
    }
}

// Values that clients get: the old type must take all that the new one has.
extension AppComparison {
    private mutating func compareReceived(_ old: JSON, _ new: JSON, at place: String, _ name: String) {
        let (before, now) = (ValueType(old), ValueType(new))
        if now.isOptional, !before.isOptional, !before.isAnything {
            breaks.append("\(name): \(place) may be null now")
        }
        switch (before.unwrapped, now.unwrapped) {
        case (.record(let before), .record(let now)): compareMembers(before, now, at: place, name)
        case (.record(let before), .map): compareMembers(before, [], at: place, name)
        case (.map, .record(let now)) where new["properties"] != nil && old["additionalProperties"] == nil:
            compareMembers([], now, at: place, name)
        case (.list, .list):
            // Of an empty list nothing was seen.
            if !before.isListOfAnything, !now.isListOfAnything {
                compareReceived(old["items"] ?? [:], new["items"] ?? [:], at: "\(place)[]", name)
            }
        case (.choice, .choice), (.map, .map): break
        case (let before, let now) where !before.takes(now):
            breaks.append("\(name): \(place) is \(now.words), not \(before.words)")
        default: break
        }
    }

    private mutating func compareMembers(
        _ before: [ValueType.Member], _ now: [ValueType.Member], at place: String, _ name: String
    ) {
        for member in before {
            let inner = "\(place).\(member.name)"
            guard let present = now.first(where: { $0.name == member.name }) else {
                breaks.append("\(name): \(inner) is gone")
                continue
            }
            if member.isRequired, !present.isRequired { breaks.append("\(name): \(inner) may be left out now") }
            compareReceived(Self.unwrapped(member.schema), Self.unwrapped(present.schema), at: inner, name)
        }
        for member in now where !before.contains(where: { $0.name == member.name }) {
            additions.append("\(name) get \(place).\(member.name)")
        }
    }
}

extension ValueType {
    fileprivate var isAnything: Bool {
        if case .anything = unwrapped { true } else { false }
    }

    fileprivate var isListOfAnything: Bool {
        if case .list(let element) = unwrapped { element.isAnything } else { false }
    }

    /// Whether each value of the other type is one of this, as far as their kinds say.
    fileprivate func takes(_ other: ValueType) -> Bool {
        switch (self, other) {
        case (.anything, _), (.boolean, .boolean), (.integer, .integer), (.number, .number), (.number, .integer),
            (.string, .string), (.string, .choice), (.choice, .choice), (.list, .list), (.map, .map), (.map, .record),
            (.record, .record):
            true
        default: false
        }
    }

    /// What it is, in a sentence.
    fileprivate var words: String {
        switch self {
        case .boolean: "a boolean"
        case .integer: "an integer"
        case .number: "a number"
        case .string: "a text"
        case .choice(let texts): "one of " + texts.map { "“\($0)”" }.joined(separator: ", ")
        case .list: "a list"
        case .map: "a dictionary"
        case .record: "an object"
        case .optional(let type): "\(type.words) or null"
        case .anything: "any value"
        }
    }
}
