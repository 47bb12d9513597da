import Foundation
import Postgres
import Sessions
import Sodium
import Synchronization
import TestSupport

@testable import PostgresStore

/// A store on a database of its own.
final class Database: Sendable {
    let uri: String
    private let cluster: PostgresCluster
    let reports = Reports()

    init(on cluster: PostgresCluster? = nil) async throws {
        let (shared, uri) = try await blocking {
            let cluster = try cluster ?? PostgresCluster.shared
            return (cluster, try cluster.makeDatabase())
        }
        self.cluster = shared
        self.uri = uri
    }

    /// - Parameter port: of a proxy; `nil` for the server's own.
    func open(through port: Int? = nil, retention: Retention = Retention()) async throws -> PostgresStore {
        try await PostgresStore.open(
            uri: uri(through: port), durability: .relaxed, retention: retention, report: reports.add)
    }

    func uri(through port: Int?) -> String {
        port.map { uri.replacing(":\(cluster.port)/", with: ":\($0)/") } ?? uri
    }

    var port: Int { cluster.port }

    /// - Returns: the values, a line for each row.
    @discardableResult
    func query(_ sql: String) async throws -> String {
        try await blocking { [cluster, uri] in try cluster.query(sql, in: uri) }
    }

    /// Ends the connections of stores, and of nobody else.
    @discardableResult
    func terminateConnections(_ condition: String = "true") async throws -> Int {
        let count = try await query(
            """
            SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
            WHERE application_name = 'coordinatord' AND datname = current_database() AND \(condition)
            """)
        return Int(count) ?? 0
    }
}

/// What a store has reported.
final class Reports: Sendable {
    private let lines = Mutex<[(text: String, isCritical: Bool)]>([])

    var add: @Sendable (String, Bool) -> Void {
        { text, isCritical in self.lines.withLock { $0.append((text, isCritical)) } }
    }

    var critical: [String] { lines.withLock { $0.filter(\.isCritical).map(\.text) } }
    var all: [String] { lines.withLock { $0.map(\.text) } }
}

extension SessionID {
    static func make(_ number: Int) -> SessionID {
        let digits = String(number)
        guard let id = SessionID("s_" + String(repeating: "0", count: 13 - digits.count) + digits) else {
            preconditionFailure("an id has 13 digits")
        }
        return id
    }
}

extension EncodedRecord {
    /// - Parameter content: what distinguishes it from others of the same version.
    static func make(
        _ id: SessionID, _ version: Int, _ content: String = "", keptUntil: Int = 2_000_000_000_000,
        isEnd: Bool = false, user: String? = nil
    ) throws -> EncodedRecord {
        let state = #","expiresAt":1900000000000,"event":"e","state":{"content":"\#(content)"}"#
        let user = user.map { "\"user\":\"\($0)\"," } ?? ""
        let text = """
            {"session":"\(id.text)","app":"a","token":"\(String(repeating: "ab", count: 32))",\
            "createdAt":1800000000000,\(user)"version":\(version),"time":\(1_800_000_000_000 + version),\
            "keptUntil":\(keptUntil)\(isEnd ? "" : state)}
            """
        return try SessionRecord(parsing: Array(text.utf8)).encoded
    }
}

extension SessionChange {
    /// The next version after `stamp`.
    static func make(
        _ id: SessionID, after stamp: SessionStamp = .none, _ content: String = "", key: String? = nil,
        keptUntil: Int = 2_000_000_000_000, isEnd: Bool = false, user: String? = nil
    ) throws -> SessionChange {
        let version = stamp.version + 1
        let answer = key.map { key in
            StoredAnswer(
                session: id, key: SHA256Digest(of: key).hex, fingerprint: SHA256Digest(of: "request"), version: version,
                body: Array("{\"\(key)\":\"\(content)\"}".utf8))
        }
        return SessionChange(
            id: id, expected: stamp,
            record: try .make(id, version, content, keptUntil: keptUntil, isEnd: isEnd, user: user), answer: answer)
    }
}

extension PostgresStore {
    func load(_ id: SessionID) async throws(StoreError) -> LoadedSession? { try await load(id, token: nil) }

    /// Commits versions of a session one after the other.
    ///
    /// - Returns: the last one's stamp.
    @discardableResult
    func commit(_ id: SessionID, versions: Int, after stamp: SessionStamp = .none) async throws -> SessionStamp {
        var stamp = stamp
        for _ in 0..<versions {
            let change = try SessionChange.make(id, after: stamp)
            let conflicts = try await commit([change]).get()
            guard conflicts.isEmpty else { throw TestFailure("a conflict at version \(change.stamp.version)") }
            stamp = change.stamp
        }
        return stamp
    }
}
