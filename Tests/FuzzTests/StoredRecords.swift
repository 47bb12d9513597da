internal import Coordinators
internal import FoundationEssentials
internal import JSONCoding
internal import SQLite
@testable internal import SQLiteStore
@testable internal import Sessions
internal import Sodium

/// What the store has kept: a text that is read as a record, an answer, or a row of `sessions` is written again as a
/// text that reads as the same.
enum StoredRecords: FuzzTarget {
    static let identity = SessionIdentity(
        id: .init(from: "fuzz", secret: secret), app: "tabs",
        tokens: [AccessToken(SHA256Digest(of: "fuzz"), createdAt: time)], createdAt: time)

    private static let secret = [UInt8](repeating: 0, count: KeyedDigest.keySize)
    private static let time = Date(timeIntervalSince1970: 1_800_000_000)

    static var seeds: [[UInt8]] {
        get async throws {
            let states = try await Fuzz.walks().flatMap(\.states).map {
                SessionState(identity, stamp: SessionStamp(version: 7), expiresAt: time, navigation: $0)
            }
            let transition = Transition(event: "push", operations: [.push(key: "k1")], finished: ["home"])
            let records = states.map { EncodedRecord($0, transition, at: time, keptUntil: time + 60).text }
            let end = EncodedRecord(endOf: identity, after: 7, at: time, keptUntil: time)
            let answer = StoredAnswer(
                session: identity.id, key: "key", fingerprint: identity.token, version: 7, body: Array("{\"a\":1}".utf8)
            )
            let device = PairedDevice(
                label: "TV", role: DeviceRole("display"), client: try ClientInfo(["locale": "de"]), pairedAt: time)
            let added = identity.adding(SHA256Digest(of: "tv"), of: device, beside: states[0].navigation, from: 3)
            let shared = added.after(SessionChanges(userChange: .signIn(user: "ann"))) ?? added
            let sharedEnd = EncodedRecord(endOf: shared, after: 7, at: time, keptUntil: time)
            let ending = StoredAnswer(
                session: identity.id, key: "key", fingerprint: identity.token, version: 7, body: Array("{}".utf8),
                endings: [SessionEnding(user: "ann", sessions: .others)])
            return records + [end.text, answer.encoded, sharedEnd.text, ending.encoded]
                + [StoredRecords.base, leaning, "7\n1=700 2:70 3", "1\n9"].map { Array($0.utf8) }
        }
    }

    /// A base record, and a delta record against it.
    private static let base = """
        {"session":"\(identity.id.text)","app":"a","token":"\(identity.token.hex)","createdAt":1,"version":7,"time":1,"keptUntil":1,\
        "expiresAt":1,"state":{"coordinators":[{"id":1,"name":"a"},{"id":2,"name":"b"}],"stack":{"id":0,"screens":[{"key":"k1",\
        "tabs":{"items":[{"id":"x","stack":{"screens":[{"key":"k2","coordinator":2}]}},{"id":"y"}]}}]}}}
        """
    private static let leaning = """
        {"session":"\(identity.id.text)","version":8,"base":7,"time":1,"keptUntil":1,"expiresAt":1,"visible":"k2","state":{\
        "coordinators":[1,{"id":3},2],"stack":{"id":0,"screens":[{"key":"k1","tabs":{"items":["y",{"id":"x","stack":{\
        "screens":["k2"]}}]}}]},"presented":[{"stack":{"screens":["k1"]}}]}}
        """
    private static let baseRecord = try? SessionRecord(parsing: Array(base.utf8))

    static func check(_ input: [UInt8]) {
        if let record = try? SessionRecord(parsing: input, base: baseRecord) {
            let again = try? SessionRecord(parsing: record.encoded.text)
            promise(
                "put together, a record is written as one that tells everything",
                again?.encoded.text == record.encoded.text)
        }
        if let record = try? SessionRecord(parsing: input) {
            let again = try? SessionRecord(parsing: record.encoded.text)
            promise("a record is written as one", again != nil)
            promise("the record is the same", again?.encoded.text == record.encoded.text)
            promise(
                "its times can be told", [record.time, record.keptUntil].allSatisfy { !$0.formatted(.iso8601).isEmpty })
        }
        if let answer = try? StoredAnswer(parsing: input) {
            promise("the answer is the same", (try? StoredAnswer(parsing: answer.encoded)) == answer)
        }
        checkRow(input)
    }

    /// - Parameter input: the column version, a line break, the column rows.
    private static func checkRow(_ input: [UInt8]) {
        let columns = input.split(separator: UInt8(ascii: "\n"), maxSplits: 1).map {
            String(decoding: $0, as: UTF8.self)
        }
        guard columns.count == 2, let version = Int(columns[0]), var session = row(version, columns[1]) else { return }
        for (newest, limit) in [(Int.max, 3), (version, 1000), (2, 1)] {
            let versions = session.versions(from: newest, limit: limit)
            promise("no more than asked for", versions.count <= limit)
            promise("versions count from 1", versions.allSatisfy { (1...min(newest, version)).contains($0.version) })
        }
        let all = session.allRows
        let dropped = session.keep(2, bytes: .max)
        promise("what is not dropped is kept", dropped.map(\.seq) + session.allRows == all)
        promise("no more is kept", session.allRows.count <= 2)
    }

    private static func row(_ version: Int, _ rows: String) -> CompactedSession? {
        CompactedSession(version: version, rows: Array(rows.utf8), tokens: "", origin: nil, of: identity.id)
    }
}
