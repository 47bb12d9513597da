import Foundation
import ReferenceApps
import SQLite
import TestSupport
import Testing

/// Who can log in with the accounts file, and who can read it.
@Suite(.serialized) struct AccountFileTests {
    static func permissions(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    @Test func `the development account cannot log in to a production server on the same file`() async throws {
        let file = TemporaryFile()
        let development = try await Accounts(path: file.path)
        #expect(await development.logIn("ann@example.com", "correct horse") == nil)

        let production = try await Accounts(path: file.path, isDevelopment: false)

        #expect(await production.logIn("ann@example.com", "correct horse") == .refused)
        #expect(try production.store.accounts() == [Account(email: "ann@example.com", isDevelopment: true)])
        #expect(await development.logIn("ann@example.com", "correct horse") == nil)
    }

    @Test func `a real account replaces the development account, and a development server keeps it`() async throws {
        let file = TemporaryFile()
        _ = try await Accounts(path: file.path)
        let production = try await Accounts(path: file.path, isDevelopment: false)

        #expect(try await blocking { try production.store.add(email: "Ann@example.com", password: "battery staple") })

        let development = try await Accounts(path: file.path)
        for accounts in [production, development] {
            #expect(await accounts.logIn("ann@example.com", "battery staple") == nil)
            #expect(await accounts.logIn("ann@example.com", "correct horse") == .refused)
        }
        #expect(try production.store.accounts() == [Account(email: "ann@example.com", isDevelopment: false)])
    }

    @Test func `adding or removing an account takes effect at once on a running server`() async throws {
        let file = TemporaryFile()
        let server = try await Accounts(path: file.path, isDevelopment: false)
        let command = try await Accounts(path: file.path, isDevelopment: false).store

        #expect(try await blocking { try command.add(email: "bob@example.com", password: "battery staple") })
        #expect(await server.logIn("bob@example.com", "battery staple") == nil)
        #expect(try command.remove(email: "BOB@example.com"))
        #expect(await server.logIn("bob@example.com", "battery staple") == .refused)
        #expect(try !command.remove(email: "bob@example.com"))
    }

    @Test func `a file that is replaced under a running server is read anew, and one that is gone signs nobody in`()
        async throws
    {
        let (file, other) = (TemporaryFile(), TemporaryFile())
        let server = try await Accounts(path: file.path, isDevelopment: false)
        let old = server.store
        #expect(try await blocking { try old.add(email: "bob@example.com", password: "battery staple") })
        #expect(await server.logIn("bob@example.com", "battery staple") == nil)
        let new = try await Accounts(path: other.path, isDevelopment: false).store
        #expect(try await blocking { try new.add(email: "cid@example.com", password: "battery staple") })

        #expect(rename(other.path, file.path) == 0)
        #expect(await server.logIn("bob@example.com", "battery staple") == .refused)
        #expect(await server.logIn("cid@example.com", "battery staple") == nil)

        // Written over in place, after as many changes.
        let last = TemporaryFile()
        let third = try await Accounts(path: last.path, isDevelopment: false).store
        #expect(try await blocking { try third.add(email: "dan@example.com", password: "battery staple") })
        try Data(contentsOf: URL(filePath: last.path)).write(to: URL(filePath: file.path), options: [])
        #expect(await server.logIn("cid@example.com", "battery staple") == .refused)
        #expect(await server.logIn("dan@example.com", "battery staple") == nil)

        #expect(unlink(file.path) == 0)
        #expect(await server.logIn("dan@example.com", "battery staple") == .unavailable)
        #expect(!FileManager.default.fileExists(atPath: file.path))
    }

    @Test func `only its owner can read the file, even if others could read it before`() async throws {
        let fresh = TemporaryFile()
        let old = TemporaryFile()
        try Data().write(to: URL(filePath: old.path))
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: old.path)

        let stores = [try AccountStore(path: fresh.path), try AccountStore(path: old.path)]

        #expect(try AccountFileTests.permissions(fresh.path) == 0o600)
        #expect(try AccountFileTests.permissions(old.path) == 0o600)
        withExtendedLifetime(stores) {}
    }

    @Test(arguments: ["-wal", "-shm", "-journal"])
    func `only its owner can read the files that SQLite keeps beside it`(suffix: String) async throws {
        let file = TemporaryFile()
        _ = try AccountStore(path: file.path)
        let database = try SQLiteDatabase(path: file.path)
        let mode = suffix == "-journal" ? "PERSIST" : "WAL"
        try database.execute("PRAGMA journal_mode = \(mode); CREATE TABLE other (a)")
        let beside = file.path + suffix
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: beside)

        let store = try AccountStore(path: file.path)

        #expect(try AccountFileTests.permissions(beside) == 0o600)
        withExtendedLifetime(store) {}
        for suffix in ["-wal", "-shm", "-journal"] { try? FileManager.default.removeItem(atPath: file.path + suffix) }
    }

    @Test func `a file that cannot be created is refused with its path and the reason`() {
        #expect(throws: AccountStoreError.unavailable(reason: "/proc/none/accounts: No such file or directory")) {
            try AccountStore(path: "/proc/none/accounts")
        }
    }
}
