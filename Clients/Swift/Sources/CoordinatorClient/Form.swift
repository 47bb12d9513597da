import Foundation

/// A field of a form, as a control's schema describes it.
public struct FormField: Sendable, Equatable, Identifiable {
    /// The member of the payload; `nil` if the field's value is the payload itself.
    public let name: String?
    public let title: String
    public let kind: Kind
    /// Whether it has to be filled in.
    public let isRequired: Bool
    /// A value that would be accepted; never of a secret.
    public let example: JSONValue?
    /// What the field shows at first; `nil` if nothing, and of a secret.
    public let initialValue: JSONValue?

    public var id: String { name ?? "" }

    /// How a field is drawn.
    public enum Kind: Sendable, Equatable {
        /// Text of a format, such as `email`.
        case text(format: String?)
        /// Text that is not shown, such as a password.
        case secret
        case integer
        case number
        case toggle
        case choice([Choice])
        /// A list, a dictionary or the like, which is entered as JSON.
        case json
    }

    /// A value that can be chosen.
    public struct Choice: Sendable, Equatable {
        public let value: JSONValue
        public let title: String
    }

    /// The value that a text means. Text that means none, such as letters in a number's field, is the value itself: the
    /// server's fault then says what it must be. `nil`, which leaves the field out, if the text is empty, except of text
    /// that is required.
    public func value(of text: String) -> JSONValue? {
        let value: JSONValue? =
            switch kind {
            case .text, .secret: isRequired ? .string(text) : nil
            case .integer, .number: JSONValue(parsing: text).flatMap { $0.isNumber ? $0 : nil }
            case .toggle: Bool(text).map { .bool($0) }
            case .choice(let choices): choices.first { $0.title == text || $0.value.description == text }?.value
            case .json: JSONValue(parsing: text)
            }
        return value ?? (text.isEmpty ? nil : .string(text))
    }

    /// The text that the field shows at first: `value(of:)` makes `initialValue` of it. Empty if that is nothing.
    public var initialText: String {
        guard let initialValue else { return "" }
        if case .choice(let choices) = kind, let choice = choices.first(where: { $0.value == initialValue }) {
            return choice.title
        }
        return initialValue.string ?? initialValue.description
    }

    fileprivate init(name: String?, schema: JSONValue, isRequired: Bool, example: JSONValue?) {
        self.name = name
        self.isRequired = isRequired
        title = schema["title"]?.string ?? name ?? "Value"
        let isSecret = schema["writeOnly"]?.bool == true
        self.example = isSecret ? nil : example
        initialValue = isSecret ? nil : schema["default"]
        let choices = schema.choices
        kind =
            switch schema["type"]?.string {
            case _ where !choices.isEmpty: .choice(choices)
            case "string" where isSecret: .secret
            case "string": .text(format: schema["format"]?.string)
            case "integer": .integer
            case "number": .number
            case "boolean": .toggle
            default: .json
            }
    }
}

extension Control {
    /// The fields of the form; none if the control is a button.
    public var fields: [FormField] {
        guard let schema, payload == nil else { return [] }
        guard schema["type"]?.string == "object", let properties = schema["properties"]?.object else {
            return [FormField(name: nil, schema: schema, isRequired: true, example: example)]
        }
        let required = schema["required"]?.array?.compactMap(\.string) ?? []
        // Members of JSON have no order here: the required ones come first, in the order in which they are required.
        let others = properties.keys.filter { !required.contains($0) }.sorted()
        return (required + others).compactMap { name in
            properties[name].map {
                FormField(name: name, schema: $0, isRequired: required.contains(name), example: example?[name])
            }
        }
    }

    /// What a tap on the control sends; for a form, with what the user has entered into `fields`, by their `id`. A field
    /// without a value is left out.
    public func event(entering values: [String: JSONValue] = [:]) -> NavigationEvent {
        let fields = fields
        if fields.isEmpty { return NavigationEvent(type, payload: payload) }
        if let only = fields.first, only.name == nil { return NavigationEvent(type, payload: values[only.id]) }
        let members = fields.compactMap { field in values[field.id].map { (field.id, $0) } }
        return NavigationEvent(type, payload: .object(Dictionary(members) { $1 }))
    }
}

extension JSONValue {
    /// The value that a text of JSON means; `nil` if it is none.
    public init?(parsing text: String) {
        guard let value = try? JSONDecoder.ofAPI.decode(JSONValue.self, from: Data(text.utf8)) else { return nil }
        self = value
    }

    fileprivate var isNumber: Bool {
        switch self {
        case .integer, .number, .decimal: true
        default: false
        }
    }

    /// What a schema lets the user choose, with titles where it has some.
    fileprivate var choices: [FormField.Choice] {
        let titled = self["oneOf"]?.array?.compactMap { choice in
            choice["const"].map { FormField.Choice(value: $0, title: choice["title"]?.string ?? $0.description) }
        }
        if let titled, !titled.isEmpty { return titled }
        return self["enum"]?.array?.map { FormField.Choice(value: $0, title: $0.description) } ?? []
    }
}
