import Foundation
import Glibc
import SQLite
import Testing
import TestSupport

/// Backups and what becomes of them, as an operator handles them.
@Suite struct RestoreTests {
    let storage: StorageTests
    var path: String { storage.directory.path }
    var backup: String { "\(path)/backup" }
    var elsewhere: String { "sqlite:\(path)/elsewhere" }

    init() throws { storage = try StorageTests() }

    /// A session, and a backup of it at its version 2. The original goes on to version 3.
    private func prepare() async throws -> (session: StorageTests.Session, lost: Answer) {
        let (program, connection) = try await storage.serve()
        let session = try await storage.open(connection)
        _ = try await storage.push(1, session, connection, key: "a")
        #expect(try await storage.run("backup", backup).code == 0)
        let lost = try await storage.push(2, session, connection, key: "b")
        try await storage.stop(program)
        return (session, lost)
    }

    @Test func `no entity tag from before a restore names a state after it`() async throws {
        let (session, lost) = try await prepare()
        let tag = try #require(lost.headers["etag"])
        #expect(tag == "\"3\"")
        var tags: Set = [tag]
        for number in [7, 8] {
            let store = "sqlite:\(path)/restored\(number)"
            let result = try await storage.run("restore", backup, store: store)
            #expect(
                result.code == 0 && result.output.hasPrefix("\(store): 1 sessions, damaged: 0, the newest change of"))
            let (program, connection) = try await storage.serve(store)

            let replayed = try await storage.push(1, session, connection, key: "a")
            let refused = try await connection.request(
                "POST", "\(session.path)/events", headers: session.headers.merging(["If-Match": "\"2\""]) { $1 },
                body: Data(#"{"type":"push","payload":9}"#.utf8))
            let pushed = try await storage.push(number, session, connection)
            let state = try await connection.request(
                "GET", session.path,
                headers: session.headers.merging(["If-None-Match": tags.sorted().joined(separator: ", ")]) { $1 })

            #expect(replayed.headers["idempotency-replayed"] == "true")
            #expect(refused.status == 412)
            #expect(pushed.status == 200 && pushed.text.contains(#""version":3"#))
            #expect(state.status == 200, "a state that the client has not seen")
            #expect(tags.insert(try #require(state.headers["etag"])).inserted)
            try await storage.stop(program)
        }
    }

    @Test func `a restore replaces no store that has sessions, and none in use`() async throws {
        _ = try await prepare()
        let before = try await storage.run("sessions", "export").output

        let occupied = try await storage.run("restore", backup)
        #expect(occupied.code == 73 && occupied.output == "")
        #expect(occupied.errors.hasPrefix("Error: \(path)/store has a store already, which stays as it is: "))
        #expect(try await storage.run("sessions", "export").output == before)

        let (program, _) = try await storage.serve(elsewhere)
        let used = try await storage.run("restore", backup, store: elsewhere)
        #expect(used.code == 69 && used.errors.contains("/elsewhere is in use by another process"))
        try await storage.stop(program)
        #expect(try await storage.run("restore", backup, store: elsewhere).code == 0, "it has no sessions")
        #expect(try await storage.run("sessions", "list", store: elsewhere).output.hasPrefix("s_"))
        let again = try await storage.run("restore", backup, store: elsewhere)
        #expect(again.code == 73)
    }

    @Test func `what is no backup is not restored, and nothing is created`() async throws {
        _ = try await prepare()
        let cut = "\(path)/cut", flipped = "\(path)/flipped", text = "\(path)/text", pipe = "\(path)/pipe"
        #expect(mkfifo(pipe, 0o600) == 0)
        let bytes = try Data(contentsOf: URL(filePath: backup))
        try bytes.dropLast(5000).write(to: URL(filePath: cut))
        var changed = bytes
        changed[bytes.count / 2] ^= 1
        try changed.write(to: URL(filePath: flipped))
        try Data("this is no database, however long it may be".utf8).write(to: URL(filePath: text))

        // The number of reserved bytes in a page, which are for the checksum.
        let unchecked = try (0...255).filter { $0 != 8 && [0, 7, 9, 136].contains($0) }.map { number in
            var changed = bytes
            changed[20] = UInt8(number)
            try changed.write(to: URL(filePath: "\(path)/unchecked\(number)"))
            return ("\(path)/unchecked\(number)", 65)
        }

        for (file, code) in unchecked + [
            (cut, 65), (flipped, 65), (text, 65), (pipe, 65),
            ("\(path)/store/sessions.sqlite", 65), ("\(path)/missing", 66),
        ] {
            let result = try await storage.run("restore", file, store: elsewhere)
            #expect(Int(result.code) == code && result.output == "", "\(file): \(result)")
            #expect(result.errors.hasPrefix("Error: ") && result.errors.contains(file), "\(result.errors)")
        }
        #expect(!FileManager.default.fileExists(atPath: "\(path)/elsewhere"))
        #expect(try await storage.run("restore", backup, store: "postgresql://nobody@127.0.0.1/none").code == 64)
    }

    @Test func `damaged sessions are restored, and reported`() async throws {
        let (session, _) = try await prepare()
        let later = "\(path)/later"
        #expect(try await storage.run("backup", later).code == 0)
        do {
            // As if it had been written like this: the page's checksum is right.
            let database = try SQLiteDatabase(path: later, isGuarded: true)
            try database.execute("UPDATE journal SET kept_until = kept_until + 1 WHERE kind = 'first'")
        }

        let result = try await storage.run("restore", later, store: elsewhere)

        #expect(result.code == 1)
        #expect(result.errors == "Error: session \(session.id) is damaged: row 1 of the journal is damaged\n")
        #expect(result.output.hasPrefix("\(elsewhere): 1 sessions, damaged: 1, "))
    }

    @Test(.enabled(if: geteuid() == 0)) func `what root restores belongs to the directory's owner`() async throws {
        _ = try await prepare()
        try FileManager.default.createDirectory(atPath: "\(path)/elsewhere", withIntermediateDirectories: true)
        #expect(chown("\(path)/elsewhere", 4321, 4322) == 0)

        #expect(try await storage.run("restore", backup, store: elsewhere).code == 0)

        for file in ["lock", "sessions.sqlite"] {
            var info = stat()
            #expect(stat("\(path)/elsewhere/\(file)", &info) == 0)
            #expect(info.st_uid == 4321 && info.st_gid == 4322 && info.st_mode & 0o777 == 0o600, "\(file)")
        }
    }

    @Test(.enabled(if: geteuid() == 0)) func `root gives away and creates nothing through a link in the directory`()
        async throws
    {
        _ = try await prepare()
        let (victim, missing) = ("\(path)/victim", "\(path)/missing")
        try Data("secret".utf8).write(to: URL(filePath: victim))
        func restore(_ makeLink: (String) -> Int32) async throws -> Int32 {
            let directory = "\(path)/elsewhere"
            try? FileManager.default.removeItem(atPath: directory)
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            #expect(chown(directory, 4321, 4322) == 0 && makeLink("\(directory)/lock") == 0)
            return try await storage.run("restore", backup, store: elsewhere).code
        }

        #expect(try await restore { symlink(victim, $0) } != 0)
        #expect(try await restore { symlink(missing, $0) } != 0)
        #expect(try await restore { link(victim, $0) } != 0)

        var info = stat()
        #expect(stat(victim, &info) == 0 && info.st_uid == 0)
        #expect(!FileManager.default.fileExists(atPath: missing))
    }

    @Test func `the newest backups are kept, and what another has left half made is removed`() async throws {
        _ = try await prepare()
        let backups = "\(path)/backups"
        let others = ["sessions-20990101T000000.000Z.sqlite", "sessions-20200101T000000.000Z.sqlite", "notes"]
        let foreign = ["\(others[0]).sha256", "\(others[0]).folder"]
        try FileManager.default.createDirectory(
            atPath: "\(backups)/sessions-20200101T000000.000Z.sqlite.Ab3dEf", withIntermediateDirectories: true)
        try FileManager.default.createDirectory(
            atPath: "\(backups)/\(foreign[1])/notes", withIntermediateDirectories: true)
        for name in others + [foreign[0]] { try Data("old".utf8).write(to: URL(filePath: "\(backups)/\(name)")) }

        var made: [String] = []
        for _ in 0..<3 {
            let result = try await storage.run("backup", "--keep", "2", backups)
            #expect(result.code == 0 && result.errors == "")
            let name = try #require(
                result.output.wholeMatch(of: /.*\/(sessions-\d{8}T\d{6}\.\d{3}Z\.sqlite): 1 sessions\n/))
            made.append(String(name.output.1))
            let left = Set(try FileManager.default.contentsOfDirectory(atPath: backups))
            // A time that is still to come counts as the newest, but for what has just been made.
            #expect(left == Set([others[0], "notes", made[made.count - 1]] + foreign))
        }
        #expect(try await storage.run("restore", "\(backups)/\(made[2])", store: elsewhere).code == 0)

        let lock = open(backups, O_RDONLY | O_DIRECTORY)
        #expect(flock(lock, LOCK_EX) == 0)
        let second = try await storage.run("backup", "--keep", "2", backups)
        #expect(second.code == 69 && second.errors.hasSuffix("another backup is being made in it\n"))
        close(lock)
        #expect(try await storage.run("backup", "--keep", "2", "\(path)/nowhere").code == 73)
        #expect(try await storage.run("backup", "--keep", "0", backups).code == 64)
    }
}
