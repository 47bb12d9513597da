internal import ByteText

/// Types beside the library `CoordinatorClient`.
///
/// ```swift
/// try await session.post(ShopApp.Home.product(id: 42))
/// if case .product(let product) = ShopApp.Screen(state.visible) { draw(product.id) }
/// ```
struct SwiftFile: TypedFile {
    let app: DescribedApp
    let head: String

    static let imports = ["public import CoordinatorClient", ""]
    static let scope = "public enum"
    static let constant = "public static let"
    static let appConstants = (name: "name", version: "version")
    static let idTypes = (tabs: "TabID", buttons: "ButtonID", roles: "RoleName")

    static func comment(_ text: String) -> String { "/// \(text)" }

    static func literal(_ text: String) -> String { text.literal { "\\u{\($0)}" } }

    static func function(_ name: String, _ event: String, _ payload: TypedPayload) -> [String] {
        func signature(_ parameters: String) -> String {
            "public static func \(name)(\(parameters)) -> NavigationEvent {"
        }
        switch payload {
        case .none: return ["\(signature("")) NavigationEvent(\(event)) }"]
        case .value(let value):
            return [signature("_ payload: \(value.name)"), "    NavigationEvent(\(event), payload)", "}"]
        case .members(let fields):
            // A label needs no quotes.
            let arguments = fields.map { "\($0.identifier.substituting("`", with: "")): \($0.identifier)" }
            let body =
                ["struct Payload: Encodable, Sendable {"] + properties(fields, access: "").indented
                + ["}", "return NavigationEvent(\(event), Payload(\(arguments.joined(separator: ", "))))"]
            return [signature(parameters(fields))] + body.indented + ["}"]
        }
    }

    private static func parameters(_ fields: [TypedField]) -> String {
        fields.map { "\($0.identifier): \($0.type)\($0.isRequired ? "" : "? = nil")" }.joined(separator: ", ")
    }

    private static func properties(_ fields: [TypedField], access: String) -> [String] {
        let lines = fields.map { "\(access)let \($0.identifier): \($0.type)\($0.isRequired ? "" : "?")" }
        guard fields.contains(where: { $0.identifier != $0.name && $0.identifier != "`\($0.name)`" }) else {
            return lines
        }
        let keys = fields.map { "case \($0.identifier) = \(literal($0.name))" }
        return lines + ["", "enum CodingKeys: String, CodingKey {"] + keys.indented + ["}"]
    }

    static func definition(_ type: String, _ fields: [TypedField], extends: String) -> [String] {
        let assignments = fields.map { "self.\($0.identifier) = \($0.identifier)" }
        let initializer = ["", "public init(\(parameters(fields))) {"] + assignments.indented + ["}"]
        return ["public struct \(type): Codable, Hashable, Sendable {"]
            + (properties(fields, access: "public ") + initializer).indented + ["}"]
    }

    static func definition(_ type: String, choices: [(identifier: String, literal: String)]) -> [String] {
        let body =
            choices.map { "public static let \($0) = \(type)(rawValue: \($1))" } + [
                "public let rawValue: String", "", "public init(rawValue: String) { self.rawValue = rawValue }",
            ]
        return ["public struct \(type): RawRepresentable, Codable, Hashable, Sendable {"] + body.indented + ["}"]
    }

    static func value(_ type: ValueType, _ inner: TypedValue) -> TypedValue {
        let name =
            switch type {
            case .boolean: "Bool"
            case .integer: "Int"
            case .number: "Double"
            case .string: "String"
            case .anything: "JSONValue"
            case .list: "[\(inner.name)]"
            case .map: "[String: \(inner.name)]"
            case .optional: "\(inner.name)?"
            case .record, .choice: inner.name
            }
        return TypedValue(name: name)
    }

    var screens: [String] {
        var names = Self.values(["unknown"])
        var nested = Self.types()
        var cases: [String] = []
        var reading: [String] = []
        var definitions: [[String]] = []
        for screen in app.screens ?? [] {
            let name = names.identifier(for: screen.name)
            let members = screen.members
            reading.append("case \(Self.literal(screen.name)):")
            guard !members.isEmpty else {
                cases.append("case \(name)")
                reading.append("    self = .\(name)")
                continue
            }
            let type = nested.identifier(for: screen.name + " params")
            definitions += self.definitions(members, &nested, named: type, below: screen.name)
            cases.append("case \(name)(\(type))")
            reading += [
                "    if let params = screen.params(as: \(type).self) {", "        self = .\(name)(params)",
                "    } else {", "        self = .unknown(screen)", "    }",
            ]
        }
        cases.append("case unknown(CoordinatorClient.Screen)")
        let initializer =
            ["public init(_ screen: CoordinatorClient.Screen) {", "    switch screen.name {"] + reading.indented
            + ["    default: self = .unknown(screen)", "    }", "}"]
        return [
            "/// A screen. It is `unknown` if this file does not have it, or if its parameters are others.",
            "public enum Screen: Sendable {",
        ] + [String].blocks([cases, initializer] + definitions).indented + ["}"]
    }

    static let reservedValues: Set<String> = ["self", "Self", "init", "Type", "Protocol", "_"]
    static let reservedFields: Set<String> = []
    static let reservedChoices: Set<String> = ["rawValue"]
    static let reservedTypes: Set<String> = [
        "Any", "AnyObject", "Bool", "Codable", "CodingKey", "CodingKeys", "CoordinatorClient", "Double", "Encodable",
        "Hashable", "Int", "JSONValue", "NavigationEvent", "Optional", "Payload", "Protocol", "RawRepresentable",
        "Self", "Sendable", "String", "Type",
    ]
    static let keywords: Set<String> = [
        "Any", "as", "associatedtype", "await", "break", "case", "catch", "class", "continue", "default", "defer",
        "deinit", "do", "else", "enum", "extension", "fallthrough", "false", "fileprivate", "for", "func", "guard",
        "if", "import", "in", "inout", "internal", "is", "let", "nil", "operator", "precedencegroup", "private",
        "protocol", "public", "repeat", "rethrows", "return", "static", "struct", "subscript", "super", "switch",
        "throw", "throws", "true", "try", "typealias", "var", "where", "while",
    ]
}
