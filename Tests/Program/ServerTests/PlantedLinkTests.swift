import Foundation
import Glibc
import TestSupport
import Testing

/// Commands that root runs on directories of a service's user, who has planted links in them: whatever they do, they do
/// it as that user.
@Suite(.enabled(if: geteuid() == 0)) struct PlantedLinkTests {
    private static let (user, group): (uid_t, gid_t) = (4321, 4322)

    private let storage: StorageTests
    private var path: String { storage.directory.path }
    private var store: String { "\(path)/store" }
    private var apps: String { "\(path)/apps" }
    /// What belongs to root alone.
    private var file: String { "\(path)/root/file" }
    private var missing: String { "\(path)/root/missing" }

    init() throws { storage = try StorageTests() }

    /// A closed store with a session. Made once, by a real server.
    private static let made = Task {
        let storage = try StorageTests()
        let (program, connection) = try await storage.serve()
        let session = try await storage.open(connection)
        try await storage.stop(program)
        return (session: session, files: try StorageTests.Copy(of: storage.directory.path))
    }

    /// The store, whose user owns everything in it and in the apps' directory.
    private func prepare() async throws -> StorageTests.Session {
        let (session, files) = try await PlantedLinkTests.made.value
        try files.write(to: path)
        try FileManager.default.createDirectory(atPath: "\(path)/root", withIntermediateDirectories: true)
        chmod("\(path)/root", 0o700)
        try Data("secret".utf8).write(to: URL(filePath: file))
        chmod(file, 0o640)
        for directory in [store, apps] {
            for name in try [""] + FileManager.default.subpathsOfDirectory(atPath: directory) {
                lchown("\(directory)/\(name)", PlantedLinkTests.user, PlantedLinkTests.group)
            }
        }
        return session
    }

    private func expectNothingHasChanged(_ what: String) throws {
        var info = stat()
        #expect(stat(file, &info) == 0 && info.st_uid == 0 && info.st_mode & 0o777 == 0o640, "\(what)")
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "secret", "\(what)")
        #expect(stat("\(path)/root", &info) == 0 && info.st_mode & 0o777 == 0o700, "\(what)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: "\(path)/root") == ["file"], "\(what)")
    }

    @Test(arguments: [
        "secret", "secret.new", "sessions.damaged", "sessions.sqlite.new", "sessions.sqlite-wal", "sessions.sqlite-shm",
        "sessions.sqlite-journal", "lock",
    ])
    func `no link in a store leads a command anywhere`(name: String) async throws {
        let session = try await prepare()
        let purge = ["sessions", "purge", session.id], check = ["check", "--data-directory", apps]
        let others = [["sessions", "list"], ["sessions", "end", session.id], ["backup", "\(path)/copy"]]
        // What reads opens a store as `check` does, what writes as `purge` does.
        for (target, commands) in [
            (file, others + [purge, check]), (missing, [purge, check]), ("\(path)/root", [purge, check]),
        ] {
            try? FileManager.default.removeItem(atPath: "\(store)/\(name)")
            symlink(target, "\(store)/\(name)")

            for command in commands {
                _ = try await storage.run(command)
                try expectNothingHasChanged("\(command) with \(name) → \(target)")
            }
        }
    }

    @Test(arguments: ["accounts.sqlite", "accounts.sqlite-wal", "accounts.sqlite-shm", "accounts.sqlite-journal"])
    func `no link beside the accounts leads a command anywhere`(name: String) async throws {
        _ = try await prepare()
        for target in [file, missing, "\(path)/root"] {
            try? FileManager.default.removeItem(atPath: "\(apps)/\(name)")
            symlink(target, "\(apps)/\(name)")

            for command in [["list"], ["remove", "a@b.example"], ["add", "c@d.example"]] {
                let line =
                    "echo 'correct horse battery' | '\(try Program.server.path)' accounts \(command.joined(separator: " "))"
                _ = try await Program(URL(filePath: "/bin/sh"), ["-c", "\(line) --data-directory '\(apps)'"]).exit()
                try expectNothingHasChanged("\(command) with \(name) → \(target)")
            }
        }
    }

    /// The user owns a directory on the way, or the link in it.
    @Test func `no link on the way to a directory leads a command to root's own`() async throws {
        let session = try await prepare()
        let (home, other) = ("\(path)/home", "\(path)/root/store")
        try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
        #expect(chown(home, PlantedLinkTests.user, PlantedLinkTests.group) == 0)
        try FileManager.default.copyItem(atPath: store, toPath: other)
        for name in try FileManager.default.subpathsOfDirectory(atPath: other) { chown("\(other)/\(name)", 0, 0) }
        chown(other, 0, 0)
        #expect(symlink("\(path)/root", "\(home)/link") == 0)
        let before = try FileManager.default.contentsOfDirectory(atPath: other).sorted()

        for command in [
            ["sessions", "list"], ["sessions", "purge", session.id], ["backup", "\(home)/copy"],
            ["check", "--data-directory", apps],
        ] {
            #expect(try await storage.run(command, store: "sqlite:\(home)/link/store").code != 0, "\(command)")
        }
        let line = "echo 'correct horse battery' | '\(try Program.server.path)' accounts add a@b.example"
        let add = try await Program(URL(filePath: "/bin/sh"), ["-c", "\(line) --data-directory '\(home)/link/new'"])
            .exit()

        #expect(add.code != 0)
        #expect(try FileManager.default.contentsOfDirectory(atPath: other).sorted() == before)
        #expect(try FileManager.default.contentsOfDirectory(atPath: "\(path)/root").sorted() == ["file", "store"])
        #expect(!FileManager.default.fileExists(atPath: "\(home)/copy"))
    }

    @Test func `a pipe in a directory, or a file in one that everybody may write to, is refused at once`() async throws
    {
        let session = try await prepare()
        #expect(mkfifo("\(store)/secret.fifo", 0o600) == 0)
        let pipe = try await storage.run("sessions", "list")
        #expect(pipe.code == 77 && pipe.errors.contains("secret.fifo is no file"), "\(pipe.errors)")

        let common = "\(path)/common"
        try FileManager.default.createDirectory(atPath: common, withIntermediateDirectories: true)
        chmod(common, 0o1777)
        let made = try await storage.run("sessions", "list", store: "sqlite:\(common)")
        #expect(made.code == 66, "an empty directory has no store")
        #expect(symlink(file, "\(common)/sessions.sqlite") == 0)
        let planted = try await storage.run("sessions", "purge", session.id, store: "sqlite:\(common)")
        #expect(planted.code == 77 && planted.errors.contains("may have been put there by somebody else"))
        try expectNothingHasChanged("a common directory")
    }

    @Test func `what root's commands make belongs to the owner of its directory`() async throws {
        let session = try await prepare()
        let backups = "\(path)/backups"
        try FileManager.default.createDirectory(atPath: backups, withIntermediateDirectories: true)
        #expect(chown(backups, PlantedLinkTests.user, PlantedLinkTests.group) == 0)

        #expect(try await storage.run("sessions", "end", session.id).code == 0)
        #expect(try await storage.run("backup", "\(backups)/copy").code == 0)
        #expect(try await storage.run("backup", "--keep", "2", backups).code == 0)
        #expect(try await storage.run("backup", "\(path)/root/copy").code == 0, "root's own directory is root's")

        for directory in [store, backups] {
            for name in try FileManager.default.contentsOfDirectory(atPath: directory) {
                var info = stat()
                #expect(lstat("\(directory)/\(name)", &info) == 0 && info.st_uid == PlantedLinkTests.user, "\(name)")
            }
        }
        var info = stat()
        #expect(stat("\(path)/root/copy", &info) == 0 && info.st_uid == 0)
    }
}
