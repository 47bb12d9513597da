internal import JSONCoding

/// A field of an event's payload: how a form shows it, and what the server checks of it beyond its type.
///
/// ```swift
/// var fields: [Field] {
///     switch self {
///     case .submit: [Field("email", "E-mail", format: .email), Field("password", minLength: 1)]
///     case .type: [Field(title: "Street")]
///     default: []
///     }
/// }
/// ```
public struct Field: Sendable, Equatable {
    /// What a text is, so that a client can offer the right keyboard. The server does not check it.
    public enum Format: String, Sendable {
        case email, uri, date, time
        case dateTime = "date-time"
    }

    /// The label of the associated value; empty for a single value without a label.
    public let name: String
    /// `nil` for the words of the name.
    public let title: String?
    public let format: Format?
    /// In Unicode characters.
    public let minLength: Int?
    public let maxLength: Int?
    public let minimum: Int?
    public let maximum: Int?

    /// A field of a payload with several fields, or with one that has a label.
    public init(
        _ name: String, _ title: String? = nil, format: Format? = nil, minLength: Int? = nil, maxLength: Int? = nil,
        minimum: Int? = nil, maximum: Int? = nil
    ) {
        self.name = name
        self.title = title
        self.format = format
        self.minLength = minLength
        self.maxLength = maxLength
        self.minimum = minimum
        self.maximum = maximum
    }

    /// The payload itself, if it is a single value without a label.
    public init(
        title: String, format: Format? = nil, minLength: Int? = nil, maxLength: Int? = nil, minimum: Int? = nil,
        maximum: Int? = nil
    ) {
        self.init(
            "", title, format: format, minLength: minLength, maxLength: maxLength, minimum: minimum, maximum: maximum)
    }
}

extension Field {
    /// Whether a payload that can be decoded may violate it.
    var isConstraint: Bool { minLength ?? maxLength ?? minimum ?? maximum != nil }

    /// - Parameter schema: of the payload, as derived from its type.
    func exists(in schema: JSON?) -> Bool {
        name.isEmpty ? schema != nil && schema?["properties"] == nil : schema?["properties"]?[name] != nil
    }

    /// The payload's schema with what the fields say, and a title for every property.
    static func describe(_ fields: [Field], in schema: JSON) -> JSON {
        let schema = schema.withTitles
        guard var object = schema.object else { return schema }
        guard var properties = object["properties"]?.object else {
            return fields.first { $0.name.isEmpty }?.describe(schema) ?? schema
        }
        for field in fields { properties[field.name] = properties[field.name].map(field.describe) }
        object["properties"] = .object(properties)
        return .object(object)
    }

    /// Of a value that may be left out, the schema has an alternative that is `null`.
    private func describe(_ schema: JSON) -> JSON {
        guard var object = schema.object else { return schema }
        if let title { object["title"] = .string(title) }
        if let alternatives = object["anyOf"]?.array {
            object["anyOf"] = .array(alternatives.map { $0["type"] == "null" ? $0 : constrain($0) })
            return .object(object)
        }
        return constrain(.object(object))
    }

    private func constrain(_ schema: JSON) -> JSON {
        guard var object = schema.object else { return schema }
        if let format { object["format"] = .string(format.rawValue) }
        for (keyword, bound) in [
            ("minLength", minLength), ("maxLength", maxLength), ("minimum", minimum), ("maximum", maximum),
        ] {
            if let bound { object[keyword] = .integer(bound) }
        }
        return .object(object)
    }
}

extension JSON {
    /// A schema in which every property has a title: the words of its name.
    fileprivate var withTitles: JSON {
        guard var schema = object else { return self }
        if let alternatives = schema["anyOf"]?.array { schema["anyOf"] = .array(alternatives.map(\.withTitles)) }
        schema["items"] = schema["items"]?.withTitles
        if let properties = schema["properties"]?.object {
            schema["properties"] = .object(
                JSONObject(
                    properties.members.map { property in
                        var described = property.value.withTitles.object ?? [:]
                        described["title"] = .string(property.name.sentence)
                        return (property.name, .object(described))
                    }))
        }
        return .object(schema)
    }
}
