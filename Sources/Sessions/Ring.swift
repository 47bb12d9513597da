/// The last elements of a sequence.
struct Ring<Element> {
    private let capacity: Int
    private var elements: [Element] = []
    /// Where the oldest is, once it is full.
    private var start = 0

    init(capacity: Int) {
        self.capacity = capacity
    }

    /// - Returns: the element that had to go.
    @discardableResult
    mutating func append(_ element: Element) -> Element? {
        guard elements.count >= capacity else {
            elements.append(element)
            return nil
        }
        guard capacity > 0 else { return element }
        defer { start = (start + 1) % capacity }
        return exchange(&elements[start], with: element)
    }

    var newest: Element? { elements.isEmpty ? nil : self[0] }
    var count: Int { elements.count }

    /// - Parameter age: 0 for the newest.
    subscript(age: Int) -> Element { elements[(start + elements.count - 1 - age) % elements.count] }

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
