/// What waits, and for which client. Clients take turns, however much each has waiting. A full queue still takes
/// something for a client that has little in it: then the one with the most loses what came last.
struct FairQueue<Client: Hashable, Element> {
    /// Of each client that has something waiting, in the order of their turns.
    private var lines: [(client: Client, elements: [Element])] = []
    private var count = 0
    private let limit: Int

    init(limit: Int) {
        self.limit = limit
    }

    /// - Returns: what has to go, which may be the element itself; `nil` where there is room.
    mutating func append(_ element: Element, of client: Client) -> Element? {
        let own = lines.firstIndex { $0.client == client }
        var displaced: Element?
        if count >= limit {
            let longest = lines.indices.max { lines[$0].elements.count < lines[$1].elements.count }
            let ownCount = own.map { lines[$0].elements.count } ?? 0
            // Of two that would only change places the one that was first stays. One is left at least.
            guard let longest, lines[longest].elements.count > ownCount + 1 else { return element }
            displaced = lines[longest].elements.popLast()
        } else {
            count += 1
        }
        if let own { lines[own].elements.append(element) } else { lines.append((client, [element])) }
        return displaced
    }

    mutating func popFirst() -> Element? {
        guard !lines.isEmpty else { return nil }
        var line = lines.removeFirst()
        let first = line.elements.removeFirst()
        if !line.elements.isEmpty { lines.append(line) }
        count -= 1
        return first
    }
}
