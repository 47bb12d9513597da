import Foundation
import Testing
import TestSupport

/// The file with the keys of the systems that may send signals, and what these leave behind for the operator.
@Suite struct ServiceKeyTests {
    private static let keys = ["first", "second"].map { $0 + String(repeating: "-key", count: 8) }

    private let storage: StorageTests
    private var file: String { storage.directory.path + "/service-keys" }

    init() throws {
        storage = try StorageTests()
    }

    private func write(_ lines: String) throws {
        try Data(lines.utf8).write(to: URL(filePath: file), options: .atomic)
    }

    private func serve() async throws -> (program: Program, connection: Connection) {
        try await storage.serve(nil, ["--service-key-file", file], with: try Program.oddServer)
    }

    /// Sends a signal to a session of the app `booking`.
    private func send(
        _ key: String, to session: StorageTests.Session, _ connection: Connection
    ) async throws -> Answer {
        let headers = [
            "Authorization": "Bearer \(key)", "Content-Type": "application/json", "Idempotency-Key": UUID().uuidString,
        ]
        return try await connection.request(
            "POST", "\(session.path)/signals", headers: headers, body: Data(#"{"type":"cancelled"}"#.utf8))
    }

    @Test func `keys are replaced while the server runs, and a file that cannot be used changes nothing`() async throws
    {
        let (first, second) = (ServiceKeyTests.keys[0], ServiceKeyTests.keys[1])
        try write("# The payment provider.\npayments \(first)\n\n")
        let (program, connection) = try await serve()
        let session = try await storage.open(connection, app: "booking")
        func status(_ key: String) async throws -> Int { try await send(key, to: session, connection).status }
        #expect(try await status(first) == 200)
        #expect(try await status(second) == 401)

        try write("payments \(first)\npayments \t \(second)")
        try await eventually { try await status(second) == 200 }
        #expect(try await status(first) == 200)
        try write("payments \(second)\n")
        try await eventually { try await status(first) == 401 }
        #expect(try await status(second) == 200)

        try write("payments \(first)\npayments short\n")
        let errors = try await program.errors(until: "the keys stay as they were")
        #expect(errors.contains("\(file) has changed: it has 2 keys now; added: payments\""))
        #expect(errors.contains("\(file) has changed: it has 1 key now; removed: payments\""))
        #expect(errors.contains("line 2 of \(file) has a key that has not 32 to 512 ASCII characters"))
        #expect(!errors.contains(first) && !errors.contains(second))
        #expect(try await status(second) == 200)
        #expect(try await status(first) == 401)
        try FileManager.default.removeItem(atPath: file)
        #expect(try await program.errors(until: "the keys stay as they were").contains("\(file) cannot be read"))
        #expect(try await status(second) == 200)

        try write("payments \(first)\n")
        try await eventually { try await status(first) == 200 }
        #expect(try await status(second) == 401)
        try await storage.stop(program)
    }

    @Test func `a change in place that keeps size and time is seen`() async throws {
        let (first, second) = (ServiceKeyTests.keys[0], String(ServiceKeyTests.keys[0].reversed()))
        try write("payments \(first)\n")
        let (program, connection) = try await serve()
        let session = try await storage.open(connection, app: "booking")
        let time = try #require(try FileManager.default.attributesOfItem(atPath: file)[.modificationDate])

        try Data("payments \(second)\n".utf8).write(to: URL(filePath: file))
        try FileManager.default.setAttributes([.modificationDate: time], ofItemAtPath: file)

        try await eventually { try await send(second, to: session, connection).status == 200 }
        #expect(try await send(first, to: session, connection).status == 401)
        try await storage.stop(program)
    }

    @Test(arguments: [
        ("payments", "line 1 of FILE has not a name and a key, with a space between them"),
        ("payments \(keys[0]) x", "line 1 of FILE has not a name and a key, with a space between them"),
        ("# x\npay/ments \(keys[0])", "line 2 of FILE has a name with other characters than letters, digits and ._-"),
        ("\n\npayments short", "line 3 of FILE has a key that has not 32 to 512 ASCII characters"),
        ("payments \(keys[0])é", "line 1 of FILE has a key that has not 32 to 512 ASCII characters"),
        ("a \(keys[0])\nb \(keys[0])", "line 2 of FILE has the key of another line"),
    ])
    func `a file with a wrong line is refused at the start`(lines: String, reason: String) async throws {
        try write(lines)

        let refused = try await refusal(file)

        #expect(refused.code == 65)
        #expect(refused.errors.hasPrefix("Error: --service-key-file: \(reason.replacing("FILE", with: file))"))
        #expect(!refused.errors.contains(ServiceKeyTests.keys[0]))
    }

    @Test func `a file that cannot be read is refused at the start`() async throws {
        for path in [file, storage.directory.path] {
            let refused = try await refusal(path)
            #expect(refused.code == 66)
            #expect(refused.errors.hasPrefix("Error: --service-key-file: \(path) cannot be read: "))
        }
    }

    private func refusal(_ path: String) async throws -> (code: Int32, output: String, errors: String) {
        try await Program.refused("serve", "--port", "0", "--store", "memory", "--service-key-file", path)
    }

    @Test func `sessions show says what a session waits for, and what was no event`() async throws {
        try write("payments \(ServiceKeyTests.keys[0])")
        let (program, connection) = try await serve()
        let session = try await storage.open(connection, app: "booking")
        for event in ["hold", "remind"] {
            let answer = try await connection.request(
                "POST", "\(session.path)/events", headers: session.headers, body: Data(#"{"type":"\#(event)"}"#.utf8))
            #expect(answer.status == 200)
        }
        #expect(try await send(ServiceKeyTests.keys[0], to: session, connection).status == 200)
        try await storage.stop(program)

        let shown = try await storage.run("sessions", "show", session.id)

        let lines = shown.output.split(separator: "\n").map(String.init)
        #expect(shown.code == 0 && lines.count == 8)
        #expect(lines[2].contains(" 3 ") && lines[2].contains("Z remind expires "))
        #expect(lines[3].contains("Z signal:cancelled expires "))
        let time = #"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"#
        for (line, pattern) in zip(
            lines[4...],
            [
                "pending: holdSeat of booking, effect holdSeat since \(time)",
                "pending: reminded of booking, timer reminded due \(time)",
                "pending: idle of booking, timer nobodyThere due \(time), if the user does nothing",
            ])
        {
            #expect(try Regex(pattern).wholeMatch(in: line) != nil, "\(line)")
        }
        #expect(lines[7].hasPrefix(#"{"session":"#))
    }
}
