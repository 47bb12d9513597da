internal import JSONCoding

extension JSON {
    /// The value as Swift source.
    var literal: String {
        switch self {
        case .null: ".null"
        case .bool, .integer, .number: description
        case .longNumber(let number): "JSON(parsing: Array(\"\(number.text)\".utf8))"
        case .string(let text): text.literal
        case .array(let values): "[\(values.map(\.literal).joined(separator: ", "))]"
        case .object(let object) where object.isEmpty: "[:]"
        case .object(let object):
            "[\(object.members.map { "\($0.name.literal): \($0.value.literal)" }.joined(separator: ", "))]"
        }
    }
}

extension String {
    /// The text as Swift source.
    var literal: String { debugDescription }
}
