import Foundation
import JSONCoding
import Testing
import TestSupport

/// Servers and commands on a database that they share.
@Suite(.enabled(if: isComplete)) struct PostgresServerTests {
    let storage: StorageTests
    let database: String
    let cluster: PostgresCluster

    init() async throws {
        storage = try StorageTests()
        let cluster = try await blocking { try PostgresCluster.shared }
        database = try await blocking { try cluster.makeDatabase() }
        self.cluster = cluster
    }

    /// Runs a command with psql, in the test's database.
    @discardableResult
    private func query(_ sql: String) async throws -> String {
        try await blocking { [cluster, database] in try cluster.query(sql, in: database) }
    }

    /// The cluster never flushes, so a strict server would refuse it.
    private func serve(_ flags: String...) async throws -> (program: Program, connection: Connection) {
        try await storage.serve(database, ["--durability", "relaxed"] + flags)
    }

    private func run(_ command: String..., input: String = "") async throws -> (
        code: Int32, output: String, errors: String
    ) {
        try await storage.run(command, input: input, store: database)
    }

    private func status(_ session: StorageTests.Session, _ connection: Connection) async throws -> Int {
        try await connection.request("GET", session.path, headers: session.headers).status
    }

    @Test func `two servers share sessions, and say what the store promises`() async throws {
        let program = try Program(
            try Program.server,
            ["serve", "--port", "0", "--store", database, "--create-store", "--durability", "relaxed"]
                + ServerTests.unhurried)
        let line = try await program.line()
        let port = try #require(line.firstMatch(of: /http:\/\/127\.0\.0\.1:(\d+)/).flatMap { Int($0.output.1) })
        let one = try Connection(port: port)
        let (second, other) = try await serve()

        let session = try await storage.open(one)
        _ = try await storage.push(1, session, one)
        let seen = try await other.request("GET", session.path, headers: session.headers)
        let ready = try await other.request("GET", "/readyz")

        #expect(line.contains("(store: \(database), relaxed: power loss may cost the last events)"))
        #expect(seen.status == 200 && seen.headers["etag"] == "\"2\"")
        #expect(ready.text.contains(#""store":"postgres-relaxed""#))
        try await storage.stop(program)
        try await storage.stop(second)
    }

    @Test func `two devices at two servers each see their own, and do what is theirs`() async throws {
        let (program, one) = try await serve()
        let (second, other) = try await serve()
        let customer = try await storage.open(one, app: "shop")
        func post(_ path: String, _ body: String, _ headers: [String: String], _ at: Connection) async throws -> JSON {
            let answer = try await at.request(
                "POST", path, headers: headers.merging(["Content-Type": "application/json"]) { $1 },
                body: Data(body.utf8))
            return try JSON(parsing: Array(answer.body))
        }
        func title(_ headers: [String: String], _ at: Connection) async throws -> String? {
            let answer = try await at.request("GET", customer.path, headers: headers)
            return try JSON(parsing: Array(answer.body))["visible"]?["title"]?.string
        }

        let opened = try await post(customer.path + "/pairings", #"{"role":"agent"}"#, customer.headers, one)
        let code = try #require(opened["code"]?.string)
        let paired = try await post(
            "/v1/pairings", #"{"code":"\#(code)","client":{"locale":"de"}}"#, [:], other)
        let agent = ["Authorization": "Bearer \(try #require(paired["token"]?.string))"]
        let cart = #"{"type":"selectTab","payload":{"tab":"cart"}}"#
        #expect(try await post(customer.path + "/events", cart, agent, other)["visible"]?["title"] == "Warenkorb")
        for connection in [one, other] {
            #expect(try await title(customer.headers, connection) == "Cart")
            #expect(try await title(agent, connection) == "Warenkorb")
            let refused = try await post(customer.path + "/events", #"{"type":"leave"}"#, customer.headers, connection)
            #expect(refused["type"] == "urn:coordinatord:problem:event-not-for-role")
        }

        _ = try await post(customer.path + "/events", #"{"type":"leave"}"#, agent, other)
        for connection in [one, other] {
            #expect(try await connection.request("GET", customer.path, headers: agent).status == 401)
            #expect(try await status(customer, connection) == 200)
        }
        try await storage.stop(program)
        try await storage.stop(second)
    }

    @Test func `commands work on the store while servers run`() async throws {
        let (program, connection) = try await serve()
        let (second, other) = try await serve()
        let kept = try await storage.open(connection)
        let ended = try await storage.open(connection)
        let purged = try await storage.open(connection, app: "tabs")
        for number in 1...3 { _ = try await storage.push(number, kept, connection) }
        #expect(try await status(ended, other) == 200)

        let list = try await run("sessions", "list")
        let show = try await run("sessions", "show", kept.id)
        let check = try await run("check", "--data-directory", "/nonexistent")
        let restored = try await run("sessions", "restore", kept.id, "2")
        let end = try await run("sessions", "end", ended.id, "s_0000000000000")
        let purge = try await run("sessions", "purge", purged.id)

        #expect(list.code == 0 && list.output.split(separator: "\n").count == 3)
        #expect(list.output.contains("\(kept.id) numbers 4 "))
        #expect(show.code == 0 && show.output.split(separator: "\n").count == 5)
        #expect(check.code == 0 && check.output.contains("restored: 3, migrated: 0, "), "\(check.errors)")
        #expect(restored.output == "\(kept.id): version 5 is as version 2 was\n", "\(restored.errors)")
        #expect(end.code == 1 && end.output == "ended: 1\n")
        #expect(end.errors == "Error: there is no session s_0000000000000\n")
        #expect(purge.output == "purged: 1\n", "\(purge.errors)")
        for server in [connection, other] {
            let state = try await server.request("GET", kept.path, headers: kept.headers)
            #expect(state.headers["etag"] == "\"5\"")
            #expect(try await status(ended, server) == 410)
            #expect(try await status(purged, server) == 401)
        }
        #expect(try await run("sessions", "purge", "--over").output == "purged: 1\n")
        #expect(try await status(ended, other) == 401)
        try await storage.stop(program)
        try await storage.stop(second)
    }

    @Test func `a session is ended while its clients go on`() async throws {
        let (program, connection) = try await serve()
        let session = try await storage.open(connection)

        async let refusal = {
            while true {
                let status = try await storage.push(1, session, connection).status
                // 409: the stack is full.
                guard [200, 409].contains(status) else { return status }
            }
        }()
        let end = try await run("sessions", "end", session.id)

        #expect(end.output == "ended: 1\n", "\(end.errors)")
        #expect(try await refusal == 410)
        try await storage.stop(program)
    }

    @Test(arguments: ["end", "purge"])
    func `who watches a session is told when a command ends or purges it`(command: String) async throws {
        let (program, connection) = try await serve()
        let session = try await storage.open(connection)
        // A stream, which waits for as long as the machine needs.
        try await connection.send(Connection.bytes("GET", "\(session.path)/updates", headers: session.headers))
        #expect(try await connection.receive(bodyless: true).status == 200)
        #expect(try await connection.receiveChunk() != nil)

        #expect(
            try await run("sessions", command, session.id).output == "\(command)\(command == "end" ? "e" : "")d: 1\n")

        var told = ""
        while let chunk = try await connection.receiveChunk() { told += String(decoding: chunk, as: UTF8.self) }
        #expect(told.contains("event: end"), "\(told)")
        try await storage.stop(program)
    }

    @Test func `sessions of every app move to PostgreSQL and back, byte for byte`() async throws {
        let session = try await makeSessions()
        let export = try await storage.run("sessions", "export", "--with-secret")
        #expect(export.code == 0 && export.output.hasPrefix(#"{"secret":""#))

        let there = try await run("sessions", "import", input: export.output)
        let exportedThere = try await run("sessions", "export", "--with-secret")
        let copy = "sqlite:\(storage.directory.path)/copy"
        let back = try await storage.run(["sessions", "import"], input: exportedThere.output, store: copy)
        let exportedBack = try await storage.run(["sessions", "export", "--with-secret"], store: copy)

        #expect(there.code == 0 && there.output.hasSuffix("existed already: 0\n"), "\(there.errors)")
        #expect(exportedThere.output == export.output)
        #expect(back.code == 0 && exportedBack.output == export.output, "\(back.errors)")
        let lines = export.output.split(separator: "\n").dropFirst()
        let stored = try await query(#"SELECT record FROM journal UNION ALL SELECT answer FROM answers"#)
        #expect(stored.split(separator: "\n").sorted() == lines.sorted())

        let (program, connection) = try await serve("--development")
        let again = try await create(connection)
        #expect(again.body == session.created.body && again.headers["idempotency-replayed"] == "true")
        let replayed = try await storage.push(7, session.session, connection, key: "a")
        #expect(replayed.body == session.pushed.body && replayed.headers["idempotency-replayed"] == "true")
        #expect(try await storage.push(8, session.session, connection).status == 200)
        #expect(try await status(session.session, connection) == 200)
        try await storage.stop(program)
        #expect(try await run("sessions", "list", "--user", "ann@example.com").output.split(separator: "\n").count == 1)
        #expect(try await run("sessions", "end", "--user", "ann@example.com").output == "ended: 1\n")
        #expect(try await run("sessions", "list", "--user", "ann@example.com").output == "")
    }

    private func create(_ connection: Connection) async throws -> Answer {
        try await connection.request(
            "POST", "/v1/sessions",
            headers: ["Content-Type": "application/json", "Idempotency-Key": "a-key-of-20-letters."],
            body: Data(#"{"app":"numbers"}"#.utf8))
    }

    /// Makes sessions in a file: one of each app, one with a fork, answers and two tokens, one that has ended.
    ///
    /// - Returns: the one that was created under a key, and the answers to that and to an event under a key.
    private func makeSessions() async throws -> (session: StorageTests.Session, created: Answer, pushed: Answer) {
        let (program, connection) = try await storage.serve(nil, ["--development"])
        func post(_ path: String, _ body: String, _ headers: [String: String]) async throws -> Answer {
            try await connection.request("POST", path, headers: headers, body: Data(body.utf8))
        }
        for app in ["tabs", "login-home", "list-detail", "main", "clean-login", "shop", "numbers"] {
            let session = try await storage.open(connection, app: app)
            if app == "main" {
                _ = try await connection.request("DELETE", session.path, headers: session.headers)
            }
            if app == "clean-login" {
                let login = #"{"type":"login","payload":{"email":"Ann@example.com","password":"correct horse"}}"#
                #expect(try await post("\(session.path)/events", login, session.headers).status == 200)
            }
        }
        let created = try await create(connection)
        let session = try StorageTests.Session(created)
        let pushed = try await storage.push(7, session, connection, key: "a")
        for number in 0..<20 {
            #expect(try await storage.push(number, session, connection, key: "key-\(number)").status == 200)
        }
        let fork = try await post(
            "/v1/sessions", #"{"forkOf":"\#(session.id)","version":3}"#, session.headers)
        #expect(fork.status == 201, "\(fork.text)")
        let opened = try await post("\(session.path)/pairings", #"{"label":"TV"}"#, session.headers)
        let code = try #require(try JSON(parsing: Array(opened.body))["code"]?.string)
        let paired = try await post(
            "/v1/pairings", #"{"code":"\#(code)"}"#, ["Content-Type": "application/json"])
        #expect(paired.status == 201 || paired.status == 200)
        try await storage.stop(program)
        return (session, created, pushed)
    }

    @Test func `an import leaves what exists, and a secret is taken only by a store without sessions`() async throws {
        _ = try await makeSessions()
        let export = try await storage.run("sessions", "export", "--with-secret").output
        let lines = export.split(separator: "\n")
        #expect(try await run("sessions", "import", input: lines.dropFirst().joined(separator: "\n")).code == 0)

        let again = try await run("sessions", "import", input: lines.dropFirst().joined(separator: "\n"))
        let secret = try await run("sessions", "import", input: export)
        let other = try await blocking { [cluster] in try cluster.makeDatabase() }
        let repeated = try await [
            storage.run(["sessions", "import"], input: export, store: other),
            storage.run(["sessions", "import"], input: export, store: other),
        ]
        let wrong = export.replacing(#""secret":""#, with: #""secret":"0"#)
        let file = try await storage.run("sessions", "import", input: wrong)
        let different = "{\"secret\":\"\(String(repeating: "0", count: 64))\"}\n"
        let another = try await storage.run("sessions", "import", input: different)

        #expect(again.code == 1 && again.output.hasPrefix("imported: 0, existed already: "))
        #expect(secret.code == 65 && secret.errors.contains("line 1: the store has a secret of its own"))
        #expect(repeated.map(\.code) == [0, 1])
        #expect(file.code == 65)
        #expect(another.code == 65 && another.errors.contains("the store has a secret of its own"))
    }

    @Test func `damaged sessions are named, and left out`() async throws {
        _ = try await makeSessions()
        let export = try await storage.run("sessions", "export").output
        #expect(try await run("sessions", "import", input: export).code == 0)
        let id = try await query("SELECT min(id) FROM sessions")
        try await query("UPDATE journal SET record = record || ' ' WHERE session = '\(id)'")

        let list = try await run("sessions", "list")
        let check = try await run("check", "--data-directory", "/nonexistent")
        let rest = try await run("sessions", "export")
        let restore = try await run("sessions", "restore", id, "1")
        let purge = try await run("sessions", "purge", id)

        for result in [list, check, rest] {
            #expect(result.code == 1 && result.errors.contains("Error: session \(id) is damaged: version "))
        }
        #expect(list.output.contains("\(id) damaged\n") && check.output.contains("damaged: 1\n"))
        let others = export.split(separator: "\n").filter { !$0.contains(#""session":"\#(id)""#) }
        #expect(rest.output.split(separator: "\n") == others)
        #expect(restore.code == 65)
        #expect(purge.output == "purged: 1\n")
        #expect(try await run("sessions", "list").code == 0)
    }

    @Test func `a store is refused that cannot be meant`() async throws {
        let withPassword = "postgresql://ann:hunter2@127.0.0.1/x"
        let cases: [([String], String)] = [
            (["serve", "--store", withPassword], "--store-password-file"),
            (["sessions", "list", "--store", withPassword], "list of processes"),
            (["serve", "--store", "postgresql://ann@[h/x"], "this URI names no database"),
            (["serve", "--store", database, "--store-size", "1M"], "not for PostgreSQL"),
            (["serve", "--store", "memory", "--store-password-file", "/x"], "--store-password-file is for --store"),
            (["backup", "/nowhere/file", "--store", database], "pg_basebackup"),
        ]
        for (arguments, advice) in cases {
            let result = try await Program(Program.server, arguments).exit()

            let errors = result.errors.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            #expect(result.code == 64 && errors.contains(advice), "\(arguments): \(errors)")
            #expect(!result.errors.contains("hunter2") && !result.output.contains("hunter2"))
        }
    }

    @Test func `a new password in its file is used by the next connections`() async throws {
        try await query("CREATE ROLE turning LOGIN PASSWORD 'first'; GRANT CREATE ON SCHEMA public TO turning")
        try await query("GRANT pg_read_all_data, pg_write_all_data TO turning")
        let file = storage.directory.path + "/password"
        try Data("first\n".utf8).write(to: URL(filePath: file))
        let (program, connection) = try await storage.serve(
            database.replacing("postgres@", with: "turning@"),
            ["--durability", "relaxed", "--store-password-file", file])
        let session = try await storage.open(connection)

        // Unreadable meanwhile: what was read last counts.
        try FileManager.default.removeItem(atPath: file)
        try await query("ALTER ROLE turning PASSWORD 'second'")
        try await query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'turning'")
        try await eventually { try await connection.request("GET", "/readyz").status == 503 }
        try Data("second\n".utf8).write(to: URL(filePath: file))

        try await eventually { try await connection.request("GET", "/readyz").status == 200 }
        #expect(try await storage.push(1, session, connection).status == 200)
        program.signal(SIGTERM)
        #expect(try await program.exit().errors.contains("\(file) cannot be read"))
    }

    @Test func `a database that cannot be used is named, with what to do`() async throws {
        let name = database.split(separator: "/").last ?? ""
        try await query("CREATE ROLE reader LOGIN")
        let secured = cluster.uri(String(name), user: "secured")
        let cases: [(uri: String, code: Int32, advice: String)] = [
            ("postgresql://postgres@127.0.0.1:1/x", 69, "Is the server running on that host"),
            (cluster.uri("nowhere"), 66, "createdb"),
            (secured, 77, "--store-password-file"),
            (cluster.uri(String(name), user: "nobody-here"), 77, "name another user"),
            (cluster.uri(String(name), user: "reader"), 77, "run `coordinatord migrate` as a role that may"),
            (database, 78, "--durability relaxed"),
        ]
        for (uri, code, advice) in cases {
            let result = try await storage.run(
                ["serve", "--port", "0", "--create-store", "--log-format", "text"], store: uri)

            #expect(result.code == code && result.errors.contains(advice), "\(uri): \(result.code) \(result.errors)")
            #expect(result.errors.split(separator: "\n").count == 1 && result.errors.hasPrefix("Error: "))
        }
        // An empty database may be the wrong one.
        let blank = try await blocking { [cluster] in try cluster.makeDatabase() }
        let empty = try await storage.run(["serve", "--port", "0", "--log-format", "text"], store: blank)
        #expect(empty.code == 66 && empty.errors.contains("with `coordinatord migrate`, or with --create-store"))
        let tables = try await blocking { [cluster] in
            try cluster.query("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'", in: blank)
        }
        #expect(tables == "0")
        for command in [["sessions", "list"], ["sessions", "end", "s_0000000000000"], ["check"]] {
            let result = try await storage.run(command, store: cluster.uri("nowhere"))
            #expect(result.code == 66, "\(command): \(result.errors)")
        }
    }

    @Test func `the password comes from a file or the environment, and is never shown`() async throws {
        let name = String(database.split(separator: "/").last ?? "")
        try await query("ALTER DATABASE \(name) OWNER TO secured")
        let uri = cluster.uri(name, user: "secured")
        let file = storage.directory.path + "/password"
        try "secured\n".write(toFile: file, atomically: true, encoding: .utf8)
        func migrate(_ flags: [String] = [], _ environment: [String: String] = [:]) async throws -> (
            code: Int32, output: String, errors: String
        ) {
            try await Program(Program.server, ["migrate", "--store", uri] + flags, environment: environment).exit()
        }

        let byFile = try await migrate(["--store-password-file", file], ["COORDINATORD_STORE_PASSWORD": "wrong"])
        let byVariable = try await migrate([], ["COORDINATORD_STORE_PASSWORD": "secured"])
        let byLibrary = try await migrate([], ["PGPASSWORD": "secured"])
        let wrong = try await migrate([], ["COORDINATORD_STORE_PASSWORD": "wrong-guess"])
        let missing = try await migrate(["--store-password-file", "/nonexistent/file"])

        #expect(byFile.code == 0 && byVariable.code == 0 && byLibrary.code == 0, "\(byFile.errors)")
        #expect(wrong.code == 77 && !wrong.errors.contains("wrong-guess"))
        #expect(missing.code == 66 && missing.errors.contains("/nonexistent/file cannot be read: no such file"))
    }

    @Test func `the tables are made and upgraded, and only servers that understand them start`() async throws {
        let missing = try await run("sessions", "list")
        let first = try await run("migrate")
        let second = try await run("migrate", "--contract")
        let list = try await run("sessions", "list")
        try await query("UPDATE store SET value = '99' WHERE name = 'schema'")
        let onNewer = try await run("migrate")
        try await query("UPDATE store SET value = '99' WHERE name = 'least_reader'")
        let onContracted = try await run("migrate")
        let server = try await run("serve", "--port", "0", "--durability", "relaxed")
        let newer = try await run("sessions", "list")
        let file = try await storage.run("migrate")

        #expect(missing.code == 66 && missing.errors.contains("coordinatord migrate"))
        #expect(first.code == 0 && first.output == "\(database): the tables of schema 2 were made\n", "\(first.errors)")
        #expect(second.output.contains("have schema 2 already"))
        #expect(second.output.hasSuffix("servers of schemas before 2 are shut out\n"))
        #expect(list.code == 0 && list.output == "")
        #expect(onNewer.code == 0 && onNewer.output.hasSuffix("the tables have schema 99 already\n"))
        #expect(onContracted.code == 65 && onContracted.errors.contains("too new for this program"))
        #expect(server.code == 65 && newer.code == 65 && newer.errors.contains("too new for this program"))
        #expect(file.code == 0 && file.output.contains("a store in a file is upgraded when it is opened"))
    }

    @Test func `a database in which others have tables of these names is refused as it is`() async throws {
        try await query("CREATE TABLE journal (id int)")

        let server = try await run("serve", "--port", "0", "--create-store", "--durability", "relaxed")
        let plain = try await run("serve", "--port", "0", "--durability", "relaxed")
        let migration = try await run("migrate")

        for result in [server, migration] {
            #expect(result.code == 78 && result.errors.contains("names of its tables: journal. "), "\(result)")
        }
        #expect(plain.code == 66, "\(plain)")
        #expect(
            try await query("SELECT tablename FROM pg_tables WHERE schemaname = 'public'") == "journal")
    }

    @Test(arguments: [
        "UPDATE store SET value = 'abc' WHERE name = 'schema'", "DELETE FROM store WHERE name = 'secret'",
    ])
    func `every command says of a store with damaged values that it is damaged`(damage: String) async throws {
        #expect(try await run("migrate").code == 0)
        try await query(damage)

        for command in [["serve", "--port", "0"], ["serve", "--port", "0", "--create-store"], ["migrate"], ["check"]] {
            let result = try await storage.run(command, store: database)
            #expect(result.code == 65 && result.errors.contains("damaged"), "\(command): \(result)")
        }
    }

    @Test func `a server whose tables have changed is not ready, says why, and is again`() async throws {
        let (program, connection) = try await serve()
        func readiness() async throws -> Answer { try await connection.request("GET", "/readyz") }
        try await query("ALTER TABLE answers RENAME TO replies")
        try await eventually { try await readiness().status == 503 }
        let refused = try await readiness()
        try await query("ALTER TABLE replies RENAME TO answers")
        try await eventually { try await readiness().status == 200 }

        #expect(refused.text.contains("store-unavailable"), "\(refused.text)")
        #expect(refused.text.contains(#"committed now: relation \"answers\" does not exist (SQLSTATE 42P01)."#))
        try await storage.stop(program)
    }

    @Test func `a server whose database is away is not ready, and is again when it is back`() async throws {
        let cluster = try await blocking { try PostgresCluster(isDurable: true) }
        let (program, connection) = try await storage.serve(try await blocking { try cluster.makeDatabase() })
        func readiness() async throws -> Answer { try await connection.request("GET", "/readyz") }
        let before = try await readiness()
        #expect(before.status == 200 && before.text.contains(#""store":"postgres""#))

        try await blocking { try cluster.stop(.immediate) }
        try await eventually { try await readiness().status == 503 }
        let away = try await readiness()
        let log = try await program.errors(until: "sweeping failed")
        #expect(log.contains(#""logger":"store","message":"sweeping failed"#))
        try await blocking { try cluster.start() }
        try await eventually { try await readiness().status == 200 }

        #expect(away.text.contains("store-unavailable"), "\(away.text)")
        try await storage.stop(program)
    }
}
