public import Foundation
internal import Glibc
internal import Synchronization
internal import Testing

/// A program that runs beside the test.
public final class Program: @unchecked Sendable {
    // Unchecked: `process` is set up in `init`; later only its pid and its exit are used, by the one test that owns it.
    private let process = Process()
    private let output = Pipe()
    private let errors = Pipe()
    /// What was read from standard error.
    private let log = Mutex(Data())
    private let test = Test.current

    public init(_ executable: URL, _ arguments: [String], environment: [String: String] = [:]) throws {
        process.executableURL = executable
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = errors
        try process.run()
    }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        keepLog()
    }

    /// Writes the log into a file of `TEST_LOGS`, below a line with the test's id: `scripts/swift-tests`
    /// shows the logs of failed tests.
    private func keepLog() {
        guard let directory = ProcessInfo.processInfo.environment["TEST_LOGS"], let test else { return }
        var all = Data("\(test.id)\n".utf8) + log.withLock(\.self)
        let reading = errors.fileHandleForReading
        _ = fcntl(reading.fileDescriptor, F_SETFL, O_NONBLOCK)
        while let more = try? reading.read(upToCount: 65536), !more.isEmpty { all += more }
        try? all.write(to: URL(filePath: directory).appending(path: "\(UUID()).log"))
    }

    /// The server that this package builds: the release build if the environment names it, because it is faster.
    public static var server: URL {
        get throws {
            let release = ProcessInfo.processInfo.environment["COORDINATORD_SERVER"]
            return try release.map { URL(filePath: $0) } ?? besideTests("coordinatord")
        }
    }

    /// The server with unusual apps.
    public static var oddServer: URL { get throws { try besideTests("oddserver") } }

    private static func besideTests(_ name: String) throws -> URL {
        let executable = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return URL(filePath: executable).deletingLastPathComponent().appending(path: name)
    }

    public static func coordinatord(_ arguments: String...) throws -> Program {
        try Program(server, arguments)
    }

    /// Runs the server with arguments that it must refuse. If it accepts them, it is ended after `hangLimit`, with exit
    /// code 124.
    public static func refused(_ arguments: String...) async throws -> (code: Int32, output: String, errors: String) {
        let arguments = ["\(hangLimit)", try server.path] + arguments + ["--log-format", "text"]
        return try await Program(URL(filePath: "/usr/bin/timeout"), arguments).exit()
    }

    /// Reads standard output up to the end of a line.
    public func line() async throws -> String {
        try await blocking { [output] in
            var line = Data()
            while let byte = try output.fileHandleForReading.read(upToCount: 1), byte != Data("\n".utf8) {
                line += byte
            }
            return String(decoding: line, as: UTF8.self)
        }
    }

    /// Reads standard error until a text appears. Nothing may have read it before.
    ///
    /// - Returns: all that was read.
    /// - Throws: `TestFailure` at the end of the output, or after `hangLimit` of silence.
    public func errors(until text: String) async throws -> String {
        try await blocking { [self] in
            var all = ""
            while !all.contains(text) {
                let more = read(within: hangLimit)
                if more.isEmpty { throw TestFailure("ended without “\(text)”: \(all.suffix(1000))") }
                all += more
            }
            return all
        }
    }

    /// Reads what has arrived on standard error, or arrives within a second.
    public func moreErrors() async throws -> String {
        try await blocking { [self] in read(within: 1) }
    }

    private func read(within seconds: Int) -> String {
        let reading = errors.fileHandleForReading
        var ready = pollfd(fd: reading.fileDescriptor, events: Int16(POLLIN), revents: 0)
        let more = poll(&ready, 1, Int32(1000 * seconds)) > 0 ? reading.availableData : Data()
        log.withLock { $0 += more }
        return String(decoding: more, as: UTF8.self)
    }

    public var isRunning: Bool { process.isRunning }

    public func signal(_ number: Int32) {
        kill(process.processIdentifier, number)
    }

    public var processID: Int32 { process.processIdentifier }

    /// Waits until the program ends, in whatever way, and leaves its output unread.
    ///
    /// - Returns: the exit code, or the signal as a negative number.
    public func end() async throws -> Int32 {
        try await blocking { [self] in
            process.waitUntilExit()
            return process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus
        }
    }

    /// Waits until the program exits, and reads its output.
    ///
    /// - Throws: `TestFailure` if a signal ended it.
    public func exit() async throws -> (code: Int32, output: String, errors: String) {
        try await blocking { [self] in
            let output = try output.fileHandleForReading.readToEnd() ?? Data()
            let errors = try errors.fileHandleForReading.readToEnd() ?? Data()
            log.withLock { $0 += errors }
            process.waitUntilExit()
            guard process.terminationReason == .exit else {
                throw TestFailure("ended by signal \(process.terminationStatus)")
            }
            return (
                process.terminationStatus, String(decoding: output, as: UTF8.self),
                String(decoding: errors, as: UTF8.self)
            )
        }
    }
}
