/// A parameter of a statement. Arrays have one dimension.
public enum PostgresValue: Sendable, Equatable {
    case integer(Int?)
    case text(String?)
    /// Text as UTF-8. PostgreSQL's text has no NUL.
    case utf8([UInt8]?)
    case bytes([UInt8]?)
    case integers([Int?])
    case texts([String?])
    case utf8s([[UInt8]?])
    case byteStrings([[UInt8]?])
}

/// Object identifiers of PostgreSQL's types (`pg_type.dat`).
enum TypeID {
    static let bytea: UInt32 = 17
    static let int8: UInt32 = 20
    static let text: UInt32 = 25
    static let byteaArray: UInt32 = 1001
    static let textArray: UInt32 = 1009
    static let int8Array: UInt32 = 1016
}

extension PostgresValue {
    var type: UInt32 {
        switch self {
        case .integer: TypeID.int8
        case .text, .utf8: TypeID.text
        case .bytes: TypeID.bytea
        case .integers: TypeID.int8Array
        case .texts, .utf8s: TypeID.textArray
        case .byteStrings: TypeID.byteaArray
        }
    }
}

/// The parameters of one run, in PostgreSQL's binary format, one after the other in one buffer.
struct EncodedValues {
    private(set) var bytes: [UInt8] = []
    /// Where each begins, and its length; `nil` for NULL.
    private(set) var places: [(start: Int, length: Int)?] = []

    init(_ values: [PostgresValue]) {
        bytes.reserveCapacity(values.reduce(16) { $0 + $1.sizeHint })
        places.reserveCapacity(values.count)
        for value in values { append(value) }
    }

    private mutating func append(_ value: PostgresValue) {
        let start = bytes.count
        let isNull =
            switch value {
            case .integer(let number): place(number) { $0.append(integer: $1) }
            case .text(let text): place(text) { $0.bytes += $1.utf8 }
            case .utf8(let text), .bytes(let text): place(text) { $0.bytes += $1 }
            case .integers(let elements):
                array(TypeID.int8, elements) { encoded, number in
                    encoded.append(word: 8)
                    encoded.append(integer: number)
                }
            case .texts(let elements): array(TypeID.text, elements) { $0.append(element: $1.utf8) }
            case .utf8s(let elements): array(TypeID.text, elements) { $0.append(element: $1) }
            case .byteStrings(let elements): array(TypeID.bytea, elements) { $0.append(element: $1) }
            }
        places.append(isNull ? nil : (start, bytes.count - start))
    }

    /// - Returns: whether it is NULL.
    private mutating func place<Value>(_ value: Value?, _ append: (inout EncodedValues, Value) -> Void) -> Bool {
        guard let value else { return true }
        append(&self, value)
        return false
    }

    /// As array_recv() reads it: dimensions, whether there are NULLs, element type, length, first index; then each
    /// element with its length.
    private mutating func array<Element>(
        _ type: UInt32, _ elements: [Element?], _ append: (inout EncodedValues, Element) -> Void
    ) -> Bool {
        self.append(word: elements.isEmpty ? 0 : 1)
        self.append(word: elements.contains { $0 == nil } ? 1 : 0)
        self.append(word: Int(type))
        if !elements.isEmpty {
            self.append(word: elements.count)
            self.append(word: 1)
        }
        for element in elements {
            if let element { append(&self, element) } else { self.append(word: -1) }
        }
        return false
    }

    private mutating func append(element: some Collection<UInt8>) {
        append(word: element.count)
        bytes += element
    }

    private mutating func append(integer: Int) {
        withUnsafeBytes(of: Int64(integer).bigEndian) { bytes += $0 }
    }

    private mutating func append(word: Int) {
        withUnsafeBytes(of: Int32(truncatingIfNeeded: word).bigEndian) { bytes += $0 }
    }
}

extension PostgresValue {
    /// About how many bytes it takes.
    fileprivate var sizeHint: Int {
        switch self {
        case .integer: 8
        case .text(let text): text?.utf8.count ?? 0
        case .utf8(let text), .bytes(let text): text?.count ?? 0
        case .integers(let elements): 20 + 12 * elements.count
        case .texts(let elements): elements.reduce(20) { $0 + 4 + ($1?.utf8.count ?? 0) }
        case .utf8s(let elements), .byteStrings(let elements): elements.reduce(20) { $0 + 4 + ($1?.count ?? 0) }
        }
    }
}
