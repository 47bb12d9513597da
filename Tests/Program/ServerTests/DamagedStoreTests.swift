import Foundation
import JSONCoding
import SQLite
import Testing
import TestSupport

/// What an operator does with a store in which bits have flipped: every command skips the damaged sessions, names them,
/// and loses nothing of the others.
@Suite struct DamagedStoreTests {
    let storage: StorageTests
    let sessions: [StorageTests.Session]
    /// The lines of each session, as they were exported before the damage.
    let exported: [String: [Substring]]
    var ids: Set<String> { Set(sessions.map(\.id)) }
    var database: String { storage.directory.path + "/store/sessions.sqlite" }

    /// What every test begins with.
    private struct Sound: Sendable {
        let files: StorageTests.Copy
        let sessions: [StorageTests.Session]
        let exported: [String: [Substring]]
    }

    /// Made once, by real servers.
    private static let sound = Task { try await DamagedStoreTests.makeSound() }

    init() async throws {
        let sound = try await DamagedStoreTests.sound.value
        storage = try StorageTests()
        try sound.files.write(to: storage.directory.path)
        (sessions, exported) = (sound.sessions, sound.exported)
    }

    /// A hundred sessions, most with answers; the last ten have ended.
    private static func makeSound() async throws -> Sound {
        let storage = try StorageTests()
        let (program, connection) = try await storage.serve()
        var sessions: [StorageTests.Session] = []
        for number in 0..<100 {
            let session = try await storage.open(connection)
            // In the middle of the journal, a page begins with a record that needs one on the page before.
            let keys = (40..<60).contains(number) ? [String?](repeating: nil, count: 12) : ["a", "b"]
            for key in keys { _ = try await storage.push(number, session, connection, key: key) }
            sessions.append(session)
        }
        for session in sessions.suffix(10) {
            _ = try await connection.request("DELETE", session.path, headers: session.headers)
        }
        try await storage.stop(program)
        let exported = try lines(try await storage.run("sessions", "export").output)
        return Sound(files: try .init(of: storage.directory.path), sessions: sessions, exported: exported)
    }

    static func lines(_ export: String) throws -> [String: [Substring]] {
        let lines = export.split(separator: "\n")
        return try Dictionary(grouping: lines) { line in
            try #require(try JSON(parsing: Array(line.utf8))["session"]?.string)
        }
    }

    /// Overwrites every other page of a table, from its middle on.
    func damage(_ table: String, pages: Int = 1) throws {
        let reader = try SQLiteDatabase(path: database, isReadOnly: true)
        let leaves = try reader.prepare("SELECT pageno FROM dbstat WHERE name = '\(table)' AND pagetype = 'leaf'")
            .all { $0.integer(0) }.compactMap(\.self)
        let file = try FileHandle(forUpdating: URL(filePath: database))
        defer { try? file.close() }
        for number in 0..<pages {
            try file.seek(toOffset: UInt64((leaves[leaves.count / 2 + 2 * number] - 1) * 8192))
            try file.write(contentsOf: Data((0..<8192).map { _ in UInt8.random(in: 0...255) }))
        }
    }

    /// The sessions that standard error names as damaged.
    func named(_ errors: String) -> Set<String> {
        Set(errors.matches(of: /Error: session (\S+) is damaged: ./).map { String($0.output.1) })
    }

    /// The first words of lines.
    func firstWords(_ output: String) -> [String] {
        output.split(separator: "\n").map { String($0.prefix { $0 != " " }) }
    }

    @Test func `a damaged log is reported, because what comes after the damage cannot be read`() async throws {
        let (program, connection) = try await storage.serve()
        let session = sessions[0]
        for number in 0..<20 { _ = try await storage.push(number, session, connection) }
        program.signal(SIGKILL)
        _ = try? await program.exit()
        let log = try FileHandle(forUpdating: URL(filePath: database + "-wal"))
        try log.seek(toOffset: try log.seekToEnd() / 2)
        try log.write(contentsOf: Data((0..<64).map { _ in UInt8.random(in: 0...255) }))
        try log.close()

        for command in [["sessions", "list"], ["sessions", "export"], ["check", "--data-directory", "/nonexistent"]] {
            let result = try await storage.run(command)
            #expect(result.code == 1 && result.errors.contains("sessions.sqlite-wal is damaged at byte"), "\(command)")
        }
        let server = try await storage.run("serve", "--port", "0", "--data-directory", storage.directory.path + "/apps")
        #expect(server.code == 65)
    }

    @Test func `if all lists of the sessions are damaged, commands say what is left to do`() async throws {
        for table in ["sessions", "sessions_by_due", "journal"] { try damage(table) }

        for command in ["list", "export"] {
            let result = try await storage.run("sessions", command)
            #expect(result.code == 65 && result.output == "" && result.errors.contains("backup"), "\(result.errors)")
        }
    }

    @Test(arguments: [["journal"], ["sessions"], ["answers"], ["sessions", "sessions_by_due"]])
    func `sound sessions are listed, shown, checked and exported beside damaged ones`(tables: [String]) async throws {
        for table in tables { try damage(table) }

        let export = try await storage.run("sessions", "export")
        let list = try await storage.run("sessions", "list")
        let check = try await storage.run("check", "--data-directory", storage.directory.path + "/apps")

        let damaged = named(export.errors)
        #expect(export.code == 1)
        #expect(!damaged.isEmpty && damaged.count < 80)
        let whole = try DamagedStoreTests.lines(export.output)
        #expect(Set(whole.keys) == ids.subtracting(damaged))
        #expect(whole.count > 20 && whole.allSatisfy { exported[$0.key] == $0.value })

        let listed = firstWords(list.output)
        let marked = list.output.matches(of: /(\S+) damaged\n/).map { String($0.output.1) }
        #expect(list.code == 1)
        #expect(listed.count == Set(listed).count && Set(listed) == damaged.union(whole.keys))
        #expect(!marked.isEmpty && Set(marked) == named(list.errors) && damaged.isSuperset(of: marked))

        #expect(check.code == 1)
        #expect(named(check.errors) == damaged, "also sessions with only an older version damaged")
        let restored = check.output.matches(of: #/(\S+) (restored|over)\b/#).map { String($0.output.1) }
        #expect(Set(restored).isSuperset(of: whole.keys))
        #expect(
            check.output.contains(" damaged\n") && check.output.contains("damaged: \(named(check.errors).count)\n"))
        #expect(check.output.contains(/page \d+ of the database is damaged/))

        let lost = try #require(marked.first)
        let shown = try await storage.run("sessions", "show", lost)
        #expect(shown.code == 1 && named(shown.errors) == [lost])
        let sound = try #require(whole.keys.first)
        #expect(try await storage.run("sessions", "show", sound).code == 0)
    }

    @Test(arguments: ["sessions", "answers"])
    func `the start after a check rebuilds what the check has found damaged`(table: String) async throws {
        try damage(table)

        let before = try await storage.run("check", "--data-directory", storage.directory.path + "/apps")
        try await storage.stop(try await storage.serve().program)

        let outlook = "the next start on \(storage.directory.path)/store rebuilds what is derived from the journal"
        #expect(before.code == 1 && before.errors.contains("Warning: the store is damaged; \(outlook)"))
        let after = try await storage.run("check", "--data-directory", storage.directory.path + "/apps")
        #expect(after.code == 0 && !after.errors.contains("damaged"), "\(after)")
        #expect(try DamagedStoreTests.lines(try await storage.run("sessions", "export").output) == exported)
    }

    @Test func `a start after a check of a damaged journal goes on with what is sound`() async throws {
        try damage("journal")

        let before = try await storage.run("check", "--data-directory", storage.directory.path + "/apps")
        try await storage.stop(try await storage.serve().program)

        let after = try await storage.run("check", "--data-directory", storage.directory.path + "/apps")
        #expect(after.code == 1 && after.output == before.output)
    }

    @Test(arguments: ["journal", "sessions", "answers"])
    func `damaged sessions are purged by their ids, and are gone for good`(table: String) async throws {
        // A page of the journal begins and ends anywhere in a session's rows: five pages cover most cases.
        try damage(table, pages: table == "journal" ? 5 : 1)
        let damaged = named(try await storage.run("sessions", "export").errors)
        let sound = try #require(ids.subtracting(damaged).first)
        let purged = [sound] + damaged

        let result = try await storage.run(["sessions", "purge"] + purged)

        #expect(result.code == 0 && result.output == "purged: \(purged.count)\n", "\(result.errors)")
        let export = try await storage.run("sessions", "export")
        #expect(export.code == 0 && named(export.errors).isEmpty)
        let left = try DamagedStoreTests.lines(export.output)
        for id in ids where !purged.contains(id) { #expect(left[id] == exported[id]) }
        #expect(left.count == ids.count - purged.count)
        let again = try await storage.run("sessions", "purge", sound)
        #expect(again.code == 1 && again.output == "purged: 0\n")
        #expect(again.errors.contains("Error: there is no session \(sound)\n"))
        // Not even a rebuild brings them back.
        #expect(
            FileManager.default.createFile(atPath: storage.directory.path + "/store/sessions.damaged", contents: nil))
        try await storage.stop(try await storage.serve().program)
        #expect(try await storage.run("sessions", "export").output == export.output)
    }

    @Test func `a purge of sessions that are over leaves damaged ones, and names them`() async throws {
        try damage("journal")
        let before = named(try await storage.run("sessions", "list").errors)

        let result = try await storage.run("sessions", "purge", "--over")

        let over = Set(sessions.suffix(10).map(\.id)).subtracting(before)
        #expect(result.code == 1 && result.output == "purged: \(over.count)\n")
        #expect(!before.isEmpty && named(result.errors).isSuperset(of: before))
        let list = try await storage.run("sessions", "list")
        #expect(Set(firstWords(list.output)) == ids.subtracting(over))
    }

    @Test func `a damaged session cannot be ended by its client, and the answer says how to remove it`()
        async throws
    {
        try damage("journal")
        let lost = try #require(named(try await storage.run("sessions", "list").errors).first)
        let session = try #require(sessions.first { $0.id == lost })
        let (program, connection) = try await storage.serve()

        let end = try await connection.request("DELETE", session.path, headers: session.headers)

        #expect(end.status == 503 && end.text.contains("urn:coordinatord:problem:session-damaged"))
        #expect(end.text.contains("sessions purge"))
        try await storage.stop(program)
        #expect(firstWords(try await storage.run("sessions", "list").output).contains(lost), "its data is kept")
        #expect(try await storage.run("sessions", "purge", lost).code == 0)
        let (second, there) = try await storage.serve()
        #expect(try await there.request("GET", session.path, headers: session.headers).status == 401)
        try await storage.stop(second)
    }

    /// Every page is as it was written, so only reading the rows shows the damage.
    @Test func `a backup of a store whose journal has a gap creates no file`() async throws {
        try SQLiteDatabase(path: database, isGuarded: true)
            .execute("UPDATE journal SET seq = seq + 5 WHERE seq = (SELECT max(seq) FROM journal)")
        let copies = "\(storage.directory.path)/copies"
        try FileManager.default.createDirectory(atPath: copies, withIntermediateDirectories: true)

        let result = try await storage.run("backup", "\(copies)/copy")

        #expect(result.code == 65 && result.output == "")
        #expect(try FileManager.default.contentsOfDirectory(atPath: copies) == [])
    }

    @Test func `an export of a session that does not exist says so`() async throws {
        let missing = "s_0000000000000"

        let result = try await storage.run("sessions", "export", missing, sessions[0].id)

        #expect(result.code == 1 && result.errors == "Error: there is no session \(missing)\n")
        #expect(try DamagedStoreTests.lines(result.output) == exported.filter { $0.key == sessions[0].id })
    }
}
