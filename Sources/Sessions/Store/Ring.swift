/// The last elements of a sequence.
struct Ring<Element> {
    private let capacity: Int
    private var elements: [Element] = []
    /// The index of the oldest element, once the ring has been full.
    private var start = 0

    init(capacity: Int) {
        self.capacity = capacity
    }

    /// - Returns: the element that was dropped, if any.
    @discardableResult
    mutating func append(_ element: Element) -> Element? {
        guard elements.count >= capacity else {
            // After the newest: at the end of the array, or before the oldest.
            elements.insert(element, at: start == 0 ? elements.count : start)
            if start > 0 { start += 1 }
            return nil
        }
        guard capacity > 0 else { return element }
        defer { start = (start + 1) % capacity }
        return exchange(&elements[start], with: element)
    }

    /// - Returns: `nil` if the ring is empty.
    @discardableResult
    mutating func removeOldest() -> Element? {
        guard !elements.isEmpty else { return nil }
        defer { if start >= elements.count { start = 0 } }
        return elements.remove(at: start)
    }

    var newest: Element? { elements.isEmpty ? nil : self[0] }
    var count: Int { elements.count }

    /// - Parameter age: 0 for the newest.
    subscript(age: Int) -> Element {
        get { elements[index(age)] }
        set { elements[index(age)] = newValue }
    }

    private func index(_ age: Int) -> Int { (start + elements.count - 1 - age) % elements.count }

    var newestFirst: some RandomAccessCollection<Element> {
        elements.indices.lazy.map { self[$0] }
    }

    private func exchange(_ place: inout Element, with element: Element) -> Element {
        defer { place = element }
        return place
    }
}

extension Ring where Element: Equatable {
    func contains(_ element: Element) -> Bool { elements.contains(element) }
}

extension Ring: Sendable where Element: Sendable {}
