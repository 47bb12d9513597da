import Foundation
import Glibc
import Synchronization
import TestSupport

/// The wall clock of servers that are started with `environment`; `Tests/MovedClock` moves it while they run.
final class MovedClock: Sendable {
    let environment: [String: String]
    private let path: String
    /// Seconds that the clock is ahead, and the most that it ever was.
    private let state = Mutex((offset: 0, largest: 0))

    /// - Parameter directory: for the files that this needs
    init(in directory: String) async throws {
        path = directory + "/clock"
        let library = directory + "/clock.so"
        let source = repository.appending(path: "Tests/MovedClock/clock.c").path
        let compiler = try Program(
            URL(filePath: "/usr/bin/env"),
            ["clang", "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", source, "-o", library])
        let (code, _, errors) = try await compiler.exit()
        guard code == 0 else { throw TestFailure("the clock cannot be compiled: \(errors)") }
        environment = ["LD_PRELOAD": library, "MOVED_CLOCK": path]
        try write(0)
    }

    /// Seconds that the servers' clock is ahead now.
    var offset: Int { state.withLock { $0.offset } }

    /// The most seconds that it ever was ahead.
    var largestOffset: Int { state.withLock { $0.largest } }

    /// The latest time that a server can have: its time never goes back.
    var latest: Date { Date(timeIntervalSinceNow: TimeInterval(largestOffset)) }

    func move(to offset: Int) throws {
        state.withLock { state in
            state.largest = max(state.largest, offset)
        }
        try write(offset)
        state.withLock { $0.offset = offset }
    }

    private func write(_ offset: Int) throws {
        let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(file) }
        var offset = Int64(offset)
        guard pwrite(file, &offset, 8, 0) == 8 else { throw TestFailure("cannot write \(path)") }
    }
}
