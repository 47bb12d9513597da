/// A request, whole.
public struct HTTPRequest: Sendable {
    public let method: String
    public let target: HTTPTarget
    public let headers: HTTPHeaders
    public let body: [UInt8]

    public init(method: String, target: HTTPTarget, headers: HTTPHeaders = [:], body: [UInt8] = []) {
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
    }
}

/// Header fields in the order of their arrival. Names are compared without regard to case.
public struct HTTPHeaders: Sendable {
    private(set) var fields: [(name: String, value: String)] = []

    init() {}

    init(capacity: Int) {
        fields.reserveCapacity(capacity)
    }

    /// The value of the first field of that name.
    public subscript(name: String) -> String? {
        for field in fields where HTTPHeaders.same(field.name, name) { return field.value }
        return nil
    }

    /// The values of all fields of that name, in order.
    public func values(_ name: String) -> [String] {
        var values: [String] = []
        for field in fields where HTTPHeaders.same(field.name, name) { values.append(field.value) }
        return values
    }

    public mutating func append(_ name: String, _ value: String) {
        fields.append((name, value))
    }

    /// Most clients write names as everyone does, so that is tried first. Else: the two cases of an ASCII letter differ
    /// in one bit; no two other characters of a field name do (RFC 9110, section 5.6.2).
    private static func same(_ left: String, _ right: String) -> Bool {
        if left == right { return true }
        return left.utf8.count == right.utf8.count
            && zip(left.utf8, right.utf8).allSatisfy { $0 | 0x20 == $1 | 0x20 }
    }
}

extension HTTPHeaders: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral elements: (String, String)...) {
        fields.reserveCapacity(elements.count + 2)
        for (name, value) in elements { append(name, value) }
    }
}

extension HTTPHeaders: Sequence {
    public func makeIterator() -> IndexingIterator<[(name: String, value: String)]> { fields.makeIterator() }
}
