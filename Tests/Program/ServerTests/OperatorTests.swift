import Foundation
import Testing
import TestSupport

/// What goes wrong for an operator, and what the error says.
@Suite struct OperatorTests {
    let directory: StorageTests.Directory

    init() throws { directory = try StorageTests.Directory() }

    func make(_ name: String, permissions: Int = 0o700) throws -> String {
        let path = "\(directory.path)/\(name)"
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: permissions])
        return path
    }

    func serve(
        _ flags: String..., as user: Int? = nil
    ) async throws -> (code: Int32, output: String, errors: String) {
        try await run(["serve", "--port", "0", "--log-format", "text"] + flags, as: user)
    }

    func run(_ command: [String], as user: Int?) async throws -> (code: Int32, output: String, errors: String) {
        let identity = user.map { ["setpriv", "--reuid=\($0)", "--regid=\($0)", "--clear-groups"] } ?? []
        return try await Program(URL(filePath: "/usr/bin/env"), identity + [Program.server.path] + command).exit()
    }

    @Test(.enabled(if: getuid() == 0)) func `a store that belongs to somebody else`() async throws {
        let apps = try make("apps", permissions: 0o777)
        let store = try make("store")
        chmod(directory.path, 0o755)

        let result = try await serve("--store", "sqlite:\(store)", "--data-directory", apps, as: 10_001)

        #expect(result.code == 78)
        #expect(
            result.errors == """
                Error: \(store) cannot be used by user 10001, group 10001: \(store): permission denied; give it to that user \
                (chown -R 10001:10001 \(store)), or name another directory with --store sqlite:DIRECTORY

                """)
    }

    @Test(.enabled(if: getuid() == 0)) func `a data directory that belongs to somebody else, or cannot be made`()
        async throws
    {
        let apps = try make("apps")
        let store = try make("store", permissions: 0o777)
        chmod(directory.path, 0o755)

        let there = try await serve("--store", "sqlite:\(store)", "--data-directory", apps, as: 10_001)
        let missing = try await serve(
            "--store", "sqlite:\(store)", "--data-directory", "\(directory.path)/x", as: 10_001)

        #expect(there.code == 78 && missing.code == 78)
        #expect(
            there.errors == """
                Error: \(apps) cannot be used by user 10001, group 10001: \(apps): permission denied; \
                give it to that user (chown -R 10001:10001 \(apps)), or name another directory with --data-directory

                """)
        #expect(missing.errors.contains("install -d -o 10001 -g 10001 \(directory.path)/x"))
    }

    @Test(.enabled(if: getuid() == 0)) func `files that an earlier server has left to another user`() async throws {
        let apps = try make("apps")
        let store = try make("store", permissions: 0o777)
        chmod(directory.path, 0o755)
        #expect(FileManager.default.createFile(atPath: "\(apps)/accounts.sqlite", contents: nil))
        chmod("\(apps)/accounts.sqlite", 0o600)
        chown(apps, 10_001, 10_001)

        let result = try await serve("--store", "sqlite:\(store)", "--data-directory", apps, as: 10_001)

        #expect(result.code == 78)
        #expect(result.errors.contains("\(apps)/accounts.sqlite: permission denied; give it to that user"))
    }

    @Test(.enabled(if: getuid() == 0)) func `a directory that lies in one that cannot be entered`() async throws {
        let outer = try make("outer")
        let inner = try make("outer/inner", permissions: 0o777)
        chmod(directory.path, 0o755)

        let apps = try make("apps", permissions: 0o777)

        let store = try await serve("--store", "sqlite:\(inner)", "--data-directory", apps, as: 10_001)
        let data = try await serve("--store", "sqlite:\(apps)", "--data-directory", inner, as: 10_001)

        for result in [store, data] {
            #expect(result.code == 78)
            #expect(
                result.errors.contains("\(outer): permission denied; let that user enter \(outer) (chmod a+x \(outer))")
            )
        }
    }

    @Test(
        .enabled(if: getuid() == 0),
        arguments: [("lock", 0o444), ("sessions.sqlite", 0o444), ("sessions.sqlite", 0), ("", 0o444), ("", 0o555)])
    func `a store of the server's own with insufficient permissions`(name: String, permissions: Int) async throws {
        let storage = try StorageTests()
        try await storage.stop(try await storage.serve().program)
        let store = storage.directory.path + "/store"
        let file = name.isEmpty ? store : "\(store)/\(name)"
        chmod(storage.directory.path, 0o755)
        for path in [store] + (try FileManager.default.contentsOfDirectory(atPath: store).map { "\(store)/\($0)" }) {
            chown(path, 10_001, 10_001)
        }
        chmod(file, mode_t(permissions))
        let apps = try make("apps", permissions: 0o777)
        chmod(directory.path, 0o755)

        let result = try await serve("--store", storage.store, "--data-directory", apps, as: 10_001)

        #expect(result.code == 78)
        #expect(
            result.errors == """
                Error: \(store) cannot be used by user 10001, group 10001: \(file): permission denied; permit that user to \
                read and write (chmod u+rwX \(file)), or name another directory with --store sqlite:DIRECTORY

                """)
        chmod(store, 0o700)
    }

    @Test(
        .enabled(if: getuid() == 0),
        arguments: [["sessions", "list"], ["sessions", "export"], ["sessions", "purge", "--over"], ["check"]])
    func `commands on a store that belongs to somebody else`(command: [String]) async throws {
        let storage = try StorageTests()
        try await storage.stop(try await storage.serve().program)
        chmod(storage.directory.path, 0o755)
        let apps = try make("apps", permissions: 0o777)
        chmod(directory.path, 0o755)
        let flags = command == ["check"] ? ["--data-directory", apps] : []

        let result = try await run(command + ["--store", storage.store] + flags, as: 10_001)

        let store = storage.directory.path + "/store"
        #expect(result.code == 78)
        #expect(
            result.errors.hasPrefix(
                """
                Error: \(store) cannot be used by user 10001, group 10001: \(store): permission denied; run this command \
                as the user that owns \(store) (root), or name another directory with --store sqlite:DIRECTORY
                """))
    }

    @Test(.enabled(if: getuid() == 0), arguments: [["list"], ["remove", "a@b.example"]])
    func `accounts that belong to somebody else`(command: [String]) async throws {
        let apps = try make("apps")
        chmod(directory.path, 0o755)

        let result = try await run(["accounts"] + command + ["--data-directory", apps], as: 10_001)

        #expect(result.code == 78)
        #expect(
            result.errors == """
                Error: \(apps) cannot be used by user 10001, group 10001: \(apps): permission denied; run this command \
                as the user that owns \(apps) (root), or name another directory with --data-directory

                """)
    }

    @Test func `a directory below a file`() async throws {
        let file = "\(directory.path)/file"
        #expect(FileManager.default.createFile(atPath: file, contents: nil))
        let apps = try make("apps")

        let store = try await serve("--store", "sqlite:\(file)/store", "--data-directory", apps)
        let data = try await serve("--store", "sqlite:\(directory.path)/other", "--data-directory", "\(file)/apps")

        #expect(store.code == 78 && data.code == 78)
        #expect(store.errors.hasSuffix("not a directory; name another directory with --store sqlite:DIRECTORY\n"))
        #expect(data.errors.hasSuffix("not a directory; name another directory with --data-directory\n"))
        #expect(store.errors.contains("\(file)/store cannot be used by user \(geteuid()), group \(getegid()): "))
    }

    @Test(arguments: [["--over"], ["s_vGNoFnEWTqnck"]])
    func `a purge of a store that does not exist fails, and creates none`(what: [String]) async throws {
        let missing = "\(directory.path)/missing"

        let result = try await Program(
            Program.server, ["sessions", "purge", "--store", "sqlite:\(missing)"] + what
        ).exit()

        #expect(result.code == 66 && result.output == "")
        #expect(
            result.errors
                == "Error: there is no store in \(missing); name its directory with --store sqlite:DIRECTORY\n")
        #expect(!FileManager.default.fileExists(atPath: missing))
    }

    @Test func `a server that cannot have its store leaves no data of the apps`() async throws {
        let result = try await serve("--store", "sqlite:/proc/nope", "--data-directory", "\(directory.path)/apps")

        #expect(result.code == 74)
        #expect(result.errors == "Error: /proc/nope cannot be created: no such file or directory\n")
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == [])
    }

    @Test(arguments: [["check"], ["sessions", "list"], ["sessions", "purge", "--over"], ["backup", "/nowhere/copy"]])
    func `a log without its database is reported by every command`(command: [String]) async throws {
        let store = try make("store")
        let file = "\(store)/sessions.sqlite"
        try Data("a log".utf8).write(to: URL(filePath: "\(file)-wal"))
        let flags = command == ["check"] ? ["--data-directory", "\(directory.path)/apps"] : []

        let result = try await run(command + ["--store", "sqlite:\(store)"] + flags, as: nil)

        #expect(result.code == 65 && result.output == "")
        #expect(
            result.errors == """
                Error: \(file) is missing, but its log \(file)-wal is there. Put sessions.sqlite back. If you cannot, \
                restore a backup into an empty directory.

                """)
    }

    @Test(arguments: [
        (["serve", "--body-time", "10"], "A time is a whole number with s, m, h or d: 10s."),
        (["serve", "--store", "data"], "Write sqlite:data for the directory data."),
        (["serve", "--allow-origin", "https://app.example/"], "in lower case and without a final slash."),
        (["sessions", "purge", "--over", "s_vGNoFnEWTqnck"], "Give either session ids or --over, not both."),
        (["sessions", "show", "s_nope"], "An id is s_ and 13 characters; `sessions list` shows them."),
    ])
    func `an error says how to write an argument`(arguments: [String], advice: String) async throws {
        let result = try await run(arguments, as: nil)

        #expect(result.code == 64 && result.errors.contains(advice), "\(result.errors)")
    }

    @Test func `a backup to a file that exists fails with its name, and leaves it`() async throws {
        let storage = try StorageTests()
        let (program, _) = try await storage.serve()
        let file = "\(directory.path)/file"
        try Data("mine".utf8).write(to: URL(filePath: file))

        let result = try await storage.run("backup", file)
        let nowhere = try await storage.run("backup", "\(directory.path)/nowhere/file")

        #expect(result.code == 73 && result.errors == "Error: \(file) exists already; name a new file\n")
        #expect(
            nowhere.code == 73
                && nowhere.errors.hasSuffix("/nowhere/file cannot be created: no such file or directory\n"))
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "mine")
        try await storage.stop(program)
    }

    /// Imported lines may have been written by anyone.
    @Test func `control characters in names do not reach a terminal`() async throws {
        let storage = try StorageTests()
        let (program, connection) = try await storage.serve()
        let session = try await storage.open(connection)
        try await storage.stop(program)
        let lines = try await storage.run("sessions", "export").output
        // JSON must escape the first two control characters; the others may stand there as they are.
        let name = "n\\u001b]0;x\\u0007\u{9B}31m\u{202E}\u{FEFF}\u{E0041}"
        let elsewhere = "sqlite:\(directory.path)/elsewhere"
        let imported = lines.replacing(#""app":"numbers""#, with: #""app":"\#(name)""#)
        #expect(imported != lines)
        #expect(try await storage.run("sessions", "import", input: imported, store: elsewhere).code == 0)

        let list = try await storage.run("sessions", "list", store: elsewhere)
        let show = try await storage.run("sessions", "show", session.id, store: elsewhere)
        let check = try await storage.run("check", "--data-directory", "\(directory.path)/apps", store: elsewhere)

        for text in [list.output, show.output, check.output] {
            #expect(text.contains(#"n\u001b]0;x\u0007\u009b31m\u202e\ufeff\udb40\udc41"#))
            #expect(!text.unicodeScalars.contains { $0 != "\n" && $0.properties.generalCategory == .control })
            #expect(!text.unicodeScalars.contains { $0.properties.isBidiControl })
        }
    }
}
