import Foundation
import Glibc
import TestSupport

/// Holds one system call of a program for as long as a test wants.
enum Hold {
    /// The command line that the program's is appended to.
    ///
    /// - Parameters:
    ///   - call: the name of the system call, or several with commas in between.
    ///   - number: which of the calls of one thread is held.
    static func wrapper(_ call: String, at number: Int) -> [String] {
        // Half an hour. Without --seccomp-bpf: after the tracer's end it would make all of these calls fail.
        [
            "strace", "-D", "-f", "-e", "trace=\(call)", "-e",
            "inject=\(call):delay_enter=2000000000:when=\(number)", "-o", "/dev/null",
        ]
    }

    /// The program's tracer. When it is ended, what was held goes on.
    static func tracer(of program: Program) throws -> pid_t {
        let status = try String(contentsOfFile: "/proc/\(program.processID)/status", encoding: .utf8)
        guard let match = status.firstMatch(of: /TracerPid:\s+(\d+)/), let id = pid_t(match.output.1), id > 0 else {
            throw TestFailure("nothing traces the program: \(status)")
        }
        return id
    }

    static func release(_ program: Program) throws {
        // The tracer may not have begun yet.
        try waitUntil { !program.isAlive || (try? tracer(of: program)) != nil }
        kill(try tracer(of: program), SIGKILL)
    }
}

extension Program {
    /// Whether the process has not ended, nor begun to. `isRunning` notices an end a moment later.
    var isAlive: Bool {
        // After the name in parentheses, the state is the third field (proc(5)).
        let line = try? String(contentsOfFile: "/proc/\(processID)/stat", encoding: .utf8)
        return line.map { !$0.contains(") Z ") && !$0.contains(") X ") } ?? false
    }
}
