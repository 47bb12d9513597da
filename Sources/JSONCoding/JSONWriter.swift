/// Writes JSON text straight into bytes: no value in between, no white space, members in the order of the calls.
public struct JSONWriter: Sendable {
    public private(set) var bytes: [UInt8] = []
    private var needsComma = false

    public init(capacity: Int = 256) {
        bytes.reserveCapacity(capacity)
    }

    public mutating func object<Failure: Error>(
        _ members: (inout JSONWriter) throws(Failure) -> Void
    ) throws(Failure) {
        try enclosed(UInt8(ascii: "{"), UInt8(ascii: "}"), members)
    }

    public mutating func array<Failure: Error>(
        _ elements: (inout JSONWriter) throws(Failure) -> Void
    ) throws(Failure) {
        try enclosed(UInt8(ascii: "["), UInt8(ascii: "]"), elements)
    }

    public mutating func array<Element: JSONWritable>(_ elements: some Sequence<Element>) {
        array { for element in elements { element.write(to: &$0) } }
    }

    /// A member's name; its value must follow.
    public mutating func name(_ name: String) {
        separate()
        quote(name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    public mutating func member(_ name: String, _ value: some JSONWritable) {
        self.name(name)
        value.write(to: &self)
    }

    /// A member that is left out when there is no value.
    public mutating func member(_ name: String, ifAny value: (some JSONWritable)?) {
        if let value { member(name, value) }
    }

    public mutating func value(_ value: some JSONWritable) {
        value.write(to: &self)
    }

    /// A value that is JSON text already.
    public mutating func raw(_ text: some Sequence<UInt8>) {
        separate()
        bytes.append(contentsOf: text)
        needsComma = true
    }

    mutating func string(_ text: String) {
        separate()
        quote(text)
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
    }

    private mutating func enclosed<Failure: Error>(
        _ opening: UInt8, _ closing: UInt8, _ contents: (inout JSONWriter) throws(Failure) -> Void
    ) throws(Failure) {
        separate()
        bytes.append(opening)
        needsComma = false
        try contents(&self)
        bytes.append(closing)
        needsComma = true
    }

    /// Escapes what RFC 8259 demands, and no more.
    private mutating func quote(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        var text = text
        text.withUTF8 { utf8 in
            var clean = 0
            for (index, byte) in utf8.enumerated()
            where byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
                bytes.append(contentsOf: utf8[clean..<index])
                escape(byte)
                clean = index + 1
            }
            bytes.append(contentsOf: utf8[clean...])
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func escape(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\n"): bytes.append(contentsOf: #"\n"#.utf8)
        case UInt8(ascii: "\r"): bytes.append(contentsOf: #"\r"#.utf8)
        case UInt8(ascii: "\t"): bytes.append(contentsOf: #"\t"#.utf8)
        case ..<0x20:
            let hexadecimal = String(byte, radix: 16)
            bytes.append(contentsOf: (hexadecimal.count == 1 ? #"\u000"# : #"\u00"#).utf8)
            bytes.append(contentsOf: hexadecimal.utf8)
        default: bytes.append(contentsOf: [UInt8(ascii: "\\"), byte])
        }
    }
}

/// What can write itself as one JSON value.
public protocol JSONWritable {
    func write(to writer: inout JSONWriter)
}

extension JSONWritable {
    /// The value as JSON text without white space.
    public func jsonBytes() -> [UInt8] {
        var writer = JSONWriter()
        write(to: &writer)
        return writer.bytes
    }
}

extension String: JSONWritable {
    public func write(to writer: inout JSONWriter) { writer.string(self) }
}

extension Int: JSONWritable {
    public func write(to writer: inout JSONWriter) { writer.raw(String(self).utf8) }
}

extension Bool: JSONWritable {
    public func write(to writer: inout JSONWriter) { writer.raw((self ? "true" : "false").utf8) }
}

extension Array: JSONWritable where Element: JSONWritable {
    public func write(to writer: inout JSONWriter) { writer.array(self) }
}

extension JSONObject: JSONWritable {
    public func write(to writer: inout JSONWriter) {
        writer.object { for member in members { $0.member(member.name, member.value) } }
    }
}

extension JSON: JSONWritable {
    public func write(to writer: inout JSONWriter) {
        switch self {
        case .null: writer.raw("null".utf8)
        case .bool(let value): value.write(to: &writer)
        case .integer(let value): value.write(to: &writer)
        case .number(let value): writer.raw((value.isFinite ? value.description : "null").utf8)
        case .string(let value): value.write(to: &writer)
        case .array(let values): writer.array(values)
        case .object(let object): object.write(to: &writer)
        }
    }
}
