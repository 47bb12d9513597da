import Foundation
import Testing
import TestSupport

// FaultTests: the server while its process is killed, stopped or flooded, its disk full, slow or failing. Each test has
// a short form, and a long one, `scripts/test-release faults`.

/// One after the other, because each needs a processor for itself.
@Suite(.serialized, .timeLimit(.minutes(10 * Scale.factor))) enum Faults {}

/// At the same time, because they mostly wait.
@Suite(.timeLimit(.minutes(10))) enum WaitingFaults {}

/// A directory that is removed with this value.
final class TemporaryDirectory: Sendable {
    let path: String

    init() {
        path = NSTemporaryDirectory() + "coordinatord-faults-\(UUID())"
        try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}

/// A server on a directory, which can be ended and restarted at the same port.
final class ServerUnderTest: @unchecked Sendable {
    // Unchecked: used by one test, which does not start and end it at the same time.
    let directory: String
    private(set) var port = 0
    private(set) var program: Program
    private let executable: String
    private let store: String
    private let flags: [String]
    private let environment: [String: String]

    /// - Parameters:
    ///   - executable: `nil` for `coordinatord`.
    ///   - store: `nil` for SQLite in the directory.
    ///   - wrapper: a command line that the server's is appended to.
    ///   - environment: what is added to the test's own.
    init(
        _ executable: String? = nil, directory: String, store: String? = nil, flags: [String] = [],
        wrapper: [String] = [],
        environment: [String: String] = [:]
    ) async throws {
        self.executable = try executable ?? Program.server.path
        self.directory = directory
        self.store = store ?? "sqlite:\(directory)/store"
        self.flags = flags
        self.environment = environment
        program = try ServerUnderTest.program(
            self.executable, directory, self.store, port: 0, flags, wrapper, environment)
        port = try await ready()
    }

    private static func program(
        _ executable: String, _ directory: String, _ store: String, port: Int, _ flags: [String], _ wrapper: [String],
        _ environment: [String: String]
    ) throws -> Program {
        // In memory, apps store no data.
        let data = flags.contains("memory") ? [] : ["--data-directory", "\(directory)/apps"]
        let creation = store.hasPrefix("postgresql:") ? ["--create-store"] : []
        let command = wrapper + [executable, "serve", "--port", "\(port)", "--store", store] + creation + data + flags
        return try Program(URL(filePath: "/usr/bin/env"), command, environment: environment)
    }

    private func ready() async throws -> Int {
        let line = try await program.line()
        guard let match = line.firstMatch(of: /http:\/\/127\.0\.0\.1:(\d+)/), let port = Int(match.output.1) else {
            throw TestFailure("the server is not ready: \(line) \(try await program.exit().errors)")
        }
        return port
    }

    /// Starts it again after its end, without the wrapper.
    ///
    /// - Parameters:
    ///   - more: flags in addition to those of `init`
    ///   - changed: what is changed in the environment of `init`
    func restart(_ more: [String] = [], environment changed: [String: String] = [:]) async throws {
        program = try ServerUnderTest.program(
            executable, directory, store, port: port, flags + more, [], environment.merging(changed) { $1 })
        port = try await ready()
    }

    func signal(_ number: Int32) { program.signal(number) }

    func kill() async throws {
        program.signal(SIGKILL)
        _ = try await program.end()
    }

    func stop() async throws {
        program.signal(SIGTERM)
        let code = try await program.end()
        guard code == 0 else { throw TestFailure("the server ended with \(code)") }
    }
}
