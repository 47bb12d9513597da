import Foundation
import JSONCoding
import Testing
import TestSupport

/// The stored sessions as an operator handles them: real files, real processes.
@Suite struct StorageTests {
    /// A directory that is removed with this value.
    final class Directory: Sendable {
        let path = NSTemporaryDirectory() + "coordinatord-storage-\(UUID())"
        init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
        deinit { try? FileManager.default.removeItem(atPath: path) }
    }

    /// The files below a directory, with their permissions; in memory, so that nothing has to be removed.
    struct Copy: Sendable {
        private var files: [(path: String, permissions: Int, bytes: Data?)] = []

        init(of directory: String) throws {
            for path in try FileManager.default.subpathsOfDirectory(atPath: directory).sorted() {
                let attributes = try FileManager.default.attributesOfItem(atPath: "\(directory)/\(path)")
                let isDirectory = attributes[.type] as? FileAttributeType == .typeDirectory
                let bytes = try isDirectory ? nil : Data(contentsOf: URL(filePath: "\(directory)/\(path)"))
                files.append((path, attributes[.posixPermissions] as? Int ?? 0, bytes))
            }
        }

        func write(to directory: String) throws {
            for (path, permissions, bytes) in files {
                let target = "\(directory)/\(path)"
                if let bytes {
                    try bytes.write(to: URL(filePath: target))
                } else {
                    try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: true)
                }
                try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: target)
            }
        }
    }

    let directory: Directory
    var store: String { "sqlite:\(directory.path)/store" }

    init() throws {
        directory = try Directory()
    }

    func serve(
        _ store: String? = nil, _ flags: [String] = [], with server: URL? = nil
    ) async throws -> (program: Program, connection: Connection) {
        let store = store ?? self.store
        let creation = store.hasPrefix("postgresql:") ? ["--create-store"] : []
        // In memory, apps store no data.
        let data = store == "memory" ? [] : ["--data-directory", directory.path + "/apps"]
        let program = try Program(
            try server ?? Program.server,
            ["serve", "--port", "0", "--store", store] + ServerTests.unhurried + creation + data + flags)
        let line = try await program.line()
        let port = try #require(line.firstMatch(of: /http:\/\/127\.0\.0\.1:(\d+)/).flatMap { Int($0.output.1) })
        return (program, try Connection(port: port))
    }

    func stop(_ program: Program) async throws {
        program.signal(SIGTERM)
        #expect(try await program.exit().code == 0)
    }

    /// Runs a command on the store.
    func run(
        _ command: String..., input: String = "", store: String? = nil
    ) async throws -> (code: Int32, output: String, errors: String) {
        try await run(command, input: input, store: store)
    }

    func run(
        _ command: [String], input: String = "", store: String? = nil
    ) async throws -> (code: Int32, output: String, errors: String) {
        let file = directory.path + "/input"
        try Data(input.utf8).write(to: URL(filePath: file))
        let words = try [Program.server.path] + command + ["--store", store ?? self.store]
        let line = words.map { "'\($0)'" }.joined(separator: " ") + " < '\(file)'"
        var result = try await Program(URL(filePath: "/bin/bash"), ["-c", line]).exit()
        result.errors = result.errors.withoutProgress
        return result
    }

    struct Session: Sendable {
        let path: String
        let id: String
        let headers: [String: String]

        init(_ answer: Answer) throws {
            let json = try JSON(parsing: Array(answer.body))
            id = try #require(json["session"]?["id"]?.string)
            path = "/v1/sessions/\(id)"
            headers = [
                "Authorization": "Bearer \(try #require(json["token"]?.string))", "Content-Type": "application/json",
            ]
        }
    }

    func open(_ connection: Connection, app: String = "numbers") async throws -> Session {
        try Session(
            try await connection.request(
                "POST", "/v1/sessions", headers: ["Content-Type": "application/json"],
                body: Data(#"{"app":"\#(app)"}"#.utf8)))
    }

    func push(_ number: Int, _ session: Session, _ connection: Connection, key: String? = nil) async throws -> Answer {
        try await connection.request(
            "POST", "\(session.path)/events",
            headers: session.headers.merging(key.map { ["Idempotency-Key": $0] } ?? [:]) { $1 },
            body: Data(#"{"type":"push","payload":\#(number)}"#.utf8))
    }

    @Test func `sessions outlive a restart, byte for byte`() async throws {
        var (program, connection) = try await serve()
        let session = try await open(connection)
        let first = try await push(1, session, connection, key: "a")
        let before = try await connection.request("GET", session.path, headers: session.headers)
        try await stop(program)

        (program, connection) = try await serve(nil, ["--durability", "relaxed"])
        let after = try await connection.request("GET", session.path, headers: session.headers)
        let again = try await push(1, session, connection, key: "a")

        #expect(after.status == 200 && after.body == before.body)
        #expect(again.body == first.body && again.headers["idempotency-replayed"] == "true")
        #expect(try await connection.request("GET", "/readyz").text.contains(#""store":"sqlite-relaxed""#))
        try await stop(program)
    }

    @Test func `a replaced token stays replaced after a restart, and the new one is returned again`() async throws {
        var (program, connection) = try await serve(with: Program.oddServer)
        let session = try await open(connection, app: "production")
        func enter(_ key: String) async throws -> (answer: Answer, token: String?) {
            let answer = try await connection.request(
                "POST", "\(session.path)/events", headers: session.headers.merging(["Idempotency-Key": key]) { $1 },
                body: Data(#"{"type":"enter"}"#.utf8))
            return (answer, try JSON(parsing: Array(answer.body))["token"]?.string)
        }
        let first = try await enter("a-key-of-20-letters.")
        let token = try #require(first.token)
        try await stop(program)

        (program, connection) = try await serve(with: Program.oddServer)
        let again = try await enter("a-key-of-20-letters.")
        let state = try await connection.request("GET", session.path, headers: ["Authorization": "Bearer \(token)"])

        #expect(again.answer.headers["idempotency-replayed"] == "true" && again.token == token)
        #expect(state.status == 200 && state.headers["etag"] == first.answer.headers["etag"])
        #expect(try await connection.request("GET", session.path, headers: session.headers).status == 401)
        #expect(try await enter("another-key-as-long").answer.status == 401)
        try await stop(program)
    }

    @Test func `a second server on the directory is refused, and leaves nothing in it`() async throws {
        let (program, _) = try await serve()

        let second = try await run("serve", "--port", "0", "--log-format", "text")

        #expect(second.code == 69)
        #expect(!FileManager.default.fileExists(atPath: directory.path + "/store/accounts.sqlite"))
        #expect(second.errors == "Error: \(directory.path)/store is in use by another process\n")
        try await stop(program)
    }

    @Test func `what is stored can be checked, listed and copied while a server runs`() async throws {
        let (program, connection) = try await serve()
        let session = try await open(connection)
        for number in 1...3 { _ = try await push(number, session, connection) }
        let backup = directory.path + "/copy/sessions.sqlite"
        try FileManager.default.createDirectory(atPath: directory.path + "/copy", withIntermediateDirectories: true)

        let check = try await run("check", "--data-directory", directory.path + "/apps")
        let list = try await run("sessions", "list")
        let show = try await run("sessions", "show", session.id)
        let copied = try await run("backup", backup)

        #expect(check.code == 0)
        #expect(check.output.contains("\(session.id) restored"))
        #expect(check.output.contains("restored: 1, migrated: 0, reduced: 0, relaunched: 0, "))
        #expect(list.output.hasPrefix("\(session.id) numbers 4 "))
        #expect(show.output.split(separator: "\n").count == 5)
        #expect(copied.output == "\(backup): 1 sessions\n" && copied.errors == "")
        #expect(try await run("backup", backup).code == 73, "it overwrites nothing")
        _ = try await push(4, session, connection)
        let before = try await run("sessions", "show", session.id)
        #expect(before.output.split(separator: "\n").count == 6)
        try await stop(program)

        let (other, connectionToCopy) = try await serve("sqlite:\(directory.path)/copy")
        let state = try await connectionToCopy.request("GET", session.path, headers: session.headers)
        #expect(try #require(state.headers["etag"]).hasPrefix("\"4."), "of a generation of its own")
        try await stop(other)
    }

    @Test func `sessions move from store to store as exported lines`() async throws {
        let (program, connection) = try await serve()
        let session = try await open(connection)
        let answer = try await push(1, session, connection, key: "a")
        let other = try await open(connection, app: "tabs")
        let refused = try await run("sessions", "purge", session.id)
        #expect(refused.code == 69, "the server is running")
        #expect(refused.errors.hasSuffix("another process: stop the server that uses the store first\n"))
        try await stop(program)

        let elsewhere = "sqlite:\(directory.path)/elsewhere"
        let lines = try await run("sessions", "export").output
        #expect(
            try await run("sessions", "import", input: lines, store: elsewhere).output
                == "imported: 2, existed already: 0\n")
        #expect(try await run("sessions", "import", input: lines, store: elsewhere).code == 1)
        #expect(try await run("sessions", "export", store: elsewhere).output == lines)
        #expect(try await run("sessions", "purge", other.id, store: elsewhere).output == "purged: 1\n")
        let odd = try await run("sessions", "import", input: lines.replacing(other.id, with: "s_"), store: elsewhere)
        #expect(odd.code == 65 && odd.errors.hasSuffix("; nothing was imported\n"), "\(odd.errors)")
        for missing in ["show", "purge"] {
            #expect(try await run("sessions", missing, other.id, store: elsewhere).code != 0)
        }

        let (second, there) = try await serve(elsewhere)
        let again = try await push(1, session, there, key: "a")
        #expect(again.body == answer.body && again.headers["idempotency-replayed"] == "true")
        #expect(try await there.request("GET", other.path, headers: other.headers).status == 401)
        _ = try await there.request("DELETE", session.path, headers: session.headers)
        try await stop(second)
        #expect(try await run("sessions", "purge", "--over", store: elsewhere).output == "purged: 1\n")
        #expect(try await run("sessions", "list", store: elsewhere).output == "")
    }

    @Test func `a missing store is an error, and so is a file that is no store`() async throws {
        #expect(try await run("sessions", "list").code == 66)
        try FileManager.default.createDirectory(atPath: directory.path + "/store", withIntermediateDirectories: true)
        try Data("this is no database, however long it may be".utf8).write(
            to: URL(filePath: directory.path + "/store/sessions.sqlite"))
        #expect(try await run("sessions", "list").code == 65)
        let server = try await run("serve", "--port", "0", "--data-directory", directory.path + "/apps")
        #expect(server.code == 65)
        #expect(server.errors.contains("is damaged"))
    }
}

extension String {
    /// What a command writes to standard error, without the progress, which only work of a second or more shows.
    var withoutProgress: String { replacing(/(?m)^[a-z]+: \d+ (%|[a-z]+ so far)\n/, with: "") }
}
