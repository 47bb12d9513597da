import Coordinators
import CoordinatorsTesting
import Foundation
import TestSupport
import Testing

/// The code of this library that `docs/pattern.md` shows is compiled and run, word for word.
@Suite struct PatternTests {
    /// A row of a table: the pattern on iOS, and here.
    struct Row {
        let section: String
        let left: [String]
        let right: [String]
    }

    static func rows() throws -> [Row] {
        let page = try String(contentsOf: repository.appending(path: "docs/pattern.md"), encoding: .utf8)
        var rows: [Row] = []
        var section = ""
        var blocks: [[String]] = []
        var isCode = false
        for line in page.components(separatedBy: "\n") {
            if line.hasPrefix("```") {
                isCode = line == "```swift"
                if isCode { blocks.append([]) }
            } else if isCode {
                blocks[blocks.count - 1].append(line)
            } else if line.hasPrefix("## ") {
                section = String(line.dropFirst(3))
            } else if line.contains("</tr>"), !line.contains("<th>") {
                try #require(blocks.count == 2, "a row of “\(section)” has \(blocks.count) blocks of code")
                rows.append(Row(section: section, left: blocks[0], right: blocks[1]))
                blocks = []
            }
        }
        #expect(blocks.isEmpty, "code stands outside of the tables, where nothing compiles it")
        return rows
    }

    /// The lines of every file that may be quoted.
    static func sources() throws -> [[Substring]] {
        let apps = repository.appending(path: "Sources/Program/ReferenceApps")
        let names = try FileManager.default.subpathsOfDirectory(atPath: apps.path).filter { $0.hasSuffix(".swift") }
        let examples = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "PatternExamples.swift")
        return try (names.map { apps.appending(path: $0) } + [examples]).map {
            try String(contentsOf: $0, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false)
        }
    }

    @Test func `each of the five systems is shown, on both sides`() throws {
        let rows = try PatternTests.rows()

        for app in ["tabs", "login-home", "list-detail", "main", "clean-login"] {
            #expect(rows.contains { $0.section.contains("`\(app)`") }, "\(app)")
        }
        #expect(rows.allSatisfy { !$0.left.isEmpty && !$0.right.isEmpty })
        #expect(rows.count >= 15)
    }

    @Test func `the code shown of this library is in its sources, line for line`() throws {
        let sources = try PatternTests.sources()

        for row in try PatternTests.rows() {
            let isQuoted = sources.contains { $0.contains(row.right) }
            #expect(isQuoted, "“\(row.section)” shows what is compiled nowhere:\n\(row.right.joined(separator: "\n"))")
        }
    }

    @Test func `the tab bar's delegate counts visits, and the selected page is refreshed`() async throws {
        var app = try await CoordinatorTester(PatternExamples.app)

        try await app.selectTab("plus")
        try await app.send("refresh")

        #expect(app.state.visible?.screen == Screen("plus", title: "Fresh"))
        let tab = try #require(app.state.coordinators.last?.coordinator as? PatternExamples.TabCoordinator)
        #expect(tab.visits == ["plus": 1])
    }

    @Test func `the parent is notified when the last screen of a child is gone`() async throws {
        var app = try await CoordinatorTester(PatternExamples.app)
        for event in ["help", "more", "back"] { try await app.send(event) }
        #expect(app.transition.dismissed == [])

        try await app.back()

        #expect(app.transition.dismissed == ["help"])
        let root = try #require(app.state.coordinators.first?.coordinator as? PatternExamples.AppCoordinator)
        #expect(root.closed == ["help"])
    }

    @Test func `a wizard's user goes back through its steps, and a tab comes`() async throws {
        var app = try await CoordinatorTester(PatternExamples.trips)
        try await app.send(PatternExamples.DatesCoordinator.Event.arrive(day: 2))
        try await app.send(PatternExamples.DatesCoordinator.Event.leave(day: 5))
        #expect(app.stack == "bar[trip*: trip, arrival, departure, rooms]")
        #expect(app.state.visible?.screen.title == "3 nights")

        try await app.back()
        try await app.send(PatternExamples.DatesCoordinator.Event.leave(day: 9))
        #expect(app.state.visible?.screen.title == "7 nights")
        try await app.send(PatternExamples.BarCoordinator.Event.join)
        #expect(app.stack == "bar[trip*: trip, arrival, departure, rooms | points: points]")
        try await app.backTo("arrival")

        let dates = try #require(app.state.coordinators.last?.coordinator as? PatternExamples.DatesCoordinator)
        #expect(dates.dates == PatternExamples.Dates(arrival: 2))
    }
}

extension [Substring] {
    /// Whether these lines occur here one after the other, at any indentation.
    fileprivate func contains(_ lines: [String]) -> Bool {
        guard let first = lines.first, count >= lines.count else { return false }
        return indices.dropLast(lines.count - 1).contains { start in
            let indent = self[start].prefix { $0 == " " }
            guard self[start].dropFirst(indent.count) == first else { return false }
            return zip(self[start...], lines).allSatisfy { line, quoted in
                line == (quoted.isEmpty ? "" : indent + quoted)
            }
        }
    }
}
