internal import ByteText

/// What clients in Kotlin need to know of an app: types beside the library `coordinator.client`. JSON is written and read
/// by hand, so that no plugin of the compiler is needed.
///
/// ```kotlin
/// session.post(ShopApp.Home.product(id = 42))
/// when (val screen = ShopApp.Screen.of(state.visible)) { is ShopApp.Screen.Product -> draw(screen.id) … }
/// ```
struct KotlinFile {
    private let app: DescribedApp
    private let head: String

    /// - Parameter head: says what wrote the file.
    init(_ app: DescribedApp, head: String) {
        self.app = app
        self.head = head
    }

    var text: String {
        var types = Identifiers(.upper)
        var scopes = Self.types("TabId", "ButtonId", "RoleName", "Screen")
        let coordinators = app.coordinators.filter { !$0.events.isEmpty }.map { coordinator in
            events(of: coordinator, in: scopes.identifier(for: coordinator.name))
        }
        let constants: [String] = [
            "const val NAME = \(Self.literal(app.name))",
            "/** The version of the app that this file describes. */", "const val VERSION = \(app.version)",
        ]
        let parts: [[String]] =
            [constants] + coordinators + [
                ids("TabId", app.tabs, "The ids of tabs."),
                ids("ButtonId", app.buttons, "The ids of alerts' buttons."),
                ids("RoleName", app.roleNames, "The names of devices' roles."), screens,
            ]
        let lines: [String] =
            [
                "// \(head)", "", #"@file:Suppress("unused")"#, "", "package coordinator.apps", "",
                "import coordinator.client.NavigationEvent", "import kotlinx.serialization.json.*", "",
                "object \(types.identifier(for: app.name))App {",
            ] + [String].blocks(parts).indented + ["}"]
        return lines.joined(separator: "\n") + "\n"
    }

    private func events(of coordinator: DescribedApp.Coordinator, in scope: String) -> [String] {
        var functions = Self.values()
        var nested = Self.types()
        var blocks: [[String]] = []
        for event in coordinator.events {
            let function = functions.identifier(for: event.type)
            let type = Self.literal(event.type)
            let comment = "/** \(event.comment) */"
            guard let payload = event.payload else {
                blocks.append([comment, "fun \(function)() = NavigationEvent(\(type))"])
                continue
            }
            var definitions: [[String]] = []
            if let members = payload.members, !payload.isOptional {
                let fields = self.fields(members, &nested, below: event.type, &definitions)
                let parameters = fields.map { "\($0.identifier): \($0.type)\($0.isRequired ? "" : "? = null")" }
                blocks.append(
                    [
                        comment,
                        "fun \(function)(\(parameters.joined(separator: ", "))) = NavigationEvent(\(type), buildJsonObject {",
                    ]
                        + puts(fields).indented + ["})"])
            } else {
                let value = self.type(payload, &nested, named: event.type, &definitions)
                let written = Self.written("payload", value)
                blocks.append([
                    comment, "fun \(function)(payload: \(value.name)) = NavigationEvent(\(type), \(written))",
                ])
            }
            blocks += definitions
        }
        return ["/** What the screens of “\(coordinator.name.commented)” send. */", "object \(scope) {"]
            + [String].blocks(blocks).indented + ["}"]
    }

    private func ids(_ name: String, _ ids: [(id: String, title: String?)], _ comment: String) -> [String] {
        guard !ids.isEmpty else { return [] }
        var identifiers = Self.values()
        var lines = ["/** \(comment) */", "object \(name) {"]
        for (id, title) in ids {
            if let title { lines.append("    /** \(title.commented) */") }
            lines.append("    const val \(identifiers.identifier(for: id)) = \(Self.literal(id))")
        }
        return lines + ["}"]
    }

    private var screens: [String] {
        var types = Self.types("Unknown", "Companion")
        var blocks: [[String]] = []
        var reading: [String] = []
        for screen in app.screens ?? [] {
            let type = types.identifier(for: screen.name)
            let members = screen.members
            var result = type
            if members.isEmpty {
                blocks.append(["data object \(type) : Screen"])
            } else {
                var inner: [[String]] = []
                blocks.append(record(members, &types, named: type, below: screen.name, &inner, extends: " : Screen"))
                blocks += inner
                result = "\(type).of(screen.params) ?: Unknown(screen)"
            }
            reading.append("\(Self.literal(screen.name)) -> \(result)")
        }
        blocks.append(["data class Unknown(val screen: coordinator.client.Screen) : Screen"])
        let cases: [String] = reading + ["else -> Unknown(screen)"]
        let body: [String] =
            ["fun of(screen: coordinator.client.Screen): Screen = when (screen.name) {"] + cases.indented + ["}"]
        blocks.append(["companion object {"] + body.indented + ["}"])
        return [
            "/** A screen. It is `Unknown` if this file does not have it, or if its parameters are others. */",
            "sealed interface Screen {",
        ] + [String].blocks(blocks).indented + ["}"]
    }
}

// Types of values.
extension KotlinFile {
    /// A type of Kotlin, and how its values become JSON. In an expression, `$` stands for the value.
    private struct Written {
        let name: String
        let writing: String
        /// `null` if the JSON does not fit.
        let reading: String
    }

    private struct Field {
        let name: String
        let identifier: String
        let value: Written
        let isRequired: Bool
        var type: String { value.name }
    }

    private func fields(
        _ members: [ValueType.Member], _ nested: inout Identifiers, below name: String,
        _ definitions: inout [[String]]
    ) -> [Field] {
        var identifiers = Self.values("json", "members")
        var fields: [Field] = []
        for member in members {
            let value = self.type(member.type, &nested, named: "\(name) \(member.name)", &definitions)
            fields.append(
                Field(
                    name: member.name, identifier: identifiers.identifier(for: member.name), value: value,
                    isRequired: member.isRequired))
        }
        return fields
    }

    private func puts(_ fields: [Field]) -> [String] {
        fields.map { field in
            let put = "put(\(Self.literal(field.name)), \(Self.written(field.identifier, field.value)))"
            return field.isRequired ? put : "if (\(field.identifier) != null) \(put)"
        }
    }

    private func record(
        _ members: [ValueType.Member], _ nested: inout Identifiers, named type: String, below name: String,
        _ definitions: inout [[String]], extends: String = ""
    ) -> [String] {
        let fields = self.fields(members, &nested, below: name, &definitions)
        let parameters = fields.map { "val \($0.identifier): \($0.type)\($0.isRequired ? "" : "? = null")" }
        let arguments = fields.map { field in
            let member = "members[\(Self.literal(field.name))]"
            return field.isRequired
                ? "    \(member)?.let { \(Self.read("it", field.value)) } ?: return null,"
                : "    \(member)?.takeUnless { it is JsonNull }?.let { \(Self.readOrLeave("it", field.value)) },"
        }
        let writing: [String] = ["fun toJson(): JsonObject = buildJsonObject {"] + puts(fields).indented + ["}", ""]
        let reading: [String] =
            [
                "companion object {", "    fun of(json: JsonElement?): \(type)? {",
                "        val members = (json ?: JsonObject(emptyMap())) as? JsonObject ?: return null",
                "        return \(type)(",
            ] + arguments.indented.indented + ["        )", "    }", "}"]
        return ["data class \(type)(\(parameters.joined(separator: ", ")))\(extends) {"]
            + (writing + reading).indented + ["}"]
    }

    private func type(
        _ type: ValueType, _ nested: inout Identifiers, named name: String, _ definitions: inout [[String]]
    ) -> Written {
        func primitive(_ name: String, _ reading: String) -> Written {
            Written(name: name, writing: "JsonPrimitive($)", reading: "($ as? JsonPrimitive)?\(reading)")
        }
        switch type {
        case .boolean: return primitive("Boolean", ".booleanOrNull")
        case .integer: return primitive("Long", ".longOrNull")
        case .number: return primitive("Double", ".doubleOrNull")
        case .string: return primitive("String", ".takeIf { it.isString }?.content")
        case .anything: return Written(name: "JsonElement", writing: "$", reading: "$")
        case .list(let element):
            let element = self.type(element, &nested, named: name, &definitions)
            return Written(
                name: "List<\(element.name)>",
                writing: "JsonArray($.map { \(Self.written("it", element)) })",
                reading: "($ as? JsonArray)?.map { \(Self.readOrLeave("it", element)) }")
        case .map(let value):
            let value = self.type(value, &nested, named: name, &definitions)
            return Written(
                name: "Map<String, \(value.name)>",
                writing: "JsonObject($.mapValues { \(Self.written("it.value", value)) })",
                reading: "($ as? JsonObject)?.mapValues { \(Self.readOrLeave("it.value", value)) }")
        case .optional(.anything): return Written(name: "JsonElement", writing: "$", reading: "$")
        case .optional(let type):
            // A null among the elements of a list is not read.
            let value = self.type(type, &nested, named: name, &definitions)
            return Written(
                name: value.name + "?", writing: "($?.let { \(Self.written("it", value)) } ?: JsonNull)",
                reading: value.reading)
        case .record(let members):
            let type = nested.identifier(for: name)
            var inner: [[String]] = []
            definitions.append(record(members, &nested, named: type, below: name, &inner))
            definitions += inner
            return Written(name: type, writing: "$.toJson()", reading: "\(type).of($)")
        case .choice(let texts):
            let type = nested.identifier(for: name)
            var identifiers = Self.values("value")
            let choices = texts.map {
                "        val \(identifiers.identifier(for: $0)) = \(type)(\(Self.literal($0)))"
            }
            definitions.append(
                [
                    "/** There may be others, newer than this file. */", "data class \(type)(val value: String) {",
                    "    companion object {",
                ] + choices + ["    }", "}"])
            return Written(
                name: type, writing: "JsonPrimitive($.value)",
                reading: "($ as? JsonPrimitive)?.takeIf { it.isString }?.let { \(type)(it.content) }")
        }
    }

    private static func written(_ expression: String, _ value: Written) -> String {
        value.writing.parts(at: "$", limit: 2).joined(separator: expression)
    }

    /// The value, or `return null`. What always fits must not be tested: the compiler would warn.
    private static func readOrLeave(_ expression: String, _ value: Written) -> String {
        let read = read(expression, value)
        return read == expression ? read : "\(read) ?: return null"
    }

    private static func read(_ expression: String, _ value: Written) -> String {
        value.reading.parts(at: "$", limit: 2).joined(separator: expression)
    }
}

// Names.
extension KotlinFile {
    private static func values(_ reserved: String...) -> Identifiers {
        Identifiers(
            .unchanged, reserved: Set(reserved).union(["it", "_", "toJson", "put", "Companion"]), keywords: keywords,
            escape: { "`\($0)`" })
    }

    /// Types that would hide those that the file uses are called otherwise.
    private static func types(_ reserved: String...) -> Identifiers {
        Identifiers(
            .upper,
            reserved: Set(reserved).union([
                "Any", "Boolean", "Companion", "Double", "JsonArray", "JsonElement", "JsonNull", "JsonObject",
                "JsonPrimitive", "List", "Long", "Map", "NavigationEvent", "Nothing", "String", "Unit",
            ]))
    }

    private static func literal(_ text: String) -> String { text.literal(special: "$") { "\\u\($0)" } }

    private static let keywords: Set<String> = [
        "as", "break", "class", "continue", "do", "else", "false", "for", "fun", "if", "in", "interface", "is", "null",
        "object", "package", "return", "super", "this", "throw", "true", "try", "typealias", "typeof", "val", "var",
        "when", "while",
    ]
}
