// FuzzProgram: feeds each reader of outside input with the inputs that libFuzzer finds interesting.
//
// Each target checks that nothing traps, and that the reader keeps its promises for every input that it accepts. The
// first inputs, the seeds, are made of the apps' `examples` and of the paths and heads that other tests use. `requests`
// is not a target: it sends mutated requests to a server. Built and run by `scripts/fuzz`.

internal import CLibFuzzer
internal import FoundationEssentials
internal import Glibc

@main
enum FuzzProgram {
    static func main() async throws {
        var arguments = CommandLine.arguments.dropFirst()
        switch (arguments.popFirst(), arguments.count) {
        case ("targets", 0): for (name, _) in Fuzz.targets { print(name) }
        case ("seeds", 1): try await writeSeeds(to: arguments[arguments.startIndex])
        case ("requests", 3) where arguments.allSatisfy { UInt32($0) != nil }:
            let numbers = arguments.compactMap { Int($0) }
            try await RequestStorm(port: numbers[0], count: numbers[1], seed: UInt64(numbers[2])).run()
        case (_?, _) where chosen != nil: run()
        default:
            print("usage: fuzz targets | seeds DIRECTORY | requests PORT COUNT SEED | TARGET [LIBFUZZER ARGUMENT …]")
            exit(EX_USAGE)
        }
    }

    /// The target that the command line names.
    private static let chosen = Fuzz.targets.first { $0.name == CommandLine.arguments[1] }?.target

    private static func run() {
        var count = CommandLine.argc - 1
        var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv + 1
        _ = LLVMFuzzerRunDriver(&count, &arguments) { bytes, count in
            FuzzProgram.chosen?.check(Array(UnsafeBufferPointer(start: bytes, count: count)))
            return 0
        }
    }

    /// Writes the seeds, in a folder for each target.
    private static func writeSeeds(to directory: String) async throws {
        for (name, target) in Fuzz.targets {
            let folder = "\(directory)/\(name)"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            for (index, seed) in try await target.seeds.enumerated() {
                try Data(seed).write(to: URL(filePath: "\(folder)/seed-\(index)"))
            }
        }
    }
}
