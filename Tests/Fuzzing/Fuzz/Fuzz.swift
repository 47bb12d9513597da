// Fuzz: feeds each reader of outside input with the inputs that libFuzzer finds interesting.
//
// Each target checks that nothing traps, and that the reader keeps its promises for every input that it accepts. The
// first inputs, the seeds, are made of the apps' `examples` and of the paths and heads that other tests use. `requests`
// is not a target: it sends mutated requests to a server. Built and run by `scripts/fuzz`.

internal import CLibFuzzer
internal import FoundationEssentials
internal import Glibc

/// A reader, and what holds for every input.
protocol FuzzTarget: SendableMetatype {
    /// The first inputs.
    static var seeds: [[UInt8]] { get async throws }

    /// Returns if every promise holds for the input; otherwise ends the process.
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

    /// The target that the command line names.
    private static let chosen = targets.first { $0.name == CommandLine.arguments[1] }?.target

    private static func run() {
        var count = CommandLine.argc - 1
        var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv + 1
        _ = LLVMFuzzerRunDriver(&count, &arguments) { bytes, count in
            Fuzz.chosen?.check(Array(UnsafeBufferPointer(start: bytes, count: count)))
            return 0
        }
    }

    /// Writes the seeds, in a folder for each target.
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

/// Ends the process if a promise is broken; libFuzzer then keeps the input.
func promise(_ text: @autoclosure () -> String, _ holds: Bool) {
    if !holds { fatalError("broken: \(text())") }
}
