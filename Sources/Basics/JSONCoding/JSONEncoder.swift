extension JSON {
    /// The value that an `Encodable` encodes as.
    ///
    /// - Parameter userInfo: the `userInfo` of the encoder that the type's own `encode(to:)` gets.
    /// - Throws: `JSONEncodingError` for a value that JSON cannot hold, and any error of the type's own `encode(to:)`.
    public init(encoding value: some Encodable, userInfo: [CodingUserInfoKey: Any] = [:]) throws {
        let slot = Slot(userInfo: userInfo)
        try slot.encode(value, at: [])
        self = slot.json
    }
}

extension JSONObject {
    /// The object that an `Encodable` encodes as: `Screen("product", params: try JSONObject(encoding: product))`.
    ///
    /// - Throws: `JSONEncodingError` for a value that is encoded as anything else, or that JSON cannot hold, and any error
    ///   of the type's own `encode(to:)`.
    public init(encoding value: some Encodable) throws {
        guard let object = try JSON(encoding: value).object else { throw JSONEncodingError(noObject: value) }
        self = object
    }
}

/// Why a value cannot be written as JSON, and where it is. It never contains any part of the value itself.
public struct JSONEncodingError: Error, Equatable, Sendable {
    /// The names and positions that lead to the value.
    public let path: [String]
    /// What is wrong with the value, such as “is infinite or not a number”.
    public let reason: String
}

extension JSONEncodingError {
    fileprivate init(_ path: [any CodingKey], _ reason: String) {
        self.init(path: path.map(\.stringValue), reason: reason)
    }

    /// - Parameter json: a value that contains something that JSON cannot hold.
    package init(unwritable json: JSON) {
        let (path, reason) = json.firstUnwritable() ?? ([], JSONEncodingError.noNumber)
        // The names of what is nested too deep say enough at the beginning.
        self.init(path: Array(path.prefix(8)), reason: reason)
    }

    fileprivate init(noObject value: some Encodable) {
        self.init(path: [], reason: "is a \(type(of: value)), which is not encoded as an object")
    }

    fileprivate static let noNumber = "is infinite or not a number"
}

/// The place of a value that is still being encoded. The containers share it, and fill it.
private final class Slot {
    enum Content {
        case nothing
        case value(JSON)
        case members([(name: String, slot: Slot)])
        case elements([Slot])
    }

    var content = Content.nothing
    let userInfo: [CodingUserInfoKey: Any]

    init(userInfo: [CodingUserInfoKey: Any]) {
        self.userInfo = userInfo
    }

    /// The encoded value. A type that encodes nothing at all becomes an empty object.
    var json: JSON {
        switch content {
        case .nothing: .object(JSONObject())
        case .value(let value): value
        case .members(let members): .object(JSONObject(members.map { ($0.name, $0.slot.json) }))
        case .elements(let elements): .array(elements.map(\.json))
        }
    }

    func member(_ name: String) -> Slot {
        let slot = Slot(userInfo: userInfo)
        guard case .members(var members) = content else {
            content = .members([(name, slot)])
            return slot
        }
        content = .nothing
        members.append((name, slot))
        content = .members(members)
        return slot
    }

    func element() -> Slot {
        let slot = Slot(userInfo: userInfo)
        guard case .elements(var elements) = content else {
            content = .elements([slot])
            return slot
        }
        content = .nothing
        elements.append(slot)
        content = .elements(elements)
        return slot
    }

    var elementCount: Int {
        guard case .elements(let elements) = content else { return 0 }
        return elements.count
    }

    func encode(_ value: some Encodable, at codingPath: [any CodingKey]) throws {
        if let json = try JSON(knownValue: value, at: codingPath) { return content = .value(json) }
        try value.encode(to: JSONEncoder(slot: self, codingPath: codingPath))
        if let unordered = value as? any Unordered { order(unordered) }
    }

    /// Sorts the encoded elements of an unordered collection, so that equal values are encoded alike.
    private func order(_ collection: any Unordered) {
        if let members = collection.hasNamedKeys ? pairs : nil { content = .members(members) }
        switch content {
        case .members(let members): content = .members(members.sorted { $0.name < $1.name })
        case .elements(let elements):
            let size = collection.elementSize
            var groups = stride(from: 0, to: elements.count, by: size).map { Array(elements[$0..<$0 + size]) }
            let keys = groups.map { $0[0].json.description }
            groups = zip(keys, groups).sorted { $0.0 < $1.0 }.map(\.1)
            content = .elements(Array(groups.joined()))
        default: break
        }
    }

    /// The elements, in which keys and values alternate, as members; `nil` if a key is neither a text nor an integer.
    private var pairs: [(name: String, slot: Slot)]? {
        guard case .elements(let elements) = content else { return nil }
        var members: [(name: String, slot: Slot)] = []
        for index in stride(from: 0, to: elements.count - 1, by: 2) {
            switch elements[index].json {
            case .string(let name): members.append((name, elements[index + 1]))
            case let key where key.integer(as: Int128.self) != nil:
                members.append((key.description, elements[index + 1]))
            default: return nil
            }
        }
        return members
    }
}

extension JSON {
    /// The JSON of a value of one of the types that have a form of their own here, instead of that of their
    /// `encode(to:)`.
    ///
    /// - Returns: `nil` for all other types.
    fileprivate init?(knownValue value: some Encodable, at codingPath: [any CodingKey]) throws {
        let type: Any.Type = type(of: value)
        if type == JSON.self, let json = value as? JSON {
            self = json
        } else if type == Date.self, let date = value as? Date {
            guard JSON.canHold(date) else { throw JSONEncodingError(codingPath, "is not in the years 1 to 9999") }
            self.init(date)
        } else if type == Decimal.self, let decimal = value as? Decimal {
            guard !decimal.isNaN else { throw JSONEncodingError(codingPath, JSONEncodingError.noNumber) }
            self.init(decimal)
        } else if type == URL.self, let url = value as? URL {
            self = .string(url.absoluteString)
        } else if type == UUID.self, let uuid = value as? UUID {
            self = .string(uuid.uuidString)
        } else if type == Data.self, let data = value as? Data {
            self = .string(data.base64EncodedString())
        } else {
            return nil
        }
    }
}

private struct JSONEncoder: Encoder, SingleValueEncodingContainer {
    let slot: Slot
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { slot.userInfo }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        if case .nothing = slot.content { slot.content = .members([]) }
        return KeyedEncodingContainer(KeyedContainer(slot: slot, codingPath: codingPath))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        if case .nothing = slot.content { slot.content = .elements([]) }
        return UnkeyedContainer(slot: slot, codingPath: codingPath)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }
}

private struct KeyedContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let slot: Slot
    let codingPath: [any CodingKey]

    // Fast path: values of common types are encoded without a container of their own.
    func encodeNil(forKey key: Key) { put(.null, key) }
    func encode(_ value: Bool, forKey key: Key) { put(.bool(value), key) }
    func encode(_ value: String, forKey key: Key) { put(.string(value), key) }
    func encode(_ value: Int, forKey key: Key) { put(.integer(value), key) }

    func encode(_ value: some Encodable, forKey key: Key) throws {
        try slot.member(key.stringValue).encode(value, at: codingPath + [key])
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy keyType: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        nested(key).container(keyedBy: keyType)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { nested(key).unkeyedContainer() }
    func superEncoder() -> any Encoder { nested(TextKey(stringValue: "super")) }
    func superEncoder(forKey key: Key) -> any Encoder { nested(key) }

    private func put(_ value: JSON, _ key: Key) {
        slot.member(key.stringValue).content = .value(value)
    }

    private func nested(_ key: any CodingKey) -> JSONEncoder {
        JSONEncoder(slot: slot.member(key.stringValue), codingPath: codingPath + [key])
    }
}

private struct UnkeyedContainer: UnkeyedEncodingContainer {
    let slot: Slot
    let codingPath: [any CodingKey]
    var count: Int { slot.elementCount }

    func encodeNil() { slot.element().content = .value(.null) }

    func encode(_ value: some Encodable) throws { try nested().encode(value) }

    func nestedContainer<NestedKey: CodingKey>(keyedBy keyType: NestedKey.Type) -> KeyedEncodingContainer<NestedKey> {
        nested().container(keyedBy: keyType)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { nested().unkeyedContainer() }
    func superEncoder() -> any Encoder { nested() }

    private func nested() -> JSONEncoder {
        let path = codingPath + [TextKey(intValue: count)]
        return JSONEncoder(slot: slot.element(), codingPath: path)
    }
}

// A single value.
extension JSONEncoder {
    func encodeNil() { slot.content = .value(.null) }
    func encode(_ value: Bool) { slot.content = .value(.bool(value)) }
    func encode(_ value: String) { slot.content = .value(.string(value)) }

    /// Writes only the digits that distinguish the value from other 32-bit floats.
    func encode(_ value: Float) throws {
        let short = Double(value.description) ?? .nan
        try encode(Float(short) == value ? short : Double(value))
    }

    func encode(_ value: Double) throws {
        guard value.isFinite else { throw JSONEncodingError(codingPath, JSONEncodingError.noNumber) }
        slot.content = .value(.number(value))
    }

    func encode(_ value: Int) { slot.content = .value(.integer(value)) }
    func encode(_ value: Int8) { encode(integer: value) }
    func encode(_ value: Int16) { encode(integer: value) }
    func encode(_ value: Int32) { encode(integer: value) }
    func encode(_ value: Int64) { encode(integer: value) }
    func encode(_ value: UInt) { encode(integer: value) }
    func encode(_ value: UInt8) { encode(integer: value) }
    func encode(_ value: UInt16) { encode(integer: value) }
    func encode(_ value: UInt32) { encode(integer: value) }
    func encode(_ value: UInt64) { encode(integer: value) }
    func encode(_ value: Int128) { encode(integer: value) }
    func encode(_ value: UInt128) { encode(integer: value) }
    func encode(_ value: some Encodable) throws { try slot.encode(value, at: codingPath) }

    private func encode(integer value: some BinaryInteger) { slot.content = .value(JSON(integer: value)) }
}
