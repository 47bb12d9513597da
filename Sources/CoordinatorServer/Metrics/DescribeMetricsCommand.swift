internal import ArgumentParser
internal import Prometheus

/// Prints the table in docs/metrics.md, see `scripts/describe`.
struct DescribeMetricsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "describe-metrics", abstract: "Prints the metrics as a table in Markdown.", shouldDisplay: false)

    func run() {
        print("| metric | kind | labels | meaning |\n|---|---|---|---|")
        for family in ServerMetrics.all.map(\.family) {
            let labels = family.labels.map { "`\($0)`" }.joined(separator: ", ")
            print("| `\(family.name)` | \(family.kind.rawValue) | \(labels) | \(family.help) |")
        }
    }
}
