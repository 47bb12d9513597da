import Foundation
import JSONCoding
import Testing
import TestSupport

/// The sessions of a user, for the operator and for the user.
@Suite struct SessionsCommandTests {
    let storage: StorageTests

    init() throws { storage = try StorageTests() }

    /// Logs a session of `clean-login` in.
    private func logIn(_ connection: Connection) async throws -> StorageTests.Session {
        let session = try await storage.open(connection, app: "clean-login")
        let answer = try await post(
            #"{"type":"login","payload":{"email":"Ann@example.com","password":"correct horse"}}"#, session, connection)
        // The answer has the session's new token.
        return try StorageTests.Session(answer)
    }

    private func post(
        _ event: String, _ session: StorageTests.Session, _ connection: Connection
    ) async throws -> Answer {
        try await connection.request(
            "POST", "\(session.path)/events", headers: session.headers, body: Data(event.utf8))
    }

    private func status(_ session: StorageTests.Session, _ connection: Connection) async throws -> Int {
        try await connection.request("GET", session.path, headers: session.headers).status
    }

    @Test func `the operator lists and ends the sessions of a user`() async throws {
        var (program, connection) = try await storage.serve(nil, ["--development"])
        let anns = [try await logIn(connection), try await logIn(connection)].sorted { $0.id < $1.id }
        let other = try await storage.open(connection)

        let whileServing = try await storage.run("sessions", "list", "--user", "ann@example.com")
        #expect(whileServing.code == 0)
        let listed = whileServing.output.split(separator: "\n").map { String($0.split(separator: " ")[0]) }
        #expect(listed == anns.map(\.id))
        #expect(try await storage.run("sessions", "end", "--user", "ann@example.com").code == 69)
        try await storage.stop(program)
        let nobody = try await storage.run("sessions", "list", "--user", "bob@example.com")
        #expect(nobody.code == 0 && nobody.output == "")
        #expect(try await storage.run("sessions", "end", "--user", "bob@example.com").output == "ended: 0\n")
        let ended = try await storage.run("sessions", "end", "--user", "ann@example.com")

        #expect(ended.code == 0 && ended.output == "ended: 2\n")
        #expect(try await storage.run("sessions", "list", "--user", "ann@example.com").output == "")
        #expect(try await storage.run("sessions", "end", "--user", "ann@example.com").output == "ended: 0\n")
        (program, connection) = try await storage.serve(nil, ["--development"])
        for session in anns { #expect(try await status(session, connection) == 410) }
        #expect(try await status(other, connection) == 200)
        try await storage.stop(program)
    }

    @Test func `the operator ends sessions by their ids`() async throws {
        var (program, connection) = try await storage.serve()
        let ended = try await storage.open(connection), stays = try await storage.open(connection)
        try await storage.stop(program)

        let result = try await storage.run("sessions", "end", ended.id, "s_0000000000000")

        #expect(result.code == 1 && result.output == "ended: 1\n")
        #expect(result.errors == "Error: there is no session s_0000000000000\n")
        for wrong in [["sessions", "end"], ["sessions", "end", ended.id, "--user", "ann"]] {
            #expect(try await storage.run(wrong).code == 64)
        }
        (program, connection) = try await storage.serve()
        #expect(try await status(ended, connection) == 410)
        #expect(try await status(stays, connection) == 200)
        try await storage.stop(program)
    }

    @Test func `users see where they are logged in, and log out there`() async throws {
        let (program, connection) = try await storage.serve(nil, ["--development"])
        let phone = try await logIn(connection), tablet = try await logIn(connection), tv = try await logIn(connection)

        let shown = try JSON(parsing: Array(try await post(#"{"type":"devices"}"#, phone, connection).body))
        let listed = shown["visible"]?["params"]?["sessions"]?.array ?? []
        #expect(Set(listed.compactMap { $0["session"]?.string }) == [phone.id, tablet.id, tv.id])
        #expect(listed.filter { $0["isThis"] == true }.map { $0["session"]?.string } == [phone.id])

        let one = try await post(#"{"type":"logoutThere","payload":{"session":"\#(tv.id)"}}"#, phone, connection)
        #expect(one.status == 200)
        #expect(try await status(tv, connection) == 410)
        #expect(try await status(tablet, connection) == 200)
        _ = try await post(#"{"type":"devices"}"#, phone, connection)
        #expect(try await post(#"{"type":"logoutElsewhere"}"#, phone, connection).status == 200)
        #expect(try await status(tablet, connection) == 410)
        #expect(try await status(phone, connection) == 200)
        try await storage.stop(program)
    }

    @Test(arguments: ["list", "export"], ["> /dev/full", ">&-"])
    func `a command whose output is not whole says so`(command: String, output: String) async throws {
        let (program, connection) = try await storage.serve()
        _ = try await storage.open(connection)
        try await storage.stop(program)
        let line = "'\(try Program.server.path)' sessions \(command) --store '\(storage.store)' \(output)"

        let result = try await Program(URL(filePath: "/bin/sh"), ["-c", line]).exit()

        #expect(result.code == 74 && result.errors.contains("what was printed is not whole"), "\(result.errors)")
    }

    /// The store in a file and in PostgreSQL refuse the same, before they are asked.
    @Test(arguments: [
        (#""time":1700"#, #""time":2537001700"#, "its “time” is more than a day ahead"),
        (#""version":1,"#, #""user":"a\u0000b","version":1,"#, "“user”"),
    ])
    func `a line that no store can keep, or that would set the clock, is refused with its number`(
        old: String, new: String, reason: String
    ) async throws {
        let (program, connection) = try await storage.serve()
        _ = try await storage.open(connection)
        try await storage.stop(program)
        let export = try await storage.run("sessions", "export").output
        let line = export.replacing(/"time":\d{4}/, with: #""time":1700"#)
        #expect(line.contains(old))

        let imported = try await storage.run(
            ["sessions", "import"], input: line.replacing(old, with: new),
            store: "sqlite:\(storage.directory.path)/copy")

        #expect(imported.code == 65 && imported.errors.hasPrefix("Error: line 1: "), "\(imported.errors)")
        #expect(imported.errors.contains(reason) && imported.errors.contains("nothing was imported"))
    }

    @Test func `a line that is not UTF-8 is refused, and lines may be long and end in any way`() async throws {
        let (program, connection) = try await storage.serve()
        let session = try await storage.open(connection)
        for number in 1...3 { _ = try await storage.push(number, session, connection) }
        try await storage.stop(program)
        let export = try await storage.run("sessions", "export").output
        let path = storage.directory.path
        func imported(_ bytes: Data, into name: String) async throws -> Int32 {
            try bytes.write(to: URL(filePath: "\(path)/lines"))
            let command = try
                "'\(Program.server.path)' sessions import --store 'sqlite:\(path)/\(name)' < '\(path)/lines'"
            return try await Program(URL(filePath: "/bin/sh"), ["-c", command]).exit().code
        }

        #expect(try await imported(Data(export.utf8).dropLast(), into: "a") == 0)
        #expect(try await imported(Data(export.replacing("\n", with: "\r\n").utf8), into: "b") == 0)
        #expect(try await imported(Data([0xFF]) + Data(export.utf8), into: "c") == 65)
        for copy in ["a", "b"] {
            #expect(try await storage.run(["sessions", "export"], store: "sqlite:\(path)/\(copy)").output == export)
        }
    }

    @Test func `an imported secret is a new store's, even alone, and before a bad line it creates none`() async throws {
        let store = "\(storage.directory.path)/copy"
        let secret = "{\"secret\":\"\(String(repeating: "0a", count: 32))\"}\n"

        let bad = try await storage.run(
            ["sessions", "import"], input: secret + "no record\n", store: "sqlite:\(store)")
        let isCreated = FileManager.default.fileExists(atPath: store)
        let alone = try await storage.run(["sessions", "import"], input: secret, store: "sqlite:\(store)")

        #expect(bad.code == 65 && bad.errors.hasPrefix("Error: line 2: not a record") && !isCreated, "\(bad.errors)")
        #expect(alone.code == 0 && alone.output == "imported: 0, existed already: 0\n", "\(alone.errors)")
        let export = try await storage.run(["sessions", "export", "--with-secret"], store: "sqlite:\(store)")
        #expect(export.output == secret)
    }

    @Test func `tokens and who is signed in survive an export and an import`() async throws {
        let (program, connection) = try await storage.serve(nil, ["--development"])
        let phone = try await logIn(connection)
        let opened = try await connection.request(
            "POST", "\(phone.path)/pairings", headers: phone.headers, body: Data(#"{"label":"TV"}"#.utf8))
        let code = try #require(try JSON(parsing: Array(opened.body))["code"]?.string)
        let paired = try await connection.request(
            "POST", "/v1/pairings", headers: ["Content-Type": "application/json"],
            body: Data(#"{"code":"\#(code)"}"#.utf8))
        let token = try #require(try JSON(parsing: Array(paired.body))["token"]?.string)
        try await storage.stop(program)
        let export = try await storage.run("sessions", "export")
        let copy = "sqlite:\(storage.directory.path)/copy"

        let imported = try await storage.run(["sessions", "import"], input: export.output, store: copy)

        #expect(imported.code == 0)
        #expect(try await storage.run(["sessions", "export"], store: copy).output == export.output)
        let user = try await storage.run(["sessions", "list", "--user", "ann@example.com"], store: copy)
        #expect(user.output.hasPrefix(phone.id))
        let (second, other) = try await storage.serve(copy, ["--development"])
        let tv = try await other.request("GET", "\(phone.path)/tokens", headers: ["Authorization": "Bearer \(token)"])
        #expect(try JSON(parsing: Array(tv.body))["tokens"]?.array?.map { $0["label"] } == [nil, "TV"])
        #expect(try await status(phone, other) == 200)
        try await storage.stop(second)
    }
}
