import Foundation
import Glibc
import TestSupport

// How much memory and time the server uses (proc(5)).
extension ServerUnderTest {
    /// In kibibytes.
    var residentMemory: Int {
        get throws {
            let status = try String(contentsOfFile: "/proc/\(program.processID)/status", encoding: .utf8)
            guard let match = status.firstMatch(of: /VmRSS:\s+(\d+) kB/), let size = Int(match.output.1) else {
                throw TestFailure("no memory in \(status)")
            }
            return size
        }
    }

    /// In seconds, in user mode and in the kernel.
    var processorTime: Double {
        get throws {
            let line = try String(contentsOfFile: "/proc/\(program.processID)/stat", encoding: .utf8)
            // After the name in parentheses, the state is the third field; utime and stime are the 14th and 15th.
            let fields = line.split(separator: ")").last?.split(separator: " ") ?? []
            guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else {
                throw TestFailure("no times in \(line)")
            }
            return (user + system) / Double(sysconf(CInt(_SC_CLK_TCK)))
        }
    }
}
