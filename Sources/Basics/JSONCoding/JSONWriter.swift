/// Writes JSON text directly as bytes, without building a value first: without white space, with members in the order
/// of the calls.
///
/// It runs for every answer and for every commit. So it owns plain memory instead of an array, and its generic
/// functions are inlinable. The functions that write names are inlinable, too, so that the compiler knows the names'
/// lengths.
///
/// Only this writer uses the memory: it is allocated in `init`, replaced in `grow` and freed in `deinit`. Every write
/// comes after a `reserve` of at least as many bytes.
public struct JSONWriter: ~Copyable {
    @usableFromInline var memory: UnsafeMutablePointer<UInt8>
    @usableFromInline var capacity: Int
    @usableFromInline var written = 0
    @usableFromInline var needsComma = false
    /// Whether a number was written as `null`, because it is infinite or not a number, or a value is nested too deep.
    package fileprivate(set) var isUnwritable = false
    /// How many arrays and objects the value that is being written is in.
    private var depth = 0

    public init(capacity: Int = 256) {
        self.capacity = max(capacity, 16)
        self.memory = .allocate(capacity: self.capacity)
    }

    deinit {
        memory.deallocate()
    }

    /// The text that a function writes.
    ///
    /// - Parameter capacity: a number of bytes that is usually enough. A longer text is copied while it is written.
    public static func bytes(capacity: Int, _ write: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter(capacity: capacity)
        write(&writer)
        return writer.bytes
    }

    /// The text so far.
    public var bytes: [UInt8] {
        Array(UnsafeBufferPointer(start: memory, count: written))
    }

    /// The number of bytes written so far.
    public var count: Int { written }

    @inlinable
    public mutating func object<Failure: Error>(
        _ members: (inout JSONWriter) throws(Failure) -> Void
    ) throws(Failure) {
        open(UInt8(ascii: "{"))
        try members(&self)
        close(UInt8(ascii: "}"))
    }

    @inlinable
    public mutating func array<Failure: Error>(
        _ elements: (inout JSONWriter) throws(Failure) -> Void
    ) throws(Failure) {
        open(UInt8(ascii: "["))
        try elements(&self)
        close(UInt8(ascii: "]"))
    }

    /// Writes a member that is an object.
    @inlinable
    @inline(__always)
    public mutating func object<Failure: Error>(
        _ name: StaticString, _ members: (inout JSONWriter) throws(Failure) -> Void
    ) throws(Failure) {
        self.name(name)
        try object(members)
    }

    /// Writes a member that is an array, each element with a function.
    @inlinable
    @inline(__always)
    public mutating func array<Element>(
        _ name: StaticString, _ elements: [Element], _ write: (Element, inout JSONWriter) -> Void
    ) {
        self.name(name)
        array { writer in for element in elements { write(element, &writer) } }
    }

    /// Writes the name of a member, which must need no escape. The value must follow.
    @inlinable
    @inline(__always)
    public mutating func name(_ name: StaticString) {
        quote(name)
        put(UInt8(ascii: ":"))
        needsComma = false
    }

    @inlinable
    public mutating func member(_ name: StaticString, _ value: some JSONWritable) {
        self.name(name)
        value.write(to: &self)
    }

    /// Writes a member whose value is a string that needs no escape.
    @inlinable
    public mutating func member(_ name: StaticString, word: StaticString) {
        self.name(name)
        quote(word)
        needsComma = true
    }

    /// Writes a member, unless its value is `nil`.
    @inlinable
    public mutating func member(_ name: StaticString, ifAny value: (some JSONWritable)?) {
        if let value { member(name, value) }
    }

    /// Writes a member that is an array of objects, one for each element.
    ///
    /// - Parameter members: writes those of one object.
    @inlinable
    package mutating func member<Elements: Sequence>(
        _ name: StaticString, objects elements: Elements, _ members: (inout JSONWriter, Elements.Element) -> Void
    ) {
        self.name(name)
        array { writer in for element in elements { writer.object { members(&$0, element) } } }
    }

    @inlinable
    public mutating func value(_ value: some JSONWritable) {
        value.write(to: &self)
    }
}

// The functions with which values write themselves.
extension JSONWriter {
    @inlinable
    @inline(__always)
    mutating func open(_ bracket: UInt8) {
        reserve(2)
        separate()
        put(bracket)
        needsComma = false
    }

    @inlinable
    @inline(__always)
    mutating func close(_ bracket: UInt8) {
        reserve(1)
        put(bracket)
        needsComma = true
    }

    /// Writes the name of a member, and escapes it where necessary.
    mutating func name(escaping name: String) {
        string(name)
        reserve(1)
        put(UInt8(ascii: ":"))
        needsComma = false
    }

    /// Writes a string that needs no escape. Reserves one byte more, for the colon after a name.
    @inlinable
    @inline(__always)
    mutating func quote(_ text: StaticString) {
        quote(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Writes a string that needs no escape, given as bytes.
    @inlinable
    @inline(__always)
    mutating func quote(_ text: UnsafeBufferPointer<UInt8>) {
        reserve(text.count + 4)
        separate()
        put(UInt8(ascii: "\""))
        put(text)
        put(UInt8(ascii: "\""))
    }

    mutating func string(_ text: String) {
        text.utf8.span.withUnsafeBufferPointer { string($0) }
        needsComma = true
    }

    private mutating func string(_ text: UnsafeBufferPointer<UInt8>) {
        guard JSONWriter.needsEscape(text) else { return quote(text) }
        reserve(text.count * 6 + 3)
        separate()
        put(UInt8(ascii: "\""))
        for byte in text { JSONWriter.needsEscape(byte) ? escape(byte) : put(byte) }
        put(UInt8(ascii: "\""))
    }

    /// Writes a value, or members of the object that is being written, given as JSON text.
    public mutating func encoded(_ text: [UInt8]) {
        text.withUnsafeBufferPointer { encoded($0) }
    }

    /// Writes a value, or members of the object that is being written, given as a part of a JSON text.
    public mutating func encoded(_ text: ArraySlice<UInt8>) {
        text.withUnsafeBufferPointer { encoded($0) }
    }

    private mutating func encoded(_ text: UnsafeBufferPointer<UInt8>) {
        guard !text.isEmpty else { return }
        reserve(text.count + 1)
        separate()
        put(text)
        needsComma = true
    }

    /// Writes a value that is a number, `true`, `false` or `null`.
    mutating func raw(_ text: String) {
        var text = text
        text.withUTF8 { utf8 in
            reserve(utf8.count + 1)
            separate()
            put(utf8)
        }
        needsComma = true
    }

    /// Writes an array or an object.
    fileprivate mutating func nested(_ write: (inout JSONWriter) -> Void) {
        depth += 1
        if depth > JSON.depthLimit { isUnwritable = true }
        write(&self)
        depth -= 1
    }

    mutating func integer(_ value: Int) {
        guard value >= 0 else { return raw(String(value)) }
        reserve(21)
        separate()
        let start = written
        var rest = value
        repeat {
            put(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
            rest /= 10
        } while rest > 0
        var digits = UnsafeMutableBufferPointer(start: memory + start, count: written - start)
        digits.reverse()
        needsComma = true
    }
}

// Bytes. All functions except `reserve` and `grow` must be called after a `reserve`.
extension JSONWriter {
    @inlinable
    @inline(__always)
    mutating func reserve(_ additional: Int) {
        if capacity - written < additional { grow(additional) }
    }

    @usableFromInline
    mutating func grow(_ additional: Int) {
        let larger = max(capacity * 2, written + additional)
        let replacement = UnsafeMutablePointer<UInt8>.allocate(capacity: larger)
        replacement.update(from: memory, count: written)
        memory.deallocate()
        memory = replacement
        capacity = larger
    }

    @inlinable
    @inline(__always)
    mutating func put(_ byte: UInt8) {
        memory[written] = byte
        written += 1
    }

    @inlinable
    @inline(__always)
    mutating func put(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let base = bytes.baseAddress else { return }
        (memory + written).update(from: base, count: bytes.count)
        written += bytes.count
    }

    @inlinable
    @inline(__always)
    mutating func separate() {
        if needsComma { put(UInt8(ascii: ",")) }
    }

    private static func needsEscape(_ utf8: UnsafeBufferPointer<UInt8>) -> Bool {
        for byte in utf8 where needsEscape(byte) { return true }
        return false
    }

    /// Whether RFC 8259 requires an escape for the byte.
    private static func needsEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private mutating func escape(_ byte: UInt8) {
        put(UInt8(ascii: "\\"))
        switch byte {
        case UInt8(ascii: "\n"): put(UInt8(ascii: "n"))
        case UInt8(ascii: "\r"): put(UInt8(ascii: "r"))
        case UInt8(ascii: "\t"): put(UInt8(ascii: "t"))
        case ..<0x20:
            for digit in [UInt8(ascii: "u"), UInt8(ascii: "0"), UInt8(ascii: "0")] { put(digit) }
            for half in [byte >> 4, byte & 0xF] {
                put(half < 10 ? UInt8(ascii: "0") + half : UInt8(ascii: "a") + half - 10)
            }
        default: put(byte)
        }
    }
}

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
        writer.nested { writer in
            writer.object { writer in
                for member in members {
                    writer.name(escaping: member.name)
                    member.value.write(to: &writer)
                }
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
        case .number(let value):
            if !value.isFinite { writer.isUnwritable = true }
            writer.raw(value.isFinite ? value.description : "null")
        case .longNumber(let value): writer.raw(value.text)
        case .string(let value): value.write(to: &writer)
        case .array(let values): writer.nested { values.write(to: &$0) }
        case .object(let object): object.write(to: &writer)
        }
    }
}
