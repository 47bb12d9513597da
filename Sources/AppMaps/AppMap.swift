/// An app as it can be drawn: its screens, and the events that lead from one to another.
package struct AppMap: Equatable {
    /// A screen that a user sees, and its coordinator. However many ways lead to it, it is drawn once.
    package struct Node: Hashable {
        let screen: String
        let coordinator: String
    }

    /// Positions in `nodes`, and the names of the events that lead from one to the other.
    package struct Edge: Equatable {
        let from: Int
        let to: Int
        fileprivate(set) var events: [String]
    }

    let app: String
    /// In the order in which they were found; the first is what a new session shows.
    private(set) var nodes: [Node] = []
    private var found: [Edge] = []
    /// Whether everything was tried that can be tried.
    package internal(set) var isComplete = true

    init(app: String) {
        self.app = app
    }

    /// In the order of the nodes.
    var edges: [Edge] {
        found.sorted { ($0.from, $0.to) < ($1.from, $1.to) }
    }

    /// The position of a node, which is added if it is new.
    mutating func position(of node: Node) -> Int {
        if let position = nodes.firstIndex(of: node) { return position }
        nodes.append(node)
        return nodes.count - 1
    }

    mutating func connect(_ from: Int, to: Int, by event: String) {
        guard let index = found.firstIndex(where: { $0.from == from && $0.to == to }) else {
            return found.append(Edge(from: from, to: to, events: [event]))
        }
        if !found[index].events.contains(event) { found[index].events.append(event) }
    }
}
