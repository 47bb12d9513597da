/// Header fields in the order of their arrival. Names are compared without regard to case.
///
/// A server receives some ten fields with every request and uses three of them, so all of them share one block of
/// memory, and a value becomes a `String` only when it is requested.
public struct HTTPHeaders: Sendable {
    /// Each field is `Sizes`, its name, NUL, its value, NUL, so both can be read as C strings in place.
    private var bytes: [UInt8]

    /// The value of the first field of that name.
    public subscript(name: StaticString) -> String? {
        withFields { fields in fields.next(named: name)?.text }
    }

    /// The value of the field of that name; `nil` if there is none, or more than one.
    public func only(_ name: StaticString) -> String? {
        withFields { fields in
            guard let field = fields.next(named: name), fields.next(named: name) == nil else { return nil }
            return field.text
        }
    }

    /// The values of all fields of that name, in order.
    public func values(_ name: StaticString) -> [String] {
        withFields { fields in
            var values: [String] = []
            while let field = fields.next(named: name) { values.append(field.text) }
            return values
        }
    }

    public mutating func append(_ name: StaticString, _ value: String) {
        var value = value
        value.withUTF8 { value in
            let name = UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
            append(Field(name: name, value: UnsafeRawBufferPointer(value)))
        }
    }

    private mutating func append(_ field: Field) {
        let old = bytes
        bytes = Array(unsafeUninitializedCapacity: old.count + field.size) { bytes, count in
            let bytes = UnsafeMutableRawBufferPointer(bytes)
            old.withUnsafeBytes { bytes.copyMemory(from: $0) }
            field.write(to: UnsafeMutableRawBufferPointer(rebasing: bytes[old.count...]))
            count = bytes.count
        }
    }

    /// Gives another value to each field of that name.
    public mutating func replace(_ name: StaticString, with value: String) {
        let old = self
        bytes = []
        old.withFields { fields in
            while let field = fields.next() {
                if field.isNamed(name) { append(name, value) } else { append(field) }
            }
        }
    }

    public mutating func append(contentsOf other: HTTPHeaders) {
        bytes += other.bytes
    }
}

extension HTTPHeaders: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral elements: (StaticString, String)...) {
        bytes = []
        for (name, value) in elements { append(name, value) }
    }
}

// Fields as bytes.
extension HTTPHeaders {
    /// A field whose bytes are elsewhere: valid only as long as they are.
    struct Field {
        let name: UnsafeRawBufferPointer
        let value: UnsafeRawBufferPointer

        var text: String { String(decoding: value, as: UTF8.self) }

        /// Without the white space around its value (RFC 9110, section 5.5).
        var trimmed: Field {
            var value = value[...]
            while let last = value.last, HeadCheck.isWhiteSpace(last) { value.removeLast() }
            while let first = value.first, HeadCheck.isWhiteSpace(first) { value.removeFirst() }
            return Field(name: name, value: UnsafeRawBufferPointer(rebasing: value))
        }

        /// Compares without regard to case: the two cases of an ASCII letter differ in one bit, and no two other
        /// characters of a field name differ in that bit only (RFC 9110, section 5.6.2).
        func isNamed(_ other: StaticString) -> Bool {
            guard name.count == other.utf8CodeUnitCount else { return false }
            let other = other.utf8Start
            for index in name.indices where name[index] | 0x20 != other[index] | 0x20 { return false }
            return true
        }
    }

    fileprivate struct Sizes {
        let name: UInt32
        let value: UInt32
    }

    /// Iterates over the fields; a NUL follows each name and each value.
    struct Fields: IteratorProtocol {
        fileprivate let bytes: UnsafeRawBufferPointer
        fileprivate var position = 0

        mutating func next() -> Field? {
            guard position < bytes.count, let start = bytes.baseAddress else { return nil }
            let sizes = bytes.loadUnaligned(fromByteOffset: position, as: Sizes.self)
            let name = start + position + MemoryLayout<Sizes>.size
            let value = name + Int(sizes.name) + 1
            position += MemoryLayout<Sizes>.size + Int(sizes.name) + Int(sizes.value) + 2
            return Field(
                name: UnsafeRawBufferPointer(start: name, count: Int(sizes.name)),
                value: UnsafeRawBufferPointer(start: value, count: Int(sizes.value)))
        }

        /// The next field of that name.
        mutating func next(named name: StaticString) -> Field? {
            while let field = next() { if field.isNamed(name) { return field } }
            return nil
        }
    }

    /// The fields are valid during the call only.
    func withFields<Result>(_ body: (inout Fields) -> Result) -> Result {
        bytes.withUnsafeBytes { bytes in
            var fields = Fields(bytes: bytes)
            return body(&fields)
        }
    }

    /// Bytes that a field takes besides its name and its value.
    static let overhead = MemoryLayout<Sizes>.size + 2

    /// Fields that `fill` writes, in no more than `capacity` bytes.
    init(capacity: Int, _ fill: (inout FieldWriter) -> Void) {
        bytes = Array(unsafeUninitializedCapacity: capacity) { bytes, count in
            var writer = FieldWriter(rest: UnsafeMutableRawBufferPointer(bytes))
            fill(&writer)
            count = bytes.count - writer.rest.count
        }
    }

    /// Writes one field after the other. A field for which there is no room is left out.
    struct FieldWriter {
        fileprivate var rest: UnsafeMutableRawBufferPointer

        mutating func append(_ field: Field) {
            guard field.size <= rest.count else { return }
            field.write(to: rest)
            rest = UnsafeMutableRawBufferPointer(rebasing: rest[field.size...])
        }
    }
}

extension HTTPHeaders.Field {
    fileprivate var size: Int { name.count + value.count + HTTPHeaders.overhead }

    /// - Parameter bytes: at least as many as the field needs.
    fileprivate func write(to bytes: UnsafeMutableRawBufferPointer) {
        let sizes = HTTPHeaders.Sizes(name: UInt32(name.count), value: UInt32(value.count))
        bytes.storeBytes(of: sizes, as: HTTPHeaders.Sizes.self)
        let nameStart = MemoryLayout<HTTPHeaders.Sizes>.size
        let valueStart = nameStart + name.count + 1
        UnsafeMutableRawBufferPointer(rebasing: bytes[nameStart...]).copyMemory(from: name)
        bytes[valueStart - 1] = 0
        UnsafeMutableRawBufferPointer(rebasing: bytes[valueStart...]).copyMemory(from: value)
        bytes[valueStart + value.count] = 0
    }
}
