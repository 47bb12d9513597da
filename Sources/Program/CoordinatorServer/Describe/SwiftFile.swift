internal import ByteText

/// What clients in Swift need to know of an app: types beside the library `CoordinatorClient`.
///
/// ```swift
/// try await session.post(ShopApp.Home.product(id: 42))
/// if case .product(let product) = ShopApp.Screen(state.visible) { draw(product.id) }
/// ```
struct SwiftFile {
    private let app: DescribedApp
    private let head: String

    /// - Parameter head: says what wrote the file.
    init(_ app: DescribedApp, head: String) {
        self.app = app
        self.head = head
    }

    var text: String {
        var types = Identifiers(.upper)
        var scopes = Self.types("TabID", "ButtonID", "RoleName", "Screen")
        let coordinators = app.coordinators.filter { !$0.events.isEmpty }.map { coordinator in
            events(of: coordinator, in: scopes.identifier(for: coordinator.name))
        }
        let constants: [String] = [
            "public static let name = \(Self.literal(app.name))",
            "/// The version of the app that this file describes.",
            "public static let version = \(app.version)",
        ]
        let tabs = ids("TabID", app.tabs, "The ids of tabs.")
        let buttons = ids("ButtonID", app.buttons, "The ids of alerts' buttons.")
        let roles = ids("RoleName", app.roleNames, "The names of devices' roles.")
        let parts: [[String]] = [constants] + coordinators + [tabs, buttons, roles, screens]
        let body = [String].blocks(parts).indented
        let opening = "public enum \(types.identifier(for: app.name))App {"
        let lines: [String] = ["// \(head)", "", "public import CoordinatorClient", "", opening] + body + ["}"]
        return lines.joined(separator: "\n") + "\n"
    }

    private func events(of coordinator: DescribedApp.Coordinator, in scope: String) -> [String] {
        var functions = Self.values()
        var nested = Self.types()
        var blocks: [[String]] = []
        for event in coordinator.events {
            let function = functions.identifier(for: event.type)
            let type = Self.literal(event.type)
            let comment = "/// \(event.comment)"
            guard let payload = event.payload else {
                blocks.append([
                    comment, "public static func \(function)() -> NavigationEvent { NavigationEvent(\(type)) }",
                ])
                continue
            }
            var definitions: [[String]] = []
            if let members = payload.members, !payload.isOptional {
                let fields = self.fields(members, &nested, below: event.type, &definitions)
                let parameters = fields.map { "\($0.identifier): \($0.type)\($0.isRequired ? "" : "? = nil")" }
                // A label needs no quotes.
                let arguments = fields.map { "\($0.identifier.substituting("`", with: "")): \($0.identifier)" }
                    .joined(separator: ", ")
                let signature =
                    "public static func \(function)(\(parameters.joined(separator: ", "))) -> NavigationEvent {"
                let declared =
                    ["struct Payload: Encodable, Sendable {"] + properties(fields, access: "").indented + ["}"]
                let body = declared + ["return NavigationEvent(\(type), Payload(\(arguments)))"]
                blocks.append([comment, signature] + body.indented + ["}"])
            } else {
                let value = self.type(payload, &nested, named: event.type, &definitions)
                blocks.append([
                    comment,
                    "public static func \(function)(_ payload: \(value)) -> NavigationEvent {",
                    "    NavigationEvent(\(type), payload)", "}",
                ])
            }
            blocks += definitions
        }
        return ["/// What the screens of “\(coordinator.name.commented)” send.", "public enum \(scope) {"]
            + [String].blocks(blocks).indented + ["}"]
    }

    private func ids(_ name: String, _ ids: [(id: String, title: String?)], _ comment: String) -> [String] {
        guard !ids.isEmpty else { return [] }
        var identifiers = Self.values()
        var lines = ["/// \(comment)", "public enum \(name) {"]
        for (id, title) in ids {
            if let title { lines.append("    /// \(title.commented)") }
            lines.append("    public static let \(identifiers.identifier(for: id)) = \(Self.literal(id))")
        }
        return lines + ["}"]
    }

    private var screens: [String] {
        var cases = Self.values("unknown")
        var nested = Self.types()
        var lines = [
            "/// A screen. It is `unknown` if this file does not have it, or if its parameters are others.",
            "public enum Screen: Sendable {",
        ]
        var reading: [String] = []
        var definitions: [[String]] = []
        for screen in app.screens ?? [] {
            let name = cases.identifier(for: screen.name)
            let members = screen.members
            reading.append("case \(Self.literal(screen.name)):")
            if members.isEmpty {
                lines.append("    case \(name)")
                reading.append("    self = .\(name)")
            } else {
                let type = nested.identifier(for: screen.name + " params")
                var inner: [[String]] = []
                record(members, &nested, named: type, below: screen.name, &inner)
                definitions += inner
                lines.append("    case \(name)(\(type))")
                reading.append("    if let params = screen.params(as: \(type).self) {")
                reading += [
                    "        self = .\(name)(params)", "    } else {", "        self = .unknown(screen)", "    }",
                ]
            }
        }
        lines += ["    case unknown(CoordinatorClient.Screen)", ""]
        let body: [String] =
            ["public init(_ screen: CoordinatorClient.Screen) {", "    switch screen.name {"] + reading.indented
            + ["    default: self = .unknown(screen)", "    }", "}"]
        return lines + [String].blocks([body] + definitions).indented + ["}"]
    }
}

// Types of values.
extension SwiftFile {
    private struct Field {
        let name: String
        let identifier: String
        let type: String
        let isRequired: Bool
    }

    private func fields(
        _ members: [ValueType.Member], _ nested: inout Identifiers, below name: String,
        _ definitions: inout [[String]]
    ) -> [Field] {
        var identifiers = Self.values()
        var fields: [Field] = []
        for member in members {
            let type = self.type(member.type, &nested, named: "\(name) \(member.name)", &definitions)
            fields.append(
                Field(
                    name: member.name, identifier: identifiers.identifier(for: member.name), type: type,
                    isRequired: member.isRequired))
        }
        return fields
    }

    private func properties(_ fields: [Field], access: String) -> [String] {
        var lines = fields.map { "\(access)let \($0.identifier): \($0.type)\($0.isRequired ? "" : "?")" }
        if fields.contains(where: { $0.identifier != $0.name && $0.identifier != "`\($0.name)`" }) {
            let keys = fields.map { "    case \($0.identifier) = \(Self.literal($0.name))" }
            lines += ["", "enum CodingKeys: String, CodingKey {"] + keys + ["}"]
        }
        return lines
    }

    /// Adds the definition of a struct.
    private func record(
        _ members: [ValueType.Member], _ nested: inout Identifiers, named type: String, below name: String,
        _ definitions: inout [[String]]
    ) {
        var inner: [[String]] = []
        let fields = self.fields(members, &nested, below: name, &inner)
        let parameters = fields.map { "\($0.identifier): \($0.type)\($0.isRequired ? "" : "? = nil")" }
        let assignments = fields.map { "    self.\($0.identifier) = \($0.identifier)" }
        let initializer = ["", "public init(\(parameters.joined(separator: ", "))) {"] + assignments + ["}"]
        definitions.append(
            ["public struct \(type): Codable, Hashable, Sendable {"]
                + (properties(fields, access: "public ") + initializer).indented + ["}"])
        definitions += inner
    }

    /// The name of a type; a struct is defined for a record, and for a choice.
    ///
    /// - Parameter name: the words of the struct's name.
    private func type(
        _ type: ValueType, _ nested: inout Identifiers, named name: String, _ definitions: inout [[String]]
    ) -> String {
        switch type {
        case .boolean: return "Bool"
        case .integer: return "Int"
        case .number: return "Double"
        case .string: return "String"
        case .anything: return "JSONValue"
        case .list(let element): return "[\(self.type(element, &nested, named: name, &definitions))]"
        case .map(let value): return "[String: \(self.type(value, &nested, named: name, &definitions))]"
        case .optional(let type): return "\(self.type(type, &nested, named: name, &definitions))?"
        case .record(let members):
            let type = nested.identifier(for: name)
            record(members, &nested, named: type, below: name, &definitions)
            return type
        case .choice(let texts):
            let type = nested.identifier(for: name)
            var identifiers = Self.values("rawValue")
            let choices = texts.map {
                "    public static let \(identifiers.identifier(for: $0)) = \(type)(rawValue: \(Self.literal($0)))"
            }
            definitions.append(
                [
                    "/// There may be others, newer than this file.",
                    "public struct \(type): RawRepresentable, Codable, Hashable, Sendable {",
                ] + choices
                    + [
                        "    public let rawValue: String", "",
                        "    public init(rawValue: String) { self.rawValue = rawValue }", "}",
                    ])
            return type
        }
    }
}

// Names.
extension SwiftFile {
    private static func values(_ reserved: String...) -> Identifiers {
        Identifiers(
            .unchanged, reserved: Set(reserved).union(["self", "Self", "init", "Type", "Protocol", "_"]),
            keywords: keywords, escape: { "`\($0)`" })
    }

    /// Types that would hide those that the file uses are called otherwise.
    private static func types(_ reserved: String...) -> Identifiers {
        Identifiers(
            .upper,
            reserved: Set(reserved).union([
                "Any", "AnyObject", "Bool", "Codable", "CodingKey", "CodingKeys", "CoordinatorClient", "Double",
                "Encodable", "Hashable", "Int", "JSONValue", "NavigationEvent", "Optional", "Payload", "Protocol",
                "RawRepresentable", "Self", "Sendable", "String", "Type",
            ]))
    }

    private static func literal(_ text: String) -> String { text.literal { "\\u{\($0)}" } }

    private static let keywords: Set<String> = [
        "Any", "as", "associatedtype", "await", "break", "case", "catch", "class", "continue", "default", "defer",
        "deinit", "do",
        "else", "enum", "extension", "fallthrough", "false", "fileprivate", "for", "func", "guard", "if", "import",
        "in", "inout", "internal", "is", "let", "nil", "operator", "precedencegroup", "private", "protocol", "public",
        "repeat", "rethrows", "return", "static", "struct", "subscript", "super", "switch", "throw", "throws", "true",
        "try", "typealias", "var", "where", "while",
    ]
}
