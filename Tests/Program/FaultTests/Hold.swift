import Foundation
import TestSupport

/// Holds one call of a program that is started with `environment`, for as long as a test wants; see `Tests/HeldCalls`.
struct Hold {
    let environment: [String: String]
    private let directory = TemporaryDirectory()
    private var file: String { directory.path + "/held" }

    /// - Parameters:
    ///   - call: `fdatasync` or `pwrite64`.
    ///   - number: which of the calls of one thread is held.
    init(_ call: String, at number: Int) async throws {
        environment = [
            "LD_PRELOAD": try await Preloaded.holds, "HELD_CALL": call, "HELD_NUMBER": "\(number)",
            "HOLD": directory.path + "/held",
        ]
    }

    /// Holds a command while it writes the file that it makes: before it come 16 of these calls at most, and a copy of 40
    /// sessions takes 50.
    static func amidWriting() async throws -> Hold { try await Hold("pwrite64", at: 30) }

    /// Waits until the call has come.
    func wait() async throws { try await eventually { FileManager.default.fileExists(atPath: file) } }

    func release() throws { try FileManager.default.removeItem(atPath: file) }
}

extension Program {
    /// Whether the process has not ended, nor begun to. `isRunning` notices an end a moment later.
    var isAlive: Bool {
        // After the name in parentheses, the state is the third field (proc(5)).
        let line = try? String(contentsOfFile: "/proc/\(processID)/stat", encoding: .utf8)
        return line.map { !$0.contains(") Z ") && !$0.contains(") X ") } ?? false
    }
}
