/// What clients need to know of an app, in a language whose types have names: a file with the events as functions, the ids
/// of tabs, buttons and roles as constants, and the screens as a type. Here is what such files have in common.
protocol TypedFile {
    var app: DescribedApp { get }
    /// Says what wrote the file.
    var head: String { get }

    /// What is between the head and the type that contains all others.
    static var imports: [String] { get }
    /// The beginning of a type that only contains others, and of a constant.
    static var scope: String { get }
    static var constant: String { get }
    /// The constants for the app's name and version.
    static var appConstants: (name: String, version: String) { get }
    /// The types for the ids of tabs, of buttons and of roles.
    static var idTypes: (tabs: String, buttons: String, roles: String) { get }
    static var keywords: Set<String> { get }
    /// Names that no value or function may have, that no parameter may have beside these, and that no choice may have.
    static var reservedValues: Set<String> { get }
    static var reservedFields: Set<String> { get }
    static var reservedChoices: Set<String> { get }
    /// Types that would hide those that the file uses are called otherwise.
    static var reservedTypes: Set<String> { get }

    static func comment(_ text: String) -> String
    static func literal(_ text: String) -> String
    /// A function that makes an event.
    static func function(_ name: String, _ event: String, _ payload: TypedPayload) -> [String]
    /// A type whose values are objects.
    static func definition(_ type: String, _ fields: [TypedField], extends: String) -> [String]
    /// A type for one of some texts; there may be others.
    static func definition(_ type: String, choices: [(identifier: String, literal: String)]) -> [String]
    /// - Parameter inner: the elements of a list or a map; what is optional; the defined type of a record or a choice.
    static func value(_ type: ValueType, _ inner: TypedValue) -> TypedValue

    /// The type for screens, and how one is read.
    var screens: [String] { get }
}

/// A type of a language, and how its values become JSON. In an expression, `$` stands for the value.
struct TypedValue {
    var name = ""
    var writing = "$"
    /// `null` if the JSON does not fit.
    var reading = "$"
}

/// A parameter or a property. One that is not required may be left out.
struct TypedField {
    let name: String
    let identifier: String
    let value: TypedValue
    let isRequired: Bool

    var type: String { value.name }
}

/// The payload of an event: its members as parameters, or one value.
enum TypedPayload { case none, members([TypedField]), value(TypedValue) }

extension TypedFile {
    var text: String {
        var types = Identifiers(form: .upper)
        let (tabs, buttons, roles) = Self.idTypes
        var scopes = Self.types(tabs, buttons, roles, "Screen", "Content")
        let constants = [
            "\(Self.constant) \(Self.appConstants.name) = \(Self.literal(app.name))",
            Self.comment("The version of the app that this file describes."),
            "\(Self.constant) \(Self.appConstants.version) = \(app.version)",
        ]
        let coordinators = app.coordinators.filter { !$0.events.isEmpty }.map { coordinator in
            events(of: coordinator, in: scopes.identifier(for: coordinator.name))
        }
        let others = [
            ids(tabs, app.tabs, "The ids of tabs."), ids(buttons, app.buttons, "The ids of alerts' buttons."),
            ids(roles, app.roleNames, "The names of devices' roles."), screens, contents,
        ]
        let opening = ["// \(head)", ""] + Self.imports + ["\(Self.scope) \(types.identifier(for: app.name))App {"]
        let body = [String].blocks([constants] + coordinators + others)
        return (opening + body.indented + ["}"]).joined(separator: "\n") + "\n"
    }

    private func events(of coordinator: DescribedApp.Coordinator, in scope: String) -> [String] {
        var functions = Self.values()
        var nested = Self.types()
        var blocks: [[String]] = []
        for event in coordinator.events {
            let function = functions.identifier(for: event.type)
            var definitions: [[String]] = []
            var payload = TypedPayload.none
            if let type = event.payload {
                payload =
                    if let members = type.members, !type.isOptional {
                        .members(fields(members, &nested, below: event.type, &definitions))
                    } else {
                        .value(value(type, &nested, named: event.type, &definitions))
                    }
            }
            blocks.append(
                [Self.comment(event.comment)] + Self.function(function, Self.literal(event.type), payload))
            blocks += definitions
        }
        return [
            Self.comment("What the screens of “\(coordinator.name.commented)” send."), "\(Self.scope) \(scope) {",
        ] + [String].blocks(blocks).indented + ["}"]
    }

    private func ids(_ type: String, _ ids: [(id: String, title: String?)], _ comment: String) -> [String] {
        guard !ids.isEmpty else { return [] }
        var identifiers = Self.values()
        let constants = ids.flatMap { id, title in
            (title.map { [Self.comment($0.commented)] } ?? [])
                + ["\(Self.constant) \(identifiers.identifier(for: id)) = \(Self.literal(id))"]
        }
        return [Self.comment(comment), "\(Self.scope) \(type) {"] + constants.indented + ["}"]
    }

    private var contents: [String] {
        var nested = Self.types()
        let blocks = app.contents.flatMap { screen, members in
            definitions(members, &nested, named: nested.identifier(for: screen), below: screen)
        }
        guard !blocks.isEmpty else { return [] }
        return [Self.comment("What screens show beside their parameters."), "\(Self.scope) Content {"]
            + [String].blocks(blocks).indented + ["}"]
    }

    private func fields(
        _ members: [ValueType.Member], _ nested: inout Identifiers, below name: String, _ definitions: inout [[String]]
    ) -> [TypedField] {
        var identifiers = Self.values(Self.reservedFields)
        return members.map { member in
            let value = value(member.type, &nested, named: "\(name) \(member.name)", &definitions)
            return TypedField(
                name: member.name, identifier: identifiers.identifier(for: member.name), value: value,
                isRequired: member.isRequired)
        }
    }

    /// The definitions of a type for a record, and of the types in it.
    func definitions(
        _ members: [ValueType.Member], _ nested: inout Identifiers, named type: String, below name: String,
        extends: String = ""
    ) -> [[String]] {
        var inner: [[String]] = []
        let fields = fields(members, &nested, below: name, &inner)
        return [Self.definition(type, fields, extends: extends)] + inner
    }

    /// A value's type. One is defined for a record, and for a choice.
    ///
    /// - Parameter name: the words of the defined type's name.
    private func value(
        _ type: ValueType, _ nested: inout Identifiers, named name: String, _ definitions: inout [[String]]
    ) -> TypedValue {
        var inner = TypedValue()
        switch type {
        case .list(let other), .map(let other), .optional(let other):
            inner = value(other, &nested, named: name, &definitions)
        case .record(let members):
            inner.name = nested.identifier(for: name)
            definitions += self.definitions(members, &nested, named: inner.name, below: name)
        case .choice(let texts):
            inner.name = nested.identifier(for: name)
            var identifiers = Self.values(Self.reservedChoices)
            let choices = texts.map { (identifiers.identifier(for: $0), Self.literal($0)) }
            definitions.append(
                [Self.comment("There may be others, newer than this file.")]
                    + Self.definition(inner.name, choices: choices))
        case .boolean, .integer, .number, .string, .anything: break
        }
        return Self.value(type, inner)
    }

    static func values(_ reserved: Set<String> = []) -> Identifiers {
        Identifiers(form: .unchanged, used: reservedValues.union(reserved), keywords: keywords)
    }

    static func types(_ reserved: String...) -> Identifiers {
        Identifiers(form: .upper, used: reservedTypes.union(reserved))
    }
}
