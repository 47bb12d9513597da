internal import ByteText

/// Types beside the library `coordinator.client`. JSON is written and read by hand, so that no plugin of the compiler is
/// needed.
///
/// ```kotlin
/// session.post(ShopApp.Home.product(id = 42))
/// when (val screen = ShopApp.Screen.of(state.visible)) { is ShopApp.Screen.Product -> draw(screen.id) … }
/// ```
struct KotlinFile: TypedFile {
    let app: DescribedApp
    let head: String

    static let imports = [
        #"@file:Suppress("unused")"#, "", "package coordinator.apps", "", "import coordinator.client.NavigationEvent",
        "import kotlinx.serialization.json.*", "",
    ]
    static let scope = "object"
    static let constant = "const val"
    static let appConstants = (name: "NAME", version: "VERSION")
    static let idTypes = (tabs: "TabId", buttons: "ButtonId", roles: "RoleName")

    static func comment(_ text: String) -> String { "/** \(text) */" }

    static func literal(_ text: String) -> String { text.literal(special: "$") { "\\u\($0)" } }

    static func function(_ name: String, _ event: String, _ payload: TypedPayload) -> [String] {
        switch payload {
        case .none: return ["fun \(name)() = NavigationEvent(\(event))"]
        case .value(let value):
            return ["fun \(name)(payload: \(value.name)) = NavigationEvent(\(event), \(value.written("payload")))"]
        case .members(let fields):
            return ["fun \(name)(\(parameters(fields))) = NavigationEvent(\(event), buildJsonObject {"]
                + puts(fields).indented + ["})"]
        }
    }

    private static func parameters(_ fields: [TypedField], _ prefix: String = "") -> String {
        fields.map { "\(prefix)\($0.identifier): \($0.type)\($0.isRequired ? "" : "? = null")" }
            .joined(separator: ", ")
    }

    private static func puts(_ fields: [TypedField]) -> [String] {
        fields.map { field in
            let put = "put(\(literal(field.name)), \(field.value.written(field.identifier)))"
            return field.isRequired ? put : "if (\(field.identifier) != null) \(put)"
        }
    }

    static func definition(_ type: String, _ fields: [TypedField], extends: String) -> [String] {
        let arguments = fields.map { field in
            let member = "members[\(literal(field.name))]"
            return field.isRequired
                ? "\(member)?.let { \(field.value.read("it")) } ?: return null,"
                : "\(member)?.takeUnless { it is JsonNull }?.let { \(field.value.readOrLeave("it")) },"
        }
        let writing = ["fun toJson(): JsonObject = buildJsonObject {"] + puts(fields).indented + ["}"]
        let reading =
            [
                "companion object {", "    fun of(json: JsonElement?): \(type)? {",
                "        val members = (json ?: JsonObject(emptyMap())) as? JsonObject ?: return null",
                "        return \(type)(",
            ] + arguments.indented.indented.indented + ["        )", "    }", "}"]
        return ["data class \(type)(\(parameters(fields, "val ")))\(extends) {"]
            + [String].blocks([writing, reading]).indented + ["}"]
    }

    static func definition(_ type: String, choices: [(identifier: String, literal: String)]) -> [String] {
        ["data class \(type)(val value: String) {", "    companion object {"]
            + choices.map { "        val \($0) = \(type)(\($1))" } + ["    }", "}"]
    }

    static func value(_ type: ValueType, _ inner: TypedValue) -> TypedValue {
        func primitive(_ name: String, _ reading: String) -> TypedValue {
            TypedValue(name: name, writing: "JsonPrimitive($)", reading: "($ as? JsonPrimitive)?\(reading)")
        }
        switch type {
        case .boolean: return primitive("Boolean", ".booleanOrNull")
        case .integer: return primitive("Long", ".longOrNull")
        case .number: return primitive("Double", ".doubleOrNull")
        case .string: return primitive("String", ".takeIf { it.isString }?.content")
        case .anything, .optional(.anything): return TypedValue(name: "JsonElement")
        case .list:
            return TypedValue(
                name: "List<\(inner.name)>", writing: "JsonArray($.map { \(inner.written("it")) })",
                reading: "($ as? JsonArray)?.map { \(inner.readOrLeave("it")) }")
        case .map:
            return TypedValue(
                name: "Map<String, \(inner.name)>",
                writing: "JsonObject($.mapValues { \(inner.written("it.value")) })",
                reading: "($ as? JsonObject)?.mapValues { \(inner.readOrLeave("it.value")) }")
        case .optional:
            // A null among the elements of a list is not read.
            return TypedValue(
                name: inner.name + "?", writing: "($?.let { \(inner.written("it")) } ?: JsonNull)",
                reading: inner.reading)
        case .record: return TypedValue(name: inner.name, writing: "$.toJson()", reading: "\(inner.name).of($)")
        case .choice:
            return TypedValue(
                name: inner.name, writing: "JsonPrimitive($.value)",
                reading: "($ as? JsonPrimitive)?.takeIf { it.isString }?.let { \(inner.name)(it.content) }")
        }
    }

    var screens: [String] {
        var types = Self.types("Unknown", "Companion")
        var blocks: [[String]] = []
        var cases: [String] = []
        for screen in app.screens ?? [] {
            let type = types.identifier(for: screen.name)
            let members = screen.members
            if members.isEmpty {
                blocks.append(["data object \(type) : Screen"])
                cases.append("\(Self.literal(screen.name)) -> \(type)")
            } else {
                blocks += definitions(members, &types, named: type, below: screen.name, extends: " : Screen")
                cases.append("\(Self.literal(screen.name)) -> \(type).of(screen.params) ?: Unknown(screen)")
            }
        }
        cases.append("else -> Unknown(screen)")
        blocks.append(["data class Unknown(val screen: coordinator.client.Screen) : Screen"])
        let reading =
            ["fun of(screen: coordinator.client.Screen): Screen = when (screen.name) {"] + cases.indented + ["}"]
        blocks.append(["companion object {"] + reading.indented + ["}"])
        return [
            "/** A screen. It is `Unknown` if this file does not have it, or if its parameters are others. */",
            "sealed interface Screen {",
        ] + [String].blocks(blocks).indented + ["}"]
    }

    static let reservedValues: Set<String> = ["it", "_", "toJson", "put", "Companion"]
    static let reservedFields: Set<String> = ["json", "members"]
    static let reservedChoices: Set<String> = ["value"]
    static let reservedTypes: Set<String> = [
        "Any", "Boolean", "Companion", "Double", "JsonArray", "JsonElement", "JsonNull", "JsonObject", "JsonPrimitive",
        "List", "Long", "Map", "NavigationEvent", "Nothing", "String", "Unit",
    ]
    static let keywords: Set<String> = [
        "as", "break", "class", "continue", "do", "else", "false", "for", "fun", "if", "in", "interface", "is", "null",
        "object", "package", "return", "super", "this", "throw", "true", "try", "typealias", "typeof", "val", "var",
        "when", "while",
    ]
}

extension TypedValue {
    fileprivate func written(_ expression: String) -> String { TypedValue.put(expression, into: writing) }

    fileprivate func read(_ expression: String) -> String { TypedValue.put(expression, into: reading) }

    /// The value, or `return null`. What always fits must not be tested: the compiler would warn.
    fileprivate func readOrLeave(_ expression: String) -> String {
        let read = read(expression)
        return read == expression ? read : "\(read) ?: return null"
    }

    private static func put(_ expression: String, into text: String) -> String {
        text.parts(at: "$", limit: 2).joined(separator: expression)
    }
}
