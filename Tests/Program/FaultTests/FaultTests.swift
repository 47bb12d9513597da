import Foundation
import Glibc
import Synchronization
import Testing
import TestSupport

// FaultTests: the server while its process is killed, stopped or flooded, its disk full, slow or failing. Each test has
// a short form, and a long one, `scripts/test-release faults`.
//
// No result depends on the machine's speed. A test waits for what it has seen happen, not for a time; the server's own
// limits on time are an hour, except in what is to reach them.

/// One after the other, because each needs a processor for itself.
@Suite(.serialized, .ownThreads) enum Faults {}

/// At the same time, because they mostly wait.
@Suite(.ownThreads) enum WaitingFaults {}

/// What one thread sets and others look at.
final class Flag: Sendable {
    private let value = Atomic(false)

    var isSet: Bool { value.load(ordering: .relaxed) }

    func set() { value.store(true, ordering: .relaxed) }
}

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
    /// With the flag `--admin-port`.
    private var adminPort = 0
    private(set) var program: Program
    private let executable: String
    private let store: String
    private let flags: [String]
    private let environment: [String: String]

    /// The server's limits that a slow machine might reach.
    private static let limits = ["--head-time", "--body-time", "--answer-time", "--idle-time", "--drain-time"]

    /// - Parameters:
    ///   - executable: `nil` for `coordinatord`.
    ///   - store: `nil` for SQLite in the directory.
    ///   - flags: those of `limits` that are not among them are an hour.
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
        let others = ServerUnderTest.limits.filter { !flags.contains($0) }
        self.flags = flags + others.flatMap { [$0, "1h"] }
        // A drain that is not to take an hour ends the process with an error if its end takes eleven seconds more.
        let endless =
            flags.contains("--drain-time") ? ["LD_PRELOAD": try await Preloaded.clock, "NO_END_LIMIT": "1"] : [:]
        self.environment = environment.merging(endless) { given, _ in given }
        program = try ServerUnderTest.program(
            self.executable, directory, self.store, port: 0, self.flags, wrapper, self.environment)
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
        if flags.contains("--admin-port") {
            let line = try await program.line()
            adminPort = line.firstMatch(of: /metrics: http:\/\/127\.0\.0\.1:(\d+)/).flatMap { Int($0.output.1) } ?? 0
        }
        return port
    }

    /// The value of a metric without labels. Needs the flag `--admin-port`.
    func metric(_ name: String) throws -> Int {
        let reply = BlockingClient(port: adminPort).call("GET", "/metrics")
        let line = reply?.text.split(separator: "\n").first { $0.hasPrefix(name + " ") }
        guard let value = line?.split(separator: " ").last.flatMap({ Int($0) }) else {
            throw TestFailure("no \(name) in \(reply?.text ?? "no answer")")
        }
        return value
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
