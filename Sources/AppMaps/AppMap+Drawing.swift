internal import Coordinators

/// The values of `--format`.
package enum MapFormat: String, CaseIterable {
    case mermaid, dot, json
}

extension AppMap {
    /// The map as text, without a line break at its end. The same map is always the same text.
    package func drawn(as format: MapFormat) -> String {
        switch format {
        case .mermaid: mermaid
        case .dot: dot
        case .json: json.description
        }
    }

    /// A Mermaid flowchart. A stadium-shaped node with the app's name leads to its first screen.
    private var mermaid: String {
        var lines = ["flowchart TD", #"    app(["\#(AppMap.mermaid(app))"])"#]
        lines += numbered.map { #"    \#($0)["\#(AppMap.mermaid($1.label))"]"# }
        if !nodes.isEmpty { lines.append("    app --> n1") }
        lines += edges.map { edge in
            #"    \#(id(edge.from)) -->|"\#(AppMap.mermaid(edge.label))"| \#(id(edge.to))"#
        }
        return lines.joined(separator: "\n")
    }

    /// A digraph in Graphviz's language.
    private var dot: String {
        var lines = ["digraph \(AppMap.dot(app)) {", "    app [label=\(AppMap.dot(app)), shape=plaintext];"]
        lines += numbered.map { "    \($0) [label=\(AppMap.dot($1.label))];" }
        if !nodes.isEmpty { lines.append("    app -> n1;") }
        lines += edges.map { "    \(id($0.from)) -> \(id($0.to)) [label=\(AppMap.dot($0.label))];" }
        return lines.joined(separator: "\n") + "\n}"
    }

    private var json: JSON {
        [
            "app": .string(app),
            "nodes": .array(
                numbered.map { id, node in
                    ["id": .string(id), "screen": .string(node.screen), "coordinator": .string(node.coordinator)]
                }),
            "edges": .array(
                edges.map { edge in
                    [
                        "from": .string(id(edge.from)), "to": .string(id(edge.to)),
                        "events": .array(edge.events.map { .string($0) }),
                    ]
                }),
            "isComplete": .bool(isComplete),
        ]
    }

    private func id(_ position: Int) -> String { "n\(position + 1)" }

    private var numbered: [(String, Node)] {
        nodes.enumerated().map { (id($0), $1) }
    }
}

extension AppMap.Node {
    fileprivate var label: String { "\(screen) (\(coordinator))" }
}

extension AppMap.Edge {
    fileprivate var label: String { events.joined(separator: ", ") }
}

// Escapes what a label may not hold.
extension AppMap {
    /// Of ASCII, only letters, digits and a few marks have no special meaning in Mermaid; the rest becomes numbered
    /// entities.
    fileprivate static func mermaid(_ text: String) -> String {
        text.unicodeScalars.map { scalar in
            let isPlain = !scalar.isASCII || scalar.properties.isAlphabetic || ("0"..."9").contains(scalar)
            return isPlain || " _-.,()".unicodeScalars.contains(scalar) ? String(scalar) : "#\(scalar.value);"
        }.joined()
    }

    /// A quoted string.
    fileprivate static func dot(_ text: String) -> String {
        let escaped = text.map { character in
            if character.isNewline { return #"\n"# }
            return character == "\"" || character == "\\" ? "\\\(character)" : String(character)
        }
        return "\"\(escaped.joined())\""
    }
}
