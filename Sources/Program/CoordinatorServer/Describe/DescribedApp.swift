internal import ByteText
internal import JSONCoding

/// An app as `GET /v1/apps/{app}` and `describe --as json` describe it, read from that text. What is written for clients
/// comes from here, so it is the same whether the app is at hand or only its description. Unknown members are ignored.
struct DescribedApp: Decodable {
    struct Event: Decodable {
        let type: String
        let title: String
        /// `observed` if the schema has the bounds that a session had.
        let source: String?
        let schema: JSON?
        let aliases: [String]?
        /// The roles of the devices that may post it; `nil` if all that act may.
        let roles: [String]?

        /// What it is called, and for whom it is.
        var comment: String {
            title.commented + (roles.map { ": only for \($0.joined(separator: " and "))." } ?? "")
        }

        /// The type, and those that it had before.
        var names: [String] { [type] + (aliases ?? []) }

        /// `nil` if the event has no payload.
        var payload: ValueType? { schema.map { ValueType($0) } }
    }

    struct Coordinator: Decodable {
        let name: String
        let events: [Event]
        let signals: [Event]?
    }

    struct Tab: Decodable {
        let id: String
        let title: String?
    }

    struct Screen: Decodable {
        let name: String
        let source: String
        let coordinators: [String]
        let params: JSON?
        let hasContent: Bool?
        let content: JSON?
        let events: [String]?
        let tabs: [Tab]?

        /// Empty if it has no parameters.
        var members: [ValueType.Member] { params.map { ValueType($0) }?.members ?? [] }
    }

    /// What screens show beside their parameters, by the screen's name, as far as it is declared.
    var contents: [(screen: String, members: [ValueType.Member])] {
        (screens ?? []).compactMap { screen in
            screen.content.flatMap { ValueType($0).members }.map { (screen.name, $0) }
        }
    }

    struct Button: Decodable {
        let id: String
        let title: String
    }

    struct Alert: Decodable {
        let coordinator: String
        let title: String?
        let buttons: [Button]
    }

    struct Role: Decodable {
        let name: String
        let mayAct: Bool
        let mayEndOthers: Bool?
        let gives: [String]?
    }

    let name: String
    let version: Int
    /// `nil` if the app declares none.
    let roles: [Role]?
    let coordinators: [Coordinator]
    /// `nil` in the description of a server from before there were any.
    let screens: [Screen]?
    let alerts: [Alert]?
    let builtInEvents: [Event]
    let links: [String]

    /// Whether it has what only exploring finds.
    var wasExplored: Bool {
        alerts?.isEmpty == false || screens?.contains { $0.source == "observed" || $0.events != nil } == true
    }

    /// The ids of all tabs, each once, with the titles of those that have one.
    var tabs: [(id: String, title: String?)] {
        (screens ?? []).flatMap { $0.tabs ?? [] }.distinct(by: \.id).map { ($0.id, $0.title) }
    }

    /// The names of the roles that devices may have, with what sets one apart.
    var roleNames: [(id: String, title: String?)] {
        (roles ?? []).map { ($0.name, $0.mayAct ? nil : "May only look.") }
    }

    /// The ids of all alerts' buttons, each once, with the title of the first one.
    var buttons: [(id: String, title: String?)] {
        (alerts ?? []).flatMap(\.buttons).distinct(by: \.id).map { ($0.id, $0.title) }
    }
}

extension Sequence {
    /// The first element of each key.
    func distinct<Key: Hashable>(by key: (Element) -> Key) -> [Element] {
        var known: Set<Key> = []
        return filter { known.insert(key($0)).inserted }
    }
}

/// The type of a value that a client sends or gets, read from its JSON Schema.
indirect enum ValueType {
    case boolean, integer, number, string
    /// One of some texts.
    case choice([String])
    case list(ValueType)
    /// An object with any names.
    case map(ValueType)
    case record([Member])
    /// A value or `null`.
    case optional(ValueType)
    case anything

    struct Member {
        let name: String
        /// Never `optional`: a member that is optional may also be left out.
        let type: ValueType
        let isRequired: Bool
        let schema: JSON
    }

    /// - Parameter schema: as the server writes it. What it does not write is read as `anything`.
    init(_ schema: JSON) {
        if let alternatives = (schema["anyOf"] ?? schema["oneOf"])?.array, schema["enum"] == nil {
            let others = alternatives.filter { $0["type"] != "null" }
            let type = others.count == 1 ? ValueType(others[0]) : .anything
            self = others.count < alternatives.count ? .optional(type) : type
            return
        }
        if let values = schema["enum"]?.array {
            let texts = values.compactMap(\.string)
            let isWhole = !values.isEmpty && values.allSatisfy { $0.integer != nil }
            self = texts.count == values.count && !texts.isEmpty ? .choice(texts) : isWhole ? .integer : .anything
            return
        }
        switch schema["type"]?.string {
        case "boolean": self = .boolean
        case "integer":
            // 64 bits without a sign, or more, have no type that all languages know.
            let isUsual = schema["maximum"].map { $0.integer != nil } ?? true
            self = isUsual ? .integer : .anything
        case "number": self = .number
        case "string": self = .string
        case "null": self = .optional(.anything)
        case "array": self = .list(schema["items"].map { ValueType($0) } ?? .anything)
        case "object":
            let required = schema["required"]?.array ?? []
            guard let properties = schema["properties"]?.object, !properties.isEmpty else {
                let values = schema["additionalProperties"].map { ValueType($0) }
                self = .map(values ?? .anything)
                return
            }
            var members: [Member] = []
            for property in properties.members {
                let type = ValueType(property.value)
                let isRequired = required.contains(.string(property.name)) && !type.isOptional
                members.append(
                    Member(
                        name: property.name, type: type.unwrapped, isRequired: isRequired, schema: property.value))
            }
            self = .record(members)
        default: self = .anything
        }
    }

    var isOptional: Bool {
        if case .optional = self { true } else { false }
    }

    var unwrapped: ValueType {
        if case .optional(let type) = self { type } else { self }
    }

    /// The members of a record; `nil` for another type.
    var members: [Member]? {
        if case .record(let members) = unwrapped { members } else { nil }
    }
}

/// The identifiers of one scope of a written file. Two names that give the same one get different ones.
struct Identifiers {
    enum Form { case upper, unchanged }

    let form: Form
    /// The identifiers of the scope; at first, what has a meaning of its own in it.
    var used: Set<String> = []
    /// Become identifiers in backquotes.
    var keywords: Set<String> = []

    mutating func identifier(for name: String) -> String {
        var identifier = Identifiers.plain(name, form)
        if used.contains(identifier) { identifier += "_" }
        var number = 2
        while used.contains(identifier) {
            identifier = "\(Identifiers.plain(name, form))_\(number)"
            number += 1
        }
        used.insert(identifier)
        return keywords.contains(identifier) ? "`\(identifier)`" : identifier
    }

    /// The letters and digits of a name; a letter that follows others is in upper case.
    private static func plain(_ name: String, _ form: Form) -> String {
        let digits: ClosedRange<Unicode.Scalar> = "0"..."9"
        let words = name.unicodeScalars.split { scalar in
            scalar != "_" && !digits.contains(scalar) && !scalar.properties.isAlphabetic
        }.map { String($0) }
        guard let first = words.first else { return "unnamed" }
        let start = form == .upper ? first.withUpperFirst : first
        let text = start + words.dropFirst().map(\.withUpperFirst).joined()
        return text == "_" || digits.contains(text.unicodeScalars[text.startIndex]) ? "_" + text : text
    }
}

extension String {
    fileprivate var withUpperFirst: String {
        unicodeScalars.prefix(1).map(\.properties.uppercaseMapping).joined() + String(unicodeScalars.dropFirst())
    }

    /// A literal of the text in quotation marks.
    ///
    /// - Parameters:
    ///   - special: characters that need a backslash, beside the quotation mark and the backslash itself.
    ///   - escape: the escape of a control character, by its number in hexadecimal.
    func literal(special: String = "", escape: (String) -> String) -> String {
        var text = "\""
        for scalar in unicodeScalars {
            if scalar == "\"" || scalar == "\\" || special.unicodeScalars.contains(scalar) {
                text += "\\" + String(scalar)
            } else if scalar.value < 0x20 || (0x7F..<0xA0).contains(scalar.value)
                || [0x2028, 0x2029].contains(scalar.value)
            {
                let digits = String(scalar.value, radix: 16)
                text += escape(String(repeating: "0", count: 4 - digits.utf8.count) + digits)
            } else {
                text += String(scalar)
            }
        }
        return text + "\""
    }

    /// The text on one line of a comment, which it cannot end.
    var commented: String { printable.substituting("*", with: "∗") }
}

extension [String] {
    /// The lines, each further to the right.
    var indented: [String] { map { $0.isEmpty ? "" : "    " + $0 } }

    /// Lines in groups, with an empty line between two of these.
    static func blocks(_ blocks: [[String]]) -> [String] {
        [String](blocks.filter { !$0.isEmpty }.joined(separator: [""]))
    }
}
