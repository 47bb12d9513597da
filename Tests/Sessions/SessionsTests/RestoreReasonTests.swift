import Coordinators
import Foundation
import JSONCoding
import Sessions
import TestSupport
import Testing

/// What an operator reads about a session that cannot be restored.
@Suite struct RestoreReasonTests {
    struct Gate: Coordinator {
        var passed = 0
        func start(_ navigator: inout Navigator) { navigator.push(Screen("gate")) }
    }

    @Test(arguments: [
        (#""lastKey":1,"#, "", "its state lacks “lastKey”"),
        (#""lastKey":1"#, #""lastKey":"x""#, "the value at /lastKey of its state must be an integer in range"),
        (
            #""lastKey":1"#, #""lastKey":9007199254740993"#,
            "the value at /lastKey of its state must be an integer in range"
        ),
        (#""lastID":1"#, #""lastID":-1"#, "the value at /lastID of its state must be an integer in range"),
        (#""lastKey":1"#, #""lastKey":0"#, "its state contradicts itself"),
        (#""key":"k1""#, #""key":"k-1""#, "its state contradicts itself"),
        (
            #"{"id":0,"#, #"{"id":9223372036854775807,"#,
            "the value at /stack/id of its state must be an integer in range"
        ),
        (
            #""passed":0"#, #""passed":"x""#,
            """
            it would lose coordinator “gate” (the value at /passed of what it has saved must be an integer in range), \
            screen “gate”, which only a higher version of the app may remove
            """
        ),
        (
            #"{"passed":0}"#, "{}",
            """
            it would lose coordinator “gate” (the value at /passed of what it has saved is missing; “static let blank” can \
            supply it), screen “gate”, \
            which only a higher version of the app may remove
            """
        ),
        (#""version":1,"lastKey""#, #""version":2,"lastKey""#, "version 2 of the app has saved it"),
    ])
    func `the reason for a refusal is given in a sentence`(text: String, forged: String, reason: String) async throws {
        let store = MemoryStore()
        let host = SessionHost(apps: [App("gate", root: Gate.init)], store: store, settings: .unhurried)
        let created = try await host.create()
        let saved = String(decoding: try #require(try store.load(created.id)).record.encoded.text, as: UTF8.self)

        // The first screen occurs twice. Only the state is forged, which follows what the client reads.
        let start = try #require(saved.range(of: #""state":{"version""#))
        let line = saved[..<start.lowerBound] + saved[start.lowerBound...].replacingOccurrences(of: text, with: forged)
        let record = try SessionRecord(parsing: Array(line.utf8))

        #expect(line != saved && host.restorePlan(for: record) == .refused(reason: reason))
    }

    @Test(arguments: [
        ("version", "0"), ("version", "9007199254740993"), ("version", "9223372036854775806"), ("version", "-1"),
        ("version", "1e300"), ("base", "9223372036854775806"), ("base", "0"),
    ])
    func `a record with an impossible version or base is invalid`(member: String, number: String) async throws {
        let store = MemoryStore()
        let host = SessionHost(apps: [App("gate", root: Gate.init)], store: store, settings: .unhurried)
        let created = try await host.create()
        let saved = String(decoding: try #require(try store.load(created.id)).record.encoded.text, as: UTF8.self)
        let line = saved.replacingOccurrences(of: #""version":1,"time""#, with: #""version":1,"base":1,"time""#)
            .replacingOccurrences(
                of: member == "base" ? #""base":1"# : #""version":1,"base":1"#, with: #""\#(member)":\#(number)"#)

        #expect(throws: RecordError.invalid(member: member)) { try SessionRecord(parsing: Array(line.utf8)) }
    }

    @Test(arguments: ["time", "keptUntil", "expiresAt", "createdAt"])
    func `a time out of range becomes the nearest time that can be written`(member: String) async throws {
        let store = MemoryStore()
        let host = SessionHost(apps: [App("gate", root: Gate.init)], store: store, settings: .unhurried)
        let created = try await host.create()
        let saved = try JSON(parsing: try #require(try store.load(created.id)).record.encoded.text).object

        for (number, nearest) in [(Int.max, 253_402_300_799_000), (1 << 53, 253_402_300_799_000), (.min, 0), (-1, 0)] {
            var forged = try #require(saved)
            forged[member] = .integer(number)
            let record = try SessionRecord(parsing: Array(JSON.object(forged).description.utf8))
            #expect(try JSON(parsing: record.encoded.text)[member] == .integer(nearest))
        }
    }
}
