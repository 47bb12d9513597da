internal import Coordinators

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

/// The format of a drawn map: the values of `--format`.
package enum MapFormat: String, CaseIterable {
    case mermaid, dot, json
}

extension AppMap {
    /// The map as text, without a line break at its end. Equal maps give equal texts.
    ///
    /// - Parameter withBuiltIn: whether to draw all built-in events, and not only those by which a node was found.
    package func drawn(as format: MapFormat, withBuiltIn: Bool = false) -> String {
        let edges = edges(withBuiltIn: withBuiltIn)
        return switch format {
        case .mermaid: mermaid(edges)
        case .dot: dot(edges)
        case .json: json(edges).description
        }
    }

    /// A Mermaid flowchart: a box for each coordinator, a hexagon for each alert, a thick line for signals, a broken one
    /// for built-in events. A stadium-shaped node with the app's name leads to its first screen.
    private func mermaid(_ edges: [Edge]) -> String {
        var lines = ["flowchart TD", #"    app(["\#(AppMap.mermaid(app))"])"#]
        for (number, coordinator) in coordinators.enumerated() {
            lines.append(#"    subgraph c\#(number + 1)["\#(AppMap.mermaid(coordinator.name))"]"#)
            lines += coordinator.nodes.map { position in
                let (open, close) = nodes[position].kind == .alert ? ("{{", "}}") : ("[", "]")
                return #"        \#(id(position))\#(open)"\#(AppMap.mermaid(nodes[position].name))"\#(close)"#
            }
            lines.append("    end")
        }
        if !nodes.isEmpty { lines.append("    app --> n1") }
        lines += edges.map { edge in
            let line =
                switch edge.kind {
                case .event: "-->"
                case .signal: "==>"
                case .builtIn: "-.->"
                }
            return #"    \#(id(edge.from)) \#(line)|"\#(AppMap.mermaid(edge.label))"| \#(id(edge.to))"#
        }
        return lines.joined(separator: "\n")
    }

    /// A digraph in Graphviz's language.
    private func dot(_ edges: [Edge]) -> String {
        var lines = [
            "digraph \(AppMap.dot(app)) {",
            #"    graph [fontname="sans-serif", fontsize=11, style=rounded, color=gray60];"#,
            #"    node [fontname="sans-serif", fontsize=12, shape=box, style=rounded];"#,
            #"    edge [fontname="sans-serif", fontsize=10];"#,
            "    app [label=\(AppMap.dot(app)), shape=plaintext];",
        ]
        for (number, coordinator) in coordinators.enumerated() {
            lines.append("    subgraph cluster_\(number + 1) {")
            lines.append("        label=\(AppMap.dot(coordinator.name));")
            lines += coordinator.nodes.map { position in
                let shape = nodes[position].kind == .alert ? ", shape=hexagon, style=solid" : ""
                return "        \(id(position)) [label=\(AppMap.dot(nodes[position].name))\(shape)];"
            }
            lines.append("    }")
        }
        if !nodes.isEmpty { lines.append("    app -> n1;") }
        lines += edges.map { edge in
            let style =
                switch edge.kind {
                case .event: ""
                case .signal: ", style=bold"
                case .builtIn: ", style=dashed"
                }
            return "    \(id(edge.from)) -> \(id(edge.to)) [label=\(AppMap.dot(edge.label))\(style)];"
        }
        return lines.joined(separator: "\n") + "\n}"
    }

    private func json(_ edges: [Edge]) -> JSON {
        [
            "app": .string(app),
            "nodes": .array(
                nodes.enumerated().map { position, node in
                    [
                        "id": .string(id(position)), node.kind.rawValue: .string(node.name),
                        "coordinator": .string(node.coordinator),
                    ]
                }),
            "edges": .array(
                edges.map { edge in
                    [
                        "from": .string(id(edge.from)), "to": .string(id(edge.to)),
                        edge.kind == .signal ? "signals" : "events": .array(edge.events.map { .string($0) }),
                        "isBuiltIn": .bool(edge.kind == .builtIn),
                    ]
                }),
            "isComplete": .bool(isComplete),
            "slowEvents": .array(slowEvents.map { .string($0) }),
            "failedEvents": .array(failedEvents.map { .string($0) }),
        ]
    }

    private func id(_ position: Int) -> String { "n\(position + 1)" }
}

extension AppMap.Edge {
    fileprivate var label: String { events.joined(separator: ", ") }
}

// Escapes the characters that a label may not contain.
extension AppMap {
    /// The text of a label in Mermaid. Of ASCII, only letters, digits and a few marks have no special meaning there;
    /// the others become numbered entities.
    fileprivate static func mermaid(_ text: String) -> String {
        text.unicodeScalars.map { scalar in
            let isPlain = !scalar.isASCII || scalar.properties.isAlphabetic || ("0"..."9").contains(scalar)
            return isPlain || " _-.,()/".unicodeScalars.contains(scalar) ? String(scalar) : "#\(scalar.value);"
        }.joined()
    }

    /// The text as a quoted string in Graphviz's language.
    fileprivate static func dot(_ text: String) -> String {
        let escaped = text.map { character in
            if character.isNewline { return #"\n"# }
            return character == "\"" || character == "\\" ? "\\\(character)" : String(character)
        }
        return "\"\(escaped.joined())\""
    }
}
