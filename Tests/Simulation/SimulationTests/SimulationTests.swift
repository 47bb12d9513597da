import Foundation
import Simulation
import Testing

@Suite struct SimulationTests {
    private static let steps = 120

    @Test(arguments: UInt64(1)...20)
    func `a walk of a fixed seed finds only known faults`(seed: UInt64) async {
        let report = await Simulation.walk(
            seed: seed, steps: SimulationTests.steps, ignoring: Set(knownFaults.keys))

        #expect(report.failures.map(\.description) == [])
    }

    @Test func `the walks of today find only known faults`() async {
        let today = UInt64(Date().timeIntervalSince1970 / 86_400)
        print("The seeds of today: \(today * 1000) and the nine that follow")
        for seed in 0..<10 {
            let report = await Simulation.walk(
                seed: today * 1000 + UInt64(seed), steps: SimulationTests.steps, ignoring: Set(knownFaults.keys))

            #expect(report.failures.map(\.description) == [])
        }
    }

    @Test func `the same seed gives the same trace`() async {
        var traces: [[String]] = []
        for _ in 0..<2 {
            var lines: [String] = []
            _ = await Simulation.walk(seed: 7, steps: SimulationTests.steps, shortens: false) { lines.append($0) }
            traces.append(lines)
        }

        #expect(traces[0].count == SimulationTests.steps + 1)
        #expect(traces[0] == traces[1])
    }

    private static let setup =
        #"{"conduct":{"on":[{"callback":"start","script":[{"word":"push"}]}]},"sizeLimit":65536,"stack":64,"#
        + #""depth":32,"alerts":16,"pending":64,"showsErrors":false}"#

    /// Seed 1000957: the signal changes what all share, a flow begins, and another coordinator changes it back.
    @Test func `what was drawn with something shared that has changed back is drawn once more`() async throws {
        let conduct = #""conduct":{"on":[{"callback":"start","script":[{"word":"push"}]}]}"#
        let tabs =
            #"{"word":"start","kind":"beta","conduct":{"on":[{"callback":"start","script":[{"word":"push.tabs","#
            + #""look":{"name":3},"tabs":[{"id":3,"kind":"alpha",\#(conduct)}]}]}]}}"#
        let begun =
            #"{"word":"tellChildren","kind":"any","script":[{"word":"start","kind":"beta",\#(conduct)}]}"#
        let findings = try await Simulation.replay(
            setup: SimulationTests.setup,
            steps: [
                #"{"verb":"anywhere","script":[\#(tabs),{"word":"push","look":{"name":0}},{"word":"share","at":2}]}"#,
                #"{"verb":"signal","script":[{"word":"share"},{"word":"tellChildren","kind":"beta","script":[\#(begun)]},"#
                    + #"{"word":"tellChildren","kind":"alpha","script":[{"word":"share","at":2}]}]}"#,
            ])

        #expect(findings == [])
    }

    @Test func `a failure is shortened, and can be pasted`() async throws {
        let findings = try await Simulation.replay(
            setup: SimulationTests.setup,
            steps: [
                #"{"verb":"run","script":[{"word":"push"},{"word":"guardScreens"}]}"#,
                #"{"verb":"back"}"#,
                #"{"verb":"answer"}"#,
            ])

        #expect(findings.filter { !$0.hasPrefix("listed: plan") } == [])
    }
}

/// A word of the engine that no walk uses is a word that is not tested.
@Suite struct VocabularyTests {
    private static let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Sources/Pattern/Coordinators")

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: sources.appending(path: path), encoding: .utf8)
    }

    /// The names of the functions that a part of a file declares.
    private static func functions(_ text: Substring) -> Set<String> {
        var names: Set<String> = []
        var isDeprecated = false
        for line in text.split(separator: "\n") {
            if line.contains("@available(*, deprecated") { isDeprecated = true }
            guard let match = line.firstMatch(of: /^    (?:public )?(?:static )?(?:mutating )?func (\w+)/) else {
                continue
            }
            if !isDeprecated { names.insert(String(match.output.1)) }
            isDeprecated = false
        }
        return names
    }

    private static func part(of text: String, from begin: String) throws -> Substring {
        let start = try #require(text.range(of: begin))
        let end = try #require(text[start.upperBound...].range(of: "\n}\n"))
        return text[start.upperBound..<end.lowerBound]
    }

    private static func usage() async -> Usage {
        var usage = Usage()
        for seed in UInt64(1)...160 {
            usage.add(await Simulation.walk(seed: seed, steps: 60, shortens: false).usage)
        }
        return usage
    }

    @Test func `walks use every function of the navigator, every callback and every built-in event`() async throws {
        let usage = await VocabularyTests.usage()
        let folder = VocabularyTests.sources.appending(path: "Requests").path
        let files = try FileManager.default.contentsOfDirectory(atPath: folder).map {
            try VocabularyTests.text("Requests/\($0)")
        }
        let requests = files.joined().matches(of: /\n    public mutating func (\w+)/).map { String($0.output.1) }
        let coordinator = try VocabularyTests.text("Authoring/Coordinator.swift")
        var callbacks: Set<String> = []
        for name in ["Coordinator: Codable", "TabBarDelegate: Coordinator", "StackDelegate: Coordinator"] {
            callbacks.formUnion(
                VocabularyTests.functions(try VocabularyTests.part(of: coordinator, from: "public protocol \(name)")))
        }
        let events = try VocabularyTests.part(
            of: VocabularyTests.text("Engine/BuiltInEvent.swift"), from: "public enum BuiltInEvent")
        let cases = events.matches(of: /\n    case (\w+)/).map { String($0.output.1) }

        #expect(requests.count >= 40 && callbacks.count > 20 && cases.count == 9)
        #expect(Set(requests).subtracting(usage.functions) == [])
        #expect(callbacks.subtracting(usage.calledBack) == [])
        #expect(Set(cases).subtracting(usage.builtIn) == [])
        #expect(usage.unused == [])
    }
}
