// simulate: walks from many seeds, and prints what they find.
//
//     simulate engine [--seeds 1..<1000 | --seeds 7] [--steps 300] [--seconds 60] [--trace FILE] [--ignore KIND]…
//         [--raw] [--first]
//     simulate session [the same] [--store memory|sqlite]
//     simulate replay FILE
//
// Seconds are those of a processor, because other programs may use it, too. With `--raw` findings are not shortened. With
// `--first` the first one that is not known ends the program, with the exit code 1.
import Foundation
import SessionSimulation
import Simulation

@main struct Simulate {
    static func main() async {
        var (seeds, steps, seconds): (Range<UInt64>, Int, Double?) = (1..<101, 300, nil)
        var (trace, known, shortens, first): (String?, Set<String>, Bool, Bool) = (nil, [], true, false)
        var store: SessionSetup.Store?
        var isOfSessions = false
        var arguments = CommandLine.arguments.dropFirst()
        switch arguments.popFirst() {
        case "engine": break
        case "session": isOfSessions = true
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
            case "--store": store = SessionSetup.Store(rawValue: value)
            case "--ignore": known.insert(value)
            case "--mutant": return say("There is no mutant “\(value)”.")
            default: return usage()
            }
        }
        if first { known.formUnion(knownFaults.keys) }
        let hasFound =
            isOfSessions
            ? await walkSessions(seeds, steps, seconds, trace, known, shortens, first, store)
            : await walk(seeds, steps, seconds, trace, known, shortens, first)
        exit(first && hasFound ? 1 : 0)
    }

    private static func usage() {
        say(
            """
            simulate engine|session [--seeds 1..<1000] [--steps N] [--seconds N] [--trace FILE] [--ignore KIND] [--raw] \
            [--first]
            """)
        exit(64)
    }

    /// Takes the steps of a file: its first line is the setup, each other one a step, as a failure prints them.
    private static func replay(_ path: String?) async {
        let text = path.flatMap { try? String(contentsOfFile: $0, encoding: .utf8) } ?? ""
        let lines = text.split(separator: "\n").map(String.init)
        guard let setup = lines.first else { return usage() }
        do {
            let steps = Array(lines.dropFirst())
            // The setup of a walk with sessions says where they are.
            let kinds =
                setup.contains(#""store":"#)
                ? try await SessionSimulation.replay(setup: setup, steps: steps)
                : try await Simulation.replay(setup: setup, steps: steps)
            for kind in kinds { say(kind) }
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

    private static func walkSessions(
        _ seeds: Range<UInt64>, _ steps: Int, _ seconds: Double?, _ trace: String?, _ ignored: Set<String>,
        _ shortens: Bool, _ endsAtFirst: Bool, _ store: SessionSetup.Store?
    ) async -> Bool {
        let file = trace.flatMap { path in
            FileManager.default.createFile(atPath: path, contents: nil) ? FileHandle(forWritingAtPath: path) : nil
        }
        var (known, total, refused, walks) = (ignored, 0, 0, 0)
        var passed = 0.0
        var answers: [String: Int] = [:]
        for seed in seeds {
            if let seconds, passed > seconds { break }
            let start = processorTime
            let report = await SessionSimulation.walk(
                seed: seed, steps: steps, store: store, ignoring: known, shortens: false, traces: file != nil)
            passed += processorTime - start
            for line in report.trace { file?.write(Data("\(line)\n".utf8)) }
            total += report.steps
            refused += report.refused
            walks += 1
            answers.merge(report.answers) { $0 + $1 }
            for failure in report.failures {
                known.insert(failure.finding.kind)
                let place = "seed \(seed) | step \(failure.steps.count) | \(total) steps"
                say("FOUND \(failure.finding.kind) | \(place) | \((passed * 10).rounded() / 10) s")
                if endsAtFirst { return true }
                let text =
                    shortens
                    ? await SessionSimulation.shortened(failure).description : failure.finding.reason
                say("\(text)\n")
            }
        }
        say("\(walks) walks, \(total) steps, \(refused) refused, \(Int(Double(total) / passed)) steps a second")
        if let list = ProcessInfo.processInfo.environment["ANSWERS"], !list.isEmpty {
            for (word, count) in answers.sorted(by: { $0.value > $1.value }).prefix(80) { say("\(count) \(word)") }
        }
        return known.count > ignored.count
    }

    private static var processorTime: Double { Double(clock()) / Double(CLOCKS_PER_SEC) }
}
