/// Numbers the names of an app's events, so that a set of them is a few bits.
struct EventNumbers: Sendable {
    private(set) var byName: [String: Int] = [:]

    mutating func number(of name: String) -> Int {
        if let number = byName[name] { return number }
        byName[name] = byName.count
        return byName.count - 1
    }
}

/// Some of the events of an app.
struct EventSet: Sendable, Equatable {
    /// The first 64, which most apps do not exceed.
    private var first: UInt64 = 0
    /// The others, 64 in each; none at the end is empty.
    private var others: [UInt64] = []

    var isEmpty: Bool { first == 0 && others.isEmpty }

    func contains(_ number: Int) -> Bool {
        if number < 64 { return first & 1 << number != 0 }
        let place = number / 64 - 1
        return place < others.count && others[place] & 1 << (number % 64) != 0
    }

    /// - Returns: `false` if it was there before.
    @discardableResult
    mutating func insert(_ number: Int) -> Bool {
        guard !contains(number) else { return false }
        guard number >= 64 else {
            first |= 1 << number
            return true
        }
        let place = number / 64 - 1
        while others.count <= place { others.append(0) }
        others[place] |= 1 << (number % 64)
        return true
    }

    mutating func formUnion(_ other: EventSet) {
        first |= other.first
        for (place, bits) in other.others.enumerated() {
            if place < others.count { others[place] |= bits } else { others.append(bits) }
        }
    }
}
