extension JSON {
    /// The value that an `Encodable` encodes as.
    ///
    /// - Parameter userInfo: what the type's own `encode(to:)` finds in its encoder.
    /// - Throws: `EncodingError` for a number that JSON cannot hold, and what the type's own `encode(to:)` throws.
    public init(encoding value: some Encodable, userInfo: [CodingUserInfoKey: Any] = [:]) throws {
        let slot = Slot(userInfo: userInfo)
        try slot.encode(value, at: [])
        self = slot.json
    }
}

/// The place of a value that is still being encoded; containers fill it through a shared reference.
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

    /// A type that encodes nothing at all becomes an empty object.
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
        if let json = value as? JSON { return content = .value(json) }
        if type(of: value) == Date.self, let date = value as? Date {
            guard JSON.canHold(date) else {
                throw EncodingError.invalidValue(
                    date, .init(codingPath: codingPath, debugDescription: "the year has more than four digits"))
            }
            return content = .value(JSON(date))
        }
        try value.encode(to: JSONEncoder(slot: self, codingPath: codingPath))
        if let unordered = value as? any Unordered { order(unordered) }
    }

    /// Sorts what an unordered collection has encoded, so that equal values are encoded alike.
    private func order(_ collection: any Unordered) {
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
}

/// A collection whose elements have no order of their own.
private protocol Unordered {
    /// How many values each of its elements is encoded as, if it is encoded as an array.
    var elementSize: Int { get }
}

extension Set: Unordered {
    fileprivate var elementSize: Int { 1 }
}

extension Dictionary: Unordered {
    /// A key and a value.
    fileprivate var elementSize: Int { 2 }
}

private struct JSONEncoder: Encoder {
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

    func singleValueContainer() -> any SingleValueEncodingContainer {
        SingleValueContainer(slot: slot, codingPath: codingPath)
    }
}

private struct KeyedContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let slot: Slot
    let codingPath: [any CodingKey]

    // Values of common types are encoded without a container of their own.
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

    func encode(_ value: some Encodable) throws {
        let path = codingPath + [TextKey(intValue: count)]
        try slot.element().encode(value, at: path)
    }

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

private struct SingleValueContainer: SingleValueEncodingContainer {
    let slot: Slot
    let codingPath: [any CodingKey]

    func encodeNil() { slot.content = .value(.null) }
    func encode(_ value: Bool) { slot.content = .value(.bool(value)) }
    func encode(_ value: String) { slot.content = .value(.string(value)) }
    func encode(_ value: Float) throws { try encode(Double(value)) }

    func encode(_ value: Double) throws {
        guard value.isFinite else { throw refused(value) }
        slot.content = .value(.number(value))
    }

    func encode(_ value: Int) { slot.content = .value(.integer(value)) }
    func encode(_ value: Int8) throws { try encode(integer: value) }
    func encode(_ value: Int16) throws { try encode(integer: value) }
    func encode(_ value: Int32) throws { try encode(integer: value) }
    func encode(_ value: Int64) throws { try encode(integer: value) }
    func encode(_ value: UInt) throws { try encode(integer: value) }
    func encode(_ value: UInt8) throws { try encode(integer: value) }
    func encode(_ value: UInt16) throws { try encode(integer: value) }
    func encode(_ value: UInt32) throws { try encode(integer: value) }
    func encode(_ value: UInt64) throws { try encode(integer: value) }
    func encode(_ value: some Encodable) throws { try slot.encode(value, at: codingPath) }

    private func encode(integer value: some BinaryInteger) throws {
        guard let integer = Int(exactly: value) else { throw refused(value) }
        slot.content = .value(.integer(integer))
    }

    private func refused(_ value: Any) -> EncodingError {
        .invalidValue(value, .init(codingPath: codingPath, debugDescription: "JSON cannot hold this number"))
    }
}
