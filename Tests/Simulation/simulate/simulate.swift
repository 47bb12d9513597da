// simulate: walks from many seeds, and prints what they find.
//
//     simulate engine [--seeds 1..<1000 | --seeds 7] [--steps 300] [--seconds 60] [--trace FILE] [--ignore KIND]…
//         [--raw] [--first]
//     simulate replay FILE
//
// Seconds are those of a processor, because other programs may use it, too. With `--raw` findings are not shortened. With
// `--first` the first one that is not known ends the program, with the exit code 1.
import Foundation
import Simulation

@main struct Simulate {
    static func main() async {
        var (seeds, steps, seconds): (Range<UInt64>, Int, Double?) = (1..<101, 300, nil)
        var (trace, known, shortens, first): (String?, Set<String>, Bool, Bool) = (nil, [], true, false)
        var arguments = CommandLine.arguments.dropFirst()
        switch arguments.popFirst() {
        case "engine": break
        case "replay": return await replay(arguments.first)
        default: return usage()
        }
        while let argument = arguments.popFirst() {
            if argument == "--raw" || argument == "--first" {
                (shortens, first) = (false, first || argument == "--first")
                continue
            }
            guard let value = arguments.popFirst() else { return usage() }
            switch argument {
            case "--seeds":
                let parts = value.split(separator: "..<").compactMap { UInt64($0) }
                guard let first = parts.first else { return usage() }
                seeds = first..<(parts.count > 1 ? parts[1] : first + 1)
            case "--steps": steps = Int(value) ?? steps
            case "--seconds": seconds = Double(value)
            case "--trace": trace = value
            case "--ignore": known.insert(value)
            default: return usage()
            }
        }
        if first { known.formUnion(knownFaults.keys) }
        let hasFound = await walk(seeds, steps, seconds, trace, known, shortens, first)
        exit(first && hasFound ? 1 : 0)
    }

    private static func usage() {
        say(
            """
            simulate engine [--seeds 1..<1000] [--steps N] [--seconds N] [--trace FILE] [--ignore KIND] [--raw] [--first]
            """)
        exit(64)
    }

    /// Takes the steps of a file: its first line is the setup, each other one a step, as a failure prints them.
    private static func replay(_ path: String?) async {
        let text = path.flatMap { try? String(contentsOfFile: $0, encoding: .utf8) } ?? ""
        let lines = text.split(separator: "\n").map(String.init)
        guard let setup = lines.first else { return usage() }
        do {
            for kind in try await Simulation.replay(setup: setup, steps: Array(lines.dropFirst())) { say(kind) }
        } catch {
            say("\(error)")
        }
    }

    /// Prints at once, also into a file.
    private static func say(_ text: String) { FileHandle.standardOutput.write(Data("\(text)\n".utf8)) }

    /// - Parameter endsAtFirst: whether the first finding ends it.
    /// - Returns: whether there was one.
    private static func walk(
        _ seeds: Range<UInt64>, _ steps: Int, _ seconds: Double?, _ trace: String?, _ ignored: Set<String>,
        _ shortens: Bool, _ endsAtFirst: Bool
    ) async -> Bool {
        let file = trace.flatMap { path in
            FileManager.default.createFile(atPath: path, contents: nil) ? FileHandle(forWritingAtPath: path) : nil
        }
        // Without what shortening takes.
        var start = processorTime
        var (known, usage): (Set<String>, Usage) = (ignored, Usage())
        var (total, refused, walks) = (0, 0, 0)
        for seed in seeds {
            if let seconds, processorTime - start > seconds { break }
            let report = await Simulation.walk(
                seed: seed, steps: steps, ignoring: known, shortens: false,
                trace: file.map { file in { file.write(Data("\($0)\n".utf8)) } })
            total += report.steps
            refused += report.refused
            walks += 1
            usage.add(report.usage)
            guard !report.failures.isEmpty else { continue }
            let found = processorTime
            for failure in report.failures {
                known.insert(failure.finding.kind)
                let place = "seed \(seed) | step \(failure.steps.count) | \(total) steps"
                say("FOUND \(failure.finding.kind) | \(place) | \(((found - start) * 10).rounded() / 10) s")
                if endsAtFirst { return true }
                say("\(shortens ? await Simulation.shortened(failure).description : failure.finding.reason)\n")
            }
            start += processorTime - found
        }
        let speed = Int(Double(total) / (processorTime - start))
        say("\(walks) walks, \(total) steps, \(refused) refused, \(speed) steps a second")
        say("never used: \(usage.unused + usage.unmet)")
        return known.count > ignored.count
    }

    private static var processorTime: Double { Double(clock()) / Double(CLOCKS_PER_SEC) }
}
