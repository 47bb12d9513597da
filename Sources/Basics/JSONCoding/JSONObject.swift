/// The members of a JSON object, in the order in which they were written. Equality ignores that order.
public struct JSONObject: Sendable {
    public struct Member: Sendable {
        public let name: String
        public var value: JSON
    }

    public private(set) var members: [Member] = []
    /// The index of each name in `members`; `nil` while there are so few members that comparing all names is faster.
    private var places: [Name: Int]?

    /// An object with more members has `places`, so that thousands of members do not take quadratic time.
    private static let scanLimit = 16

    public init() {}

    /// An object with these members. A later member replaces an earlier one of the same name.
    public init(_ members: [(String, JSON)]) {
        self.members.reserveCapacity(members.count)
        for (name, value) in members { self[name] = value }
    }

    /// An object with one member.
    package init(_ name: String, _ value: JSON) {
        members = [Member(name: name, value: value)]
    }

    public var isEmpty: Bool { members.isEmpty }
    public var count: Int { members.count }
    public var names: [String] { members.map(\.name) }

    /// The member's value; assigning `nil` removes the member.
    public subscript(name: String) -> JSON? {
        get { place(of: name).map { members[$0].value } }
        set {
            switch (place(of: name), newValue) {
            case (let place?, let value?): members[place].value = value
            case (let place?, nil):
                members.remove(at: place)
                indexNames()
            case (nil, let value?): append(name, value)
            case (nil, nil): break
            }
        }
    }

    package func contains(_ name: String) -> Bool { place(of: name) != nil }

    /// - Precondition: no member has that name.
    mutating func append(_ name: String, _ value: JSON) {
        members.append(Member(name: name, value: value))
        if places != nil {
            places?[Name(text: name)] = members.count - 1
        } else if members.count > JSONObject.scanLimit {
            indexNames()
        }
    }

    mutating func reserveCapacity(_ capacity: Int) { members.reserveCapacity(capacity) }

    private func place(of name: String) -> Int? {
        guard let places else { return members.firstIndex { $0.name.isSame(name) } }
        return places[Name(text: name)]
    }

    private mutating func indexNames() {
        guard members.count > JSONObject.scanLimit else { return places = nil }
        var places: [Name: Int] = [:]
        for (place, member) in members.enumerated() { places[Name(text: member.name)] = place }
        self.places = places
    }
}

/// A member's name as a key of a dictionary. Two names are equal if their bytes are equal, unlike two `String`s.
private struct Name: Hashable {
    let text: String

    static func == (left: Name, right: Name) -> Bool { left.text.isSame(right.text) }

    func hash(into hasher: inout Hasher) {
        text.utf8.span.withUnsafeBytes { hasher.combine(bytes: $0) }
    }
}

extension String {
    /// Whether two names consist of the same code points (RFC 8259, section 8.3). Swift's `==` also treats different
    /// encodings of one letter as equal.
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

    /// The hash does not depend on the order of the members.
    public func hash(into hasher: inout Hasher) {
        var sum = 0
        for member in members {
            var one = Hasher()
            Name(text: member.name).hash(into: &one)
            one.combine(member.value)
            sum &+= one.finalize()
        }
        hasher.combine(sum)
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral elements: (String, JSON)...) { self.init(elements) }
}
