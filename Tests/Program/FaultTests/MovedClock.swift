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

    /// - Parameter directory: for the file that this needs
    init(in directory: String) async throws {
        path = directory + "/clock"
        environment = ["LD_PRELOAD": try await Preloaded.clock, "MOVED_CLOCK": path]
        try write(0)
    }

    /// Seconds that the servers' clock is ahead now.
    var offset: Int { state.withLock { $0.offset } }

    /// The most seconds that it ever was ahead.
    var largestOffset: Int { state.withLock { $0.largest } }

    /// The latest time that a server can have: its time never goes back.
    var latest: Date { Date(timeIntervalSinceNow: TimeInterval(largestOffset)) }

    func move(to offset: Int) throws {
        // Under the lock: a client that has read one offset before and after a request must know that no other was
        // in force meanwhile.
        try state.withLock { state in
            state.largest = max(state.largest, offset)
            try write(offset)
            state.offset = offset
        }
    }

    private func write(_ offset: Int) throws {
        let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(file) }
        var offset = Int64(offset)
        guard pwrite(file, &offset, 8, 0) == 8 else { throw TestFailure("cannot write \(path)") }
    }
}
