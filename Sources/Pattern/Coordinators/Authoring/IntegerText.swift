public import JSONCoding

/// An integer that clients receive and send as text: `"9007199254740993"`.
///
/// JSON's numbers have no bound, but most programs in JavaScript round them beyond 2⁵³. So use a text for a 64-bit id
/// that every client must return unchanged: in the payload `case select(id: IntegerText<UInt64>)`, and in a screen's
/// parameters `params: ["id": IntegerText(product.id).json]`.
public struct IntegerText<Integer: FixedWidthInteger & Sendable>: Sendable, Hashable {
    public var value: Integer

    public init(_ value: Integer) {
        self.value = value
    }

    /// - Parameter text: as it travels, also in a link; `nil` unless it is the integer in its one spelling.
    public init?(_ text: String) {
        guard let value = Integer(text), String(value) == text else { return nil }
        self.value = value
    }

    /// The text, for a screen's parameters.
    public var json: JSON { .string(description) }
}

extension IntegerText: CustomStringConvertible {
    public var description: String { String(value) }
}

extension IntegerText: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let value = IntegerText(text)?.value else {
            throw DecodingError.typeMismatch(
                Integer.self, .init(codingPath: container.codingPath, debugDescription: ""))
        }
        self.value = value
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(String(value))
    }
}

extension IntegerText: ExpressibleByIntegerLiteral where Integer: ExpressibleByIntegerLiteral {
    public init(integerLiteral value: Integer.IntegerLiteralType) {
        self.init(Integer(integerLiteral: value))
    }
}

extension IntegerText: KnownSchema {
    static func probe(_ probe: SchemaProbe) -> Self {
        let sign = Integer.isSigned ? "-?" : ""
        probe.trace.note(["type": "string", "pattern": .string("^(0|\(sign)[1-9][0-9]*)$")])
        return IntegerText(probe.json?.string.flatMap { Integer($0) } ?? 0)
    }
}
