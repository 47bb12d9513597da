import Foundation
import Glibc
import Testing
import TestSupport

/// `coordinatord accounts`, as an operator types it.
@Suite(.serialized) struct AccountsCommandTests {
    private let storage: StorageTests
    private var apps: String { storage.directory.path + "/apps" }

    init() throws {
        storage = try StorageTests()
    }

    private func accounts(
        _ arguments: String..., input: String = ""
    ) async throws -> (code: Int32, output: String, errors: String) {
        let file = storage.directory.path + "/input"
        try Data(input.utf8).write(to: URL(filePath: file))
        let words = try [Program.server.path, "accounts"] + arguments + ["--data-directory", apps]
        let line = words.map { "'\($0)'" }.joined(separator: " ") + " < '\(file)'"
        return try await Program(URL(filePath: "/bin/bash"), ["-c", line]).exit()
    }

    @Test func `an account that is added while the server runs can sign in until it is removed`() async throws {
        let program = try Program(
            Program.server,
            ["serve", "--port", "0", "--store", storage.store, "--data-directory", apps] + ServerTests.unhurried)
        let line = try await program.line()
        let port = try #require(line.firstMatch(of: /127\.0\.0\.1:(\d+)/).flatMap { Int($0.output.1) })
        func logIn() async throws -> String {
            let visitor = try await SignInTests.Visitor("clean-login", at: port)
            return try await visitor.logIn("bob@example.com", "battery staple").text
        }

        #expect(try await accounts("add", "Bob@example.com", input: "battery staple\nrest\n").code == 0)
        #expect(try await accounts("list").output == "bob@example.com\n")
        #expect(try await logIn().contains(#""name":"main""#))
        let copy = storage.directory.path + "/accounts-copy.sqlite"
        #expect(try await accounts("backup", copy).output == "\(copy): 1 account\n")
        let again = try await accounts("backup", copy)
        #expect(again.code == 73 && again.errors == "Error: \(copy) exists already; name a new file\n")
        #expect(try await accounts("remove", "bob@example.com").code == 0)

        #expect(try await logIn().contains("Fail To Login"))
        #expect(try await accounts("list").output == "")
        #expect(try AccountsCommandTests.permissions(apps) == 0o700)
        #expect(try AccountsCommandTests.permissions(apps + "/accounts.sqlite") == 0o600)
        try await storage.stop(program)

        #expect(try AccountsCommandTests.permissions(copy) == 0o600)
        let restored = storage.directory.path + "/restored"
        try FileManager.default.createDirectory(atPath: restored, withIntermediateDirectories: true)
        try FileManager.default.moveItem(atPath: copy, toPath: restored + "/accounts.sqlite")
        let list = try await Program.coordinatord("accounts", "list", "--data-directory", restored).exit()
        #expect(list.output == "bob@example.com\n")
    }

    private static func permissions(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    @Test func `a command that cannot be done ends with an error, and changes nothing`() async throws {
        let missing = try await accounts("list")
        #expect(missing.code == 66 && missing.errors.hasPrefix("Error: there is no \(apps)/accounts.sqlite; "))
        #expect(!FileManager.default.fileExists(atPath: apps))

        #expect(try await accounts("add", "bob@example.com", input: "battery staple").code == 0)
        let twice = try await accounts("add", "bob@example.com", input: "another")
        let unknown = try await accounts("remove", "ann@example.com")
        let empty = try await accounts("add", "ann@example.com", input: "\n")
        let none = try await accounts("add", "ann@example.com")
        let odd = try await accounts("add", "ann", input: "battery staple")

        #expect(twice.code == 1 && twice.errors == "Error: there is an account bob@example.com already\n")
        #expect(unknown.code == 1 && unknown.errors == "Error: there is no account ann@example.com\n")
        #expect(empty.code == 1 && empty.errors == "Error: no password was given on standard input\n")
        #expect(none.code == 1 && none.errors == empty.errors)
        #expect(odd.code == 1 && odd.errors == "Error: “ann” is not an email address (name@example.com)\n")
        #expect(try await accounts("list").output == "bob@example.com\n")
    }

    @Test func `a terminal asks for the password twice, and does not show it`() async throws {
        let terminal = try Terminal()
        let words = try [Program.server.path, "accounts", "add", "bob@example.com", "--data-directory", apps]
        let line = words.map { "'\($0)'" }.joined(separator: " ") + " < '\(terminal.path)' 2> '\(terminal.path)'"
        let program = try Program(URL(filePath: "/bin/bash"), ["-c", line])

        var shown = try await terminal.read(upTo: "Password: ")
        try terminal.write("battery staple\n")
        shown += try await terminal.read(upTo: "Again: ")
        try terminal.write("battery staple\n")

        #expect(try await program.end() == 0)
        shown += try await terminal.read(upTo: "\n")
        #expect(!shown.contains("battery"))
        #expect(try await accounts("list").output == "bob@example.com\n")
    }
}

/// The other side of a terminal.
private final class Terminal: Sendable {
    private let master: Int32
    let path: String

    init() throws {
        // As grantpt, unlockpt and ptsname do it, which Swift's Glibc lacks (ioctl_tty(2)).
        let (lock, number): (UInt, UInt) = (0x4004_5431, 0x8004_5430)
        var value: Int32 = 0
        master = open("/dev/ptmx", O_RDWR | O_NOCTTY)
        guard master >= 0, ioctl(master, lock, &value) == 0, ioctl(master, number, &value) == 0 else {
            throw TestFailure("no terminal: errno \(errno)")
        }
        path = "/dev/pts/\(value)"
    }

    deinit { close(master) }

    func write(_ text: String) throws {
        guard Glibc.write(master, text, text.utf8.count) == text.utf8.count else { throw TestFailure("not written") }
    }

    /// What is shown, up to that text.
    func read(upTo end: String) async throws -> String {
        try await blocking { [master] in
            var shown: [UInt8] = []
            while !shown.ends(with: end) {
                var byte: UInt8 = 0
                var ready = pollfd(fd: master, events: Int16(POLLIN), revents: 0)
                guard poll(&ready, 1, Int32(1000 * hangLimit)) == 1, Glibc.read(master, &byte, 1) == 1 else {
                    throw TestFailure("the terminal shows only “\(String(decoding: shown, as: UTF8.self))”")
                }
                shown.append(byte)
            }
            return String(decoding: shown, as: UTF8.self)
        }
    }
}

extension [UInt8] {
    fileprivate func ends(with text: String) -> Bool { suffix(text.utf8.count).elementsEqual(text.utf8) }
}
