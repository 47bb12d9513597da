internal import FoundationEssentials

/// Elements that are due at some time, the earliest first: a binary heap from which any element can be removed.
struct DueHeap<Element: DueHeapElement> {
    private var elements: [Element] = []

    var first: Element? { elements.first }

    mutating func insert(_ element: Element) {
        element.place = elements.count
        elements.append(element)
        rise(from: element.place)
    }

    mutating func remove(_ element: Element) {
        let place = element.place
        guard let last = elements.popLast(), last !== element else { return }
        put(last, at: place)
        settle(at: place)
    }

    /// Moves an element to its place after its `due` has changed.
    mutating func settle(_ element: Element) {
        settle(at: element.place)
    }

    private mutating func settle(at place: Int) {
        rise(from: place)
        sink(from: place)
    }

    private mutating func rise(from place: Int) {
        var place = place
        while place > 0, elements[place].due < elements[(place - 1) / 2].due {
            swap(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    private mutating func sink(from place: Int) {
        var place = place
        while true {
            let children = 2 * place + 1..<min(2 * place + 3, max(elements.count, 2 * place + 1))
            guard let next = children.min(by: { elements[$0].due < elements[$1].due }),
                elements[next].due < elements[place].due
            else { return }
            swap(place, next)
            place = next
        }
    }

    private mutating func swap(_ one: Int, _ other: Int) {
        let element = elements[one]
        put(elements[other], at: one)
        put(element, at: other)
    }

    private mutating func put(_ element: Element, at place: Int) {
        elements[place] = element
        element.place = place
    }
}

/// An element that is in at most one heap at a time.
protocol DueHeapElement: AnyObject {
    var due: Date { get }
    /// The element's index in the heap, for the heap alone.
    var place: Int { get set }
}
