import Foundation
import JSONCoding
import Testing
import TestSupport

/// Effects and timers of real servers, which are killed while these are under way.
@Suite struct SignalServerTests {
    let storage: StorageTests
    var ledger: String { "\(storage.directory.path)/ledger" }

    init() throws {
        storage = try StorageTests()
    }

    private func serve(_ store: String? = nil, _ flags: String...) async throws -> (Program, Connection) {
        let program = try Program(
            try Program.oddServer,
            [
                "serve", "--port", "0", "--store", store ?? storage.store, "--data-directory",
                storage.directory.path + "/apps",
            ] + ServerTests.unhurried + (store?.hasPrefix("postgresql:") == true ? ["--create-store"] : []) + flags,
            environment: ["ODD_LEDGER": ledger])
        let line = try await program.line()
        let port = try #require(line.firstMatch(of: /http:\/\/127\.0\.0\.1:(\d+)/).flatMap { Int($0.output.1) })
        return (program, try Connection(port: port))
    }

    private func post(_ event: String, to session: StorageTests.Session, _ connection: Connection) async throws {
        let answer = try await connection.request(
            "POST", "\(session.path)/events", headers: session.headers, body: Data(event.utf8))
        #expect(answer.status == 200, "\(answer.text)")
    }

    private func state(_ session: StorageTests.Session, _ connection: Connection) async throws -> JSON {
        let answer = try await connection.request("GET", session.path, headers: session.headers)
        return try JSON(parsing: Array(answer.body))
    }

    private func isDone(
        _ sessions: [StorageTests.Session], bells: Int, _ connection: Connection
    ) async throws -> Bool {
        for session in sessions {
            let state = try await state(session, connection)
            guard state["pending"] == nil, state["visible"]?["params"]?["rung"]?.array?.count == bells else {
                return false
            }
        }
        return true
    }

    /// Each job was done at least once, under one id, and has one outcome; each bell rang once, in order.
    private func check(
        _ sessions: [StorageTests.Session], jobs: Int, bells: Int, _ connection: Connection
    ) async throws {
        var ids: [String: Set<String>] = [:]
        for line in try String(contentsOfFile: ledger, encoding: .utf8).split(separator: "\n") {
            let words = line.split(separator: " ").map(String.init)
            ids["\(words[0]) \(words[1])", default: []].insert(words[2])
        }
        for session in sessions {
            let params = try #require(try await state(session, connection)["visible"]?["params"])
            #expect(params["done"]?.array?.compactMap(\.integer).sorted() == Array(1...jobs), "\(session.id)")
            #expect(params["rung"]?.array?.compactMap(\.integer) == Array(1..<bells + 1), "\(session.id)")
            for job in 1...jobs { #expect(ids["\(session.id) \(job)"]?.count == 1, "\(session.id) \(job)") }
            let answer = try await connection.request(
                "GET", "\(session.path)/history?limit=100", headers: session.headers)
            let history = try JSON(parsing: Array(answer.body))["history"]?.array ?? []
            #expect(history.count { $0["cause"] == "effect" } == jobs, "\(session.id)")
            #expect(history.count { $0["cause"] == "timer" } == bells, "\(session.id)")
        }
        #expect(Set(ids.values.flatMap(\.self)).count == ids.count, "two effects have the same id")
    }

    @Test func `kill -9 loses no effect and no timer, and applies no outcome twice`() async throws {
        var (program, connection) = try await serve()
        var sessions: [StorageTests.Session] = []
        let (jobs, bells) = (8, 3)
        // While there is this file, no job ends.
        let hold = "\(ledger).hold"
        #expect(FileManager.default.createFile(atPath: hold, contents: nil))
        for round in 0..<Scale.rounds(3, long: 20) {
            for _ in 0..<Scale.rounds(10, long: 125) {
                let session = try await storage.open(connection, app: "workshop")
                sessions.append(session)
                try await post(#"{"type":"begin","payload":{"jobs":\#(jobs)}}"#, to: session, connection)
                let ring = #"{"type":"ring","payload":{"bells":\#(bells),"milliseconds":200}}"#
                try await post(ring, to: session, connection)
            }
            if round == 0 {
                // Some effects are under way at least once.
                try await eventually { (try? String(contentsOfFile: ledger, encoding: .utf8))?.isEmpty == false }
            } else {
                try await Task.sleep(for: .milliseconds(.random(in: 0...150)))
            }
            program.signal(SIGKILL)
            #expect(try await program.end() == -SIGKILL)
            if round == 0 { try FileManager.default.removeItem(atPath: hold) }
            // Timers fall due meanwhile.
            if round == 1 { try await Task.sleep(for: .milliseconds(700)) }
            (program, connection) = try await serve()
        }
        try await eventually { try await isDone(sessions, bells: bells, connection) }
        try await check(sessions, jobs: jobs, bells: bells, connection)
        let lines = try String(contentsOfFile: ledger, encoding: .utf8).split(separator: "\n").count
        #expect(lines > sessions.count * jobs, "no effect ran again")
        try await storage.stop(program)
    }

    @Test func `kill -9 between a session's end and its clean-up loses no clean-up`() async throws {
        var (program, connection) = try await serve()
        var ended: [StorageTests.Session] = []
        for _ in 0..<Scale.rounds(3, long: 20) {
            for _ in 0..<10 {
                let session = try await storage.open(connection, app: "workshop")
                let answer = try await connection.request("DELETE", session.path, headers: session.headers)
                #expect(answer.status == 204)
                ended.append(session)
            }
            try await Task.sleep(for: .milliseconds(.random(in: 0...20)))
            program.signal(SIGKILL)
            #expect(try await program.end() == -SIGKILL)
            (program, connection) = try await serve()
            for session in ended {
                let answer = try await connection.request("GET", session.path, headers: session.headers)
                #expect(answer.status == 410)
                #expect(answer.text.contains("session-ended"), "\(answer.text)")
            }
        }
        let told = { (session: StorageTests.Session) in
            // There is no file before the first clean-up.
            let lines = ((try? String(contentsOfFile: ledger, encoding: .utf8)) ?? "").split(separator: "\n")
            return Set(lines.filter { $0.hasPrefix("\(session.id) ended ") })
        }
        for session in ended {
            try await eventually { !told(session).isEmpty }
            #expect(told(session).count == 1, "\(session.id)")
        }
        try await storage.stop(program)
    }

    @Test func `a purge of what is over leaves sessions that a server has yet to clean up`() async throws {
        let (program, connection) = try await serve()
        let session = try await storage.open(connection, app: "workshop")
        try await storage.stop(program)
        #expect(try await storage.run("sessions", "end", session.id).code == 0)

        let purge = try await storage.run("sessions", "purge", "--over")

        #expect(purge.code == 0 && purge.output == "purged: 0\n")
        #expect(purge.errors.contains("kept: 1 that a server has yet to clean up"), "\(purge.errors)")
        #expect(try await storage.run("sessions", "purge", session.id).output == "purged: 1\n")
    }

    @Test func `when one of three replicas is killed, the others do its work`() async throws {
        let cluster = try await blocking { try PostgresCluster.shared }
        let database = try await blocking { try cluster.makeDatabase() }
        var servers: [(program: Program, connection: Connection, replica: String)] = []
        var known: Set<String> = []
        func addServer() async throws {
            let (program, connection) = try await serve(database, "--durability", "relaxed")
            let rows = try await blocking { try cluster.query("SELECT id FROM replicas", in: database) }
            let replicas = Set(rows.split(separator: "\n").map(String.init))
            servers.append((program, connection, try #require(replicas.subtracting(known).first)))
            known = replicas
        }
        for _ in 0..<3 { try await addServer() }
        var sessions: [StorageTests.Session] = []
        let (jobs, bells) = (8, 3)
        for _ in 0..<Scale.rounds(1, long: 20) {
            for number in 0..<Scale.rounds(12, long: 125) {
                let connection = servers[number % 3].connection
                let session = try await storage.open(connection, app: "workshop")
                sessions.append(session)
                let ring = #"{"type":"ring","payload":{"bells":\#(bells),"milliseconds":200}}"#
                try await post(ring, to: session, connection)
                try await post(#"{"type":"begin","payload":{"jobs":\#(jobs)}}"#, to: session, connection)
            }
            let killed = servers.removeFirst()
            killed.program.signal(SIGKILL)
            #expect(try await killed.program.end() == -SIGKILL)
            // It counts as running for twenty seconds: as if they had passed.
            try await blocking {
                let seen = "clock_timestamp() - interval '20 seconds'"
                try cluster.query("UPDATE replicas SET seen = \(seen) WHERE id = \(killed.replica)", in: database)
            }
            try await eventually { try await isDone(sessions, bells: bells, servers[0].connection) }
            try await addServer()
        }
        try await check(sessions, jobs: jobs, bells: bells, servers[0].connection)
        for server in servers { try await storage.stop(server.program) }
    }
}
