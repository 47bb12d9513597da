/// The members of a JSON object, in the order in which they were written. Equality ignores that order.
public struct JSONObject: Sendable {
    public struct Member: Sendable {
        public let name: String
        public var value: JSON
    }

    public private(set) var members: [Member] = []

    public init() {}

    /// A later member replaces an earlier one of the same name.
    public init(_ members: [(String, JSON)]) {
        self.members.reserveCapacity(members.count)
        for (name, value) in members { self[name] = value }
    }

    /// - Precondition: no two members have the same name.
    init(distinct members: [Member]) {
        self.members = members
    }

    public var isEmpty: Bool { members.isEmpty }
    public var count: Int { members.count }
    public var names: [String] { members.map(\.name) }

    /// The member's value; assigning `nil` removes the member.
    public subscript(name: String) -> JSON? {
        get { members.first { $0.name.isSame(name) }?.value }
        set {
            let index = members.firstIndex { $0.name.isSame(name) }
            switch (index, newValue) {
            case (let index?, let value?): members[index].value = value
            case (let index?, nil): members.remove(at: index)
            case (nil, let value?): members.append(Member(name: name, value: value))
            case (nil, nil): break
            }
        }
    }
}

extension String {
    /// Names are the same when their characters are (RFC 8259, section 8.3). Swift's own comparison also takes different
    /// ways to write one letter for the same.
    func isSame(_ other: String) -> Bool {
        let left = utf8Span.span
        let right = other.utf8Span.span
        guard left.count == right.count else { return false }
        for index in left.indices where left[index] != right[index] { return false }
        return true
    }
}

extension JSONObject: Hashable {
    public static func == (left: JSONObject, right: JSONObject) -> Bool {
        left.count == right.count && left.members.allSatisfy { right[$0.name] == $0.value }
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(count)
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral elements: (String, JSON)...) { self.init(elements) }
}
