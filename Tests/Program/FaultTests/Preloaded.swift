import Foundation
import TestSupport

/// Libraries that are loaded into a server or a command before all others (ld.so(8)), each compiled once.
enum Preloaded {
    private static let directory = TemporaryDirectory()
    private static let compiled = (
        clock: compile("MovedClock/clock.c"), copies: compile("KillCopies/copies.c"),
        holds: compile("HeldCalls/holds.c"), unlocks: compile("FailedUnlocks/unlocks.c")
    )

    /// Changes time for a program.
    static var clock: String { get async throws { try await compiled.clock.value } }

    /// Copies a directory before each call that changes a file.
    static var copies: String { get async throws { try await compiled.copies.value } }

    /// Holds a call.
    static var holds: String { get async throws { try await compiled.holds.value } }

    /// Fails to give up locks.
    static var unlocks: String { get async throws { try await compiled.unlocks.value } }

    /// The environment in which a command measures time with a clock that goes on by so many seconds whenever it is
    /// read; with 0 it stands still.
    static func clock(step seconds: Int) async throws -> [String: String] {
        ["LD_PRELOAD": try await clock, "CLOCK_STEP": "\(seconds)"]
    }

    private static func compile(_ source: String) -> Task<String, any Error> {
        Task {
            let library = "\(directory.path)/\(source.replacing("/", with: "-")).so"
            let path = repository.appending(path: "Tests/\(source)").path
            let command = ["clang", "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", path, "-o", library]
            let (code, _, errors) = try await Program(URL(filePath: "/usr/bin/env"), command).exit()
            guard code == 0 else { throw TestFailure("\(source) cannot be compiled: \(errors)") }
            return library
        }
    }
}
