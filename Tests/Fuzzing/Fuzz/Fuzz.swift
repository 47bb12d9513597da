// Fuzz: the readers of what comes from outside, each fed with whatever libFuzzer finds out to be interesting.
//
// Each target checks that nothing traps, and that what is promised of the reader holds for whatever it takes. The first
// inputs, the seeds, are made of the apps' `examples` and of the paths and heads that other tests use. `requests` is no
// target: it sends mutated requests to a server. Built and run by `scripts/fuzz`.

internal import CLibFuzzer
internal import FoundationEssentials
internal import Glibc

/// A reader, and what holds whatever it reads.
protocol FuzzTarget: SendableMetatype {
    /// Inputs to begin with.
    static var seeds: [[UInt8]] { get async throws }

    /// Returns where all that is promised holds; ends the process where it does not.
    static func check(_ input: [UInt8])
}

@main
enum Fuzz {
    static let targets: [(name: String, target: any FuzzTarget.Type)] = [
        ("json", JSONText.self), ("event", PostedEvents.self), ("target", RequestTarget.self),
        ("state", SavedStates.self), ("record", StoredRecords.self), ("log", StoredLog.self),
    ]

    static func main() async throws {
        var arguments = CommandLine.arguments.dropFirst()
        switch (arguments.popFirst(), arguments.count) {
        case ("targets", 0): for (name, _) in targets { print(name) }
        case ("seeds", 1): try await writeSeeds(to: arguments[arguments.startIndex])
        case ("requests", 3) where arguments.allSatisfy { UInt32($0) != nil }:
            let numbers = arguments.compactMap { Int($0) }
            try await RequestStorm(port: numbers[0], count: numbers[1], seed: UInt64(numbers[2])).run()
        case (let name?, _) where targets.contains { $0.name == name }: run()
        default:
            print("usage: fuzz targets | seeds DIRECTORY | requests PORT COUNT SEED | TARGET [LIBFUZZER ARGUMENT …]")
            exit(EX_USAGE)
        }
    }

    /// The one that the command line names.
    private static let chosen = targets.first { $0.name == CommandLine.arguments[1] }?.target

    private static func run() {
        var count = CommandLine.argc - 1
        var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv + 1
        _ = LLVMFuzzerRunDriver(&count, &arguments) { bytes, count in
            Fuzz.chosen?.check(Array(UnsafeBufferPointer(start: bytes, count: count)))
            return 0
        }
    }

    /// A folder for each target.
    private static func writeSeeds(to directory: String) async throws {
        for (name, target) in targets {
            let folder = "\(directory)/\(name)"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            for (index, seed) in try await target.seeds.enumerated() {
                try Data(seed).write(to: URL(filePath: "\(folder)/seed-\(index)"))
            }
        }
    }
}

/// Ends the process where a promise is broken; libFuzzer keeps the input then.
func promise(_ text: @autoclosure () -> String, _ holds: Bool) {
    if !holds { fatalError("broken: \(text())") }
}
