// simulate: walks from many seeds, and prints what they find.
//
//     simulate engine [--seeds 1..<1000 | --seeds 7] [--steps 300] [--seconds 60] [--mutant NAME] [--trace FILE]
//         [--ignore KIND]… [--raw]
//     simulate replay FILE
import Foundation
import Simulation

@main struct Simulate {
    static func main() async {
        var (seeds, steps, seconds): (Range<UInt64>, Int, Double?) = (1..<101, 300, nil)
        var (trace, known, shortens): (String?, Set<String>, Bool) = (nil, [], true)
        var arguments = CommandLine.arguments.dropFirst()
        switch arguments.popFirst() {
        case "engine": break
        case "replay": return await replay(arguments.first)
        default: return usage()
        }
        while let argument = arguments.popFirst() {
            if argument == "--raw" {
                shortens = false
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
            case "--mutant": return say("There is no mutant “\(value)”.")
            default: return usage()
            }
        }
        await walk(seeds, steps, seconds, trace, known, shortens)
    }

    private static func usage() {
        say("simulate engine [--seeds 1..<1000] [--steps N] [--seconds N] [--trace FILE] [--ignore KIND] [--raw]")
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

    private static func walk(
        _ seeds: Range<UInt64>, _ steps: Int, _ seconds: Double?, _ trace: String?, _ ignored: Set<String>,
        _ shortens: Bool
    ) async {
        let file = trace.flatMap { path in
            FileManager.default.createFile(atPath: path, contents: nil) ? FileHandle(forWritingAtPath: path) : nil
        }
        let time = ContinuousClock()
        let begin = time.now
        let start = Foundation.clock()
        var (known, usage): (Set<String>, Usage) = (ignored, Usage())
        var (total, refused, walks) = (0, 0, 0)
        var shortening = Duration.zero
        for seed in seeds {
            if let seconds, (time.now - begin - shortening) / .seconds(1) > seconds { break }
            let report = await Simulation.walk(
                seed: seed, steps: steps, ignoring: known, shortens: false,
                trace: file.map { file in { file.write(Data("\($0)\n".utf8)) } })
            total += report.steps
            refused += report.refused
            walks += 1
            usage.add(report.usage)
            guard !report.failures.isEmpty else { continue }
            let passed = (time.now - begin - shortening) / .seconds(1)
            let pause = time.now
            for failure in report.failures {
                known.insert(failure.finding.kind)
                say(
                    "FOUND \(failure.finding.kind) | seed \(seed) | step \(failure.steps.count) | \(total) steps | \(passed) s"
                )
                say("\(shortens ? await Simulation.shortened(failure).description : failure.finding.reason)\n")
            }
            shortening += time.now - pause
        }
        // Of the processor's time, because other programs may use it, too.
        let passed = Double(Foundation.clock() - start) / Double(CLOCKS_PER_SEC) - shortening / .seconds(1)
        say("\(walks) walks, \(total) steps, \(refused) refused, \(Int(Double(total) / passed)) steps a second")
        say("never used: \(usage.unused + usage.unmet)")
    }
}
