import Foundation
import JSONCoding
import Testing

@testable import Sessions

/// What a store has to know of a session's timers and effects, as it is read from a saved state.
@Suite struct WakeEntryTests {
    static let expiry = Date(timeIntervalSince1970: 1_000)

    static func pending(_ text: String) throws -> WakeEntry {
        WakeEntry(inSaved: try JSON(parsing: Array(#"{"pending":\#(text)}"#.utf8)), expiresAt: expiry)
    }

    @Test func `the earliest timer and whether there are effects are read from a saved state`() throws {
        let examples: [(String, TimeInterval?, Bool)] = [
            ("[]", nil, false),
            (#"[{"id":"a","effect":"hold"}]"#, nil, true),
            (#"[{"id":"a","timer":"late","due":7000},{"id":"b","due":3500},{"id":"c","due":9000}]"#, 3.5, false),
            (#"[{"id":"a","effect":"hold","due":1},{"id":"b","due":3000}]"#, 3, true),
            // A timer fires before the session expires, or never.
            (#"[{"id":"a","due":999999}]"#, 999.999, false),
            (#"[{"id":"a","due":1000000}]"#, nil, false),
            // What no build has written is no reason to fail.
            ("null", nil, false), (#"{"due":1}"#, nil, false), (#"[1,null,{},{"due":"1"},{"due":2.5}]"#, nil, false),
        ]
        for (text, timer, hasEffects) in examples {
            let pending = try WakeEntryTests.pending(text)

            #expect(pending.nextTimer == timer.map { Date(timeIntervalSince1970: $0) }, "\(text)")
            #expect(pending.hasEffects == hasEffects, "\(text)")
            #expect(pending.isEmpty == (timer == nil && !hasEffects))
        }
    }

    /// A record of a session that expires at `expiry`.
    static func record(_ version: Int, _ content: String) throws -> SessionRecord {
        let text = """
            {"session":"s_0000000000001","app":"a","token":"\(String(repeating: "ab", count: 32))","createdAt":0,\
            "version":\(version),"time":0,"keptUntil":2000000\(content)}
            """
        return try SessionRecord(parsing: Array(text.utf8))
    }

    @Test func `a record that is read back, or returned to, has its timers, and only the former its effects`() throws {
        let first = try WakeEntryTests.record(
            1, #","expiresAt":1000000,"state":{"pending":[{"due":4000},{"effect":"hold"}]}"#)
        let second = try WakeEntryTests.record(2, #","expiresAt":1000000,"state":{}"#)
        let end = try WakeEntryTests.record(3, "")

        let expected = WakeEntry(
            nextTimer: Date(timeIntervalSince1970: 4), hasEffects: true, expiresAt: WakeEntryTests.expiry)
        #expect(first.encoded.pending == expected)
        #expect(second.encoded.pending == .nothing && end.encoded.pending == .nothing)
        let returned = try second.returning(to: first, at: Date(timeIntervalSince1970: 1)).pending
        #expect(returned.nextTimer == expected.nextTimer && !returned.hasEffects)
        // Who returns a session does something: what waits for idleness starts again.
        let idle = try WakeEntryTests.record(
            1, #","expiresAt":1000000,"state":{"pending":[{"due":4000,"idle":3000}]}"#)
        let agreed = try WakeEntryTests.record(
            1, #","expiresAt":1000000,"state":{"agreement":{"event":"go","screens":[],"device":1}}"#)
        let text = try second.returning(to: agreed, at: Date(timeIntervalSince1970: 9)).text
        #expect(!String(decoding: text, as: UTF8.self).contains("agreement"), "it was for what came then")
        let restarted = try second.returning(to: idle, at: Date(timeIntervalSince1970: 9)).pending
        #expect(restarted.nextTimer == Date(timeIntervalSince1970: 12))
    }

    @Test func `a row has a timer and effects without being a full record's`() throws {
        let full = try WakeEntryTests.record(1, #","expiresAt":1000000,"state":{"a":[]}"#)
        let delta = JournalRow(
            session: full.id.text, kind: .next, version: 2, keptUntil: 0, base: 1,
            label: JournalRow.Label(timer: 4000, hasEffects: true), text: [])

        #expect(JournalRow(full.encoded, isFirst: true).label?.timer == nil)
        #expect(JournalRow(full.encoded, isFirst: true).label?.tokens != nil)
        #expect(delta.label?.tokens == nil && delta.label?.timer == 4000)
    }
}
