/// An app as it can be drawn: its screens and alerts, and the events that lead from one to another.
package struct AppMap: Equatable {
    /// What a user sees: a screen or an alert, and the coordinator that shows it. However many ways lead to it, it is
    /// drawn once.
    package struct Node: Hashable {
        enum Kind: String { case screen, alert }

        let kind: Kind
        /// The screen's name, or the alert's title.
        let name: String
        let coordinator: String
    }

    /// Positions in `nodes`, and what leads from one to the other.
    package struct Edge: Equatable {
        let from: Int
        let to: Int
        /// The names of events, and the titles of an alert's buttons.
        fileprivate(set) var events: [String]
        /// Whether these are built-in events.
        let isBuiltIn: Bool
        /// Whether `to` was found by this one.
        let isFirst: Bool
    }

    let app: String
    /// In the order in which they were found; the first is what a new session shows.
    private(set) var nodes: [Node] = []
    private var found: [Edge] = []
    /// Whether everything was tried that can be tried.
    package internal(set) var isComplete = true
    /// The events that took too long, each as `coordinator.event`.
    package internal(set) var slowEvents: [String] = []
    /// The events that made a coordinator throw wherever they were tried, each as `coordinator.event`, with the error.
    package internal(set) var failedEvents: [String] = []

    /// What was found that the author can hardly want, in sentences without a full stop.
    package internal(set) var warnings: [String] = []

    init(app: String) {
        self.app = app
    }

    /// In the order of the nodes. Of the built-in events only those by which something was found, unless all are
    /// asked for.
    func edges(withBuiltIn: Bool) -> [Edge] {
        found.filter { withBuiltIn || !$0.isBuiltIn || $0.isFirst }
            .sorted { ($0.from, $0.to, $0.isBuiltIn ? 1 : 0) < ($1.from, $1.to, $1.isBuiltIn ? 1 : 0) }
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

    mutating func connect(_ from: Int, to: Int, by event: String, isBuiltIn: Bool, isFirst: Bool) {
        let same = found.firstIndex { $0.from == from && $0.to == to && $0.isBuiltIn == isBuiltIn }
        guard let same else {
            return found.append(Edge(from: from, to: to, events: [event], isBuiltIn: isBuiltIn, isFirst: isFirst))
        }
        if !found[same].events.contains(event) { found[same].events.append(event) }
    }
}
