/// A type that can write itself as one JSON value.
public protocol JSONWritable {
    func write(to writer: inout JSONWriter)
}

extension String: JSONWritable {
    public func write(to writer: inout JSONWriter) { writer.string(self) }
}

extension Int: JSONWritable {
    public func write(to writer: inout JSONWriter) { writer.integer(self) }
}

extension Bool: JSONWritable {
    public func write(to writer: inout JSONWriter) { writer.raw(self ? "true" : "false") }
}

extension Array: JSONWritable where Element: JSONWritable {
    @inlinable
    public func write(to writer: inout JSONWriter) {
        writer.array { writer in for element in self { element.write(to: &writer) } }
    }
}

extension JSONObject: JSONWritable {
    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            for member in members {
                writer.name(escaping: member.name)
                member.value.write(to: &writer)
            }
        }
    }
}

extension JSON: JSONWritable {
    public func write(to writer: inout JSONWriter) {
        switch self {
        case .null: writer.raw("null")
        case .bool(let value): value.write(to: &writer)
        case .integer(let value): value.write(to: &writer)
        case .number(let value): writer.raw(value.isFinite ? value.description : "null")
        case .string(let value): value.write(to: &writer)
        case .array(let values): values.write(to: &writer)
        case .object(let object): object.write(to: &writer)
        }
    }
}
