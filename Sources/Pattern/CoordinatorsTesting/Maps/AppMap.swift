/// A directed graph of an app: its screens and alerts, and the events and signals that lead from one to another.
package struct AppMap: Equatable {
    /// A screen or an alert, and the coordinator that shows it. It is drawn once, however many events lead to it.
    package struct Node: Hashable {
        enum Kind: String { case screen, alert }

        let kind: Kind
        /// The screen's name, or the alert's title.
        let name: String
        let coordinator: String
    }

    /// What leads from one node to another. `from` and `to` are positions in `nodes`.
    package struct Edge: Equatable {
        enum Kind: Int { case event, signal, builtIn }

        let from: Int
        let to: Int
        /// The names of events, and the titles of an alert's buttons; or the names of signals, and of effects that have
        /// none or fail.
        fileprivate(set) var events: [String]
        let kind: Kind
        /// Whether this was the first edge found that leads to `to`.
        let isFirst: Bool
    }

    let app: String
    /// In the order in which they were found; the first is what a new session shows.
    private(set) var nodes: [Node] = []
    private var allEdges: [Edge] = []
    /// Whether all states were explored, not only as many as the limit allowed.
    package internal(set) var isComplete = true
    /// The events and effects that took too long, each as `coordinator.event`.
    package internal(set) var slowEvents: [String] = []
    /// The events and signals that made a coordinator throw wherever they were tried, each as `coordinator.event`, with the error.
    package internal(set) var failedEvents: [String] = []

    /// Sentences, without a full stop, about what the author can hardly want.
    package internal(set) var warnings: [String] = []

    init(app: String) {
        self.app = app
    }

    /// The edges, in the order of the nodes.
    ///
    /// - Parameter withBuiltIn: whether to include all edges of built-in events, and not only those by which a node was
    ///   found.
    func edges(withBuiltIn: Bool) -> [Edge] {
        allEdges.filter { withBuiltIn || $0.kind != .builtIn || $0.isFirst }
            .sorted { ($0.from, $0.to, $0.kind.rawValue) < ($1.from, $1.to, $1.kind.rawValue) }
    }

    /// The coordinators, each with the positions of its nodes, in the order in which they were found.
    var coordinators: [(name: String, nodes: [Int])] {
        var groups: [(name: String, nodes: [Int])] = []
        for (position, node) in nodes.enumerated() {
            if let index = groups.firstIndex(where: { $0.name == node.coordinator }) {
                groups[index].nodes.append(position)
            } else {
                groups.append((node.coordinator, [position]))
            }
        }
        return groups
    }

    /// The position of a node, which is added if it is new.
    mutating func position(of node: Node) -> Int {
        if let position = nodes.firstIndex(of: node) { return position }
        nodes.append(node)
        return nodes.count - 1
    }

    /// Adds an event to the edge between two nodes.
    mutating func connect(_ from: Int, to: Int, by event: String, _ kind: Edge.Kind, isFirst: Bool) {
        let same = allEdges.firstIndex { $0.from == from && $0.to == to && $0.kind == kind }
        guard let same else {
            return allEdges.append(Edge(from: from, to: to, events: [event], kind: kind, isFirst: isFirst))
        }
        if !allEdges[same].events.contains(event) { allEdges[same].events.append(event) }
    }
}
