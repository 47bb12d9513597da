/// A bounded queue in which clients take turns, however much each has waiting. A full queue still accepts an element of
/// a client that has few in it: then the client with the most loses its last one.
struct FairQueue<Client: Hashable, Element> {
    /// The waiting elements of each client that has any, in the order of the clients' turns.
    private var lines: [(client: Client, elements: [Element])] = []
    private var count = 0
    private let limit: Int

    init(limit: Int) {
        self.limit = limit
    }

    /// - Returns: the element that is displaced, which may be the new one; `nil` if there is room.
    mutating func append(_ element: Element, of client: Client) -> Element? {
        let own = lines.firstIndex { $0.client == client }
        var displaced: Element?
        if count >= limit {
            let longest = lines.indices.max { lines[$0].elements.count < lines[$1].elements.count }
            let ownCount = own.map { lines[$0].elements.count } ?? 0
            // If two lines would only swap their lengths, the earlier element stays. The longest keeps at least one.
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
