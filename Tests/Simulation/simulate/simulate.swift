// simulate: walks from many seeds, and prints what they find.
//
//     simulate engine [--seeds 1..<1000 | --seeds 7] [--steps 300] [--seconds 60] [--mutant NAME] [--trace FILE]
//         [--ignore KIND]… [--raw]
//     simulate session [the same] [--store memory|sqlite]
//     simulate replay FILE
import Foundation
import SessionSimulation
import Simulation

@main struct Simulate {
    static func main() async {
        var (seeds, steps, seconds): (Range<UInt64>, Int, Double?) = (1..<101, 300, nil)
        var (trace, known, shortens): (String?, Set<String>, Bool) = (nil, [], true)
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
            case "--store": store = SessionSetup.Store(rawValue: value)
            case "--ignore": known.insert(value)
            case "--mutant": return say("There is no mutant “\(value)”.")
            default: return usage()
            }
        }
        if isOfSessions {
            await walkSessions(seeds, steps, seconds, trace, known, shortens, store)
        } else {
            await walk(seeds, steps, seconds, trace, known, shortens)
        }
    }

    private static func usage() {
        say(
            "simulate engine|session [--seeds 1..<1000] [--steps N] [--seconds N] [--trace FILE] [--ignore KIND] [--raw]"
        )
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

    private static func walkSessions(
        _ seeds: Range<UInt64>, _ steps: Int, _ seconds: Double?, _ trace: String?, _ ignored: Set<String>,
        _ shortens: Bool, _ store: SessionSetup.Store?
    ) async {
        let file = trace.flatMap { path in
            FileManager.default.createFile(atPath: path, contents: nil) ? FileHandle(forWritingAtPath: path) : nil
        }
        let time = ContinuousClock()
        var (known, total, refused, walks) = (ignored, 0, 0, 0)
        var (passed, cost) = (0.0, 0.0)
        var answers: [String: Int] = [:]
        for seed in seeds {
            if let seconds, passed > seconds { break }
            let (start, clock) = (time.now, Foundation.clock())
            let report = await SessionSimulation.walk(
                seed: seed, steps: steps, store: store, ignoring: known, shortens: false, traces: file != nil)
            passed += (time.now - start) / .seconds(1)
            cost += Double(Foundation.clock() - clock) / Double(CLOCKS_PER_SEC)
            for line in report.trace { file?.write(Data("\(line)\n".utf8)) }
            total += report.steps
            refused += report.refused
            walks += 1
            answers.merge(report.answers) { $0 + $1 }
            for failure in report.failures {
                known.insert(failure.finding.kind)
                say(
                    "FOUND \(failure.finding.kind) | seed \(seed) | step \(failure.steps.count) | \(total) steps | \(passed) s"
                )
                let text =
                    shortens
                    ? await SessionSimulation.shortened(failure).description : failure.finding.reason
                say("\(text)\n")
            }
        }
        say("\(walks) walks, \(total) steps, \(refused) refused, \(Int(Double(total) / cost)) steps a second")
        if let list = ProcessInfo.processInfo.environment["ANSWERS"], !list.isEmpty {
            for (word, count) in answers.sorted(by: { $0.value > $1.value }).prefix(80) { say("\(count) \(word)") }
        }
    }
}
