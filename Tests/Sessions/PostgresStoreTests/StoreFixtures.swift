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
        let cluster = if let cluster { cluster } else { try await blocking { try PostgresCluster.shared } }
        self.cluster = cluster
        uri = try await cluster.makeDatabase()
    }

    /// - Parameter port: of a proxy; `nil` for the server's own.
    func open(
        through port: Int? = nil, retention: Retention = Retention(), limits: TimeLimits = .hours
    ) async throws -> PostgresStore {
        try await PostgresStore.open(
            uri: uri(through: port), durability: .relaxed, retention: retention, limits: limits, report: reports.add)
    }

    /// Creates the tables.
    @discardableResult
    func migrate() async throws(PostgresStoreError) -> (before: Int, after: Int) {
        try await PostgresStore.migrate(uri: uri, limits: .hours)
    }

    func uri(through port: Int?) -> String {
        port.map { uri.replacing(":\(cluster.port)/", with: ":\($0)/") } ?? uri
    }

    var port: Int { cluster.port }

    /// - Returns: the values, a line for each row.
    @discardableResult
    func query(_ sql: String) async throws -> String {
        try await cluster.query(sql, in: uri)
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

    /// Runs something while another client has locks, those that `sql` acquires.
    func whileLocked<Value>(_ sql: String, _ body: () async throws -> Value) async throws -> Value {
        let holder = Task { try? await query("BEGIN; \(sql); SELECT pg_sleep(7200)") }
        let condition = "wait_event = 'PgSleep' AND datname = current_database()"
        let result: Result<Value, any Error>
        do {
            try await eventually {
                try await query("SELECT count(*) FROM pg_stat_activity WHERE \(condition)") == "1"
            }
            result = .success(try await body())
        } catch {
            result = .failure(error)
        }
        try await query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE \(condition)")
        _ = await holder.value
        return try result.get()
    }

    /// Waits until a commit waits for a lock.
    func waitForBlockedCommit() async throws {
        try await eventually {
            try await query(
                """
                SELECT count(*) > 0 FROM pg_stat_activity
                WHERE wait_event_type = 'Lock' AND query LIKE 'WITH c AS (%' AND datname = current_database()
                """) == "t"
        }
    }

    func rejuvenate() async throws { try await cluster.rejuvenate(uri) }
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
    /// Opens a store with limits that a slow machine may exceed when it opens it.
    static func openRepeatedly(
        uri: String, durability: Durability = .strict, limits: TimeLimits,
        report: @escaping @Sendable (String, Bool) -> Void = { _, _ in }
    ) async throws -> PostgresStore {
        var store: PostgresStore?
        try await eventually {
            do throws(PostgresStoreError) {
                store = try await open(uri: uri, durability: durability, limits: limits, report: report)
                return true
            } catch {
                guard case .unavailable = error else { throw error }
                return false
            }
        }
        guard let store else { throw TestFailure("the store is not open") }
        return store
    }

    /// Waits until the database can be used again, and the store knows that.
    func waitUntilUsable() async throws {
        // After the check that may be under way, and may still fail.
        _ = try await sessionsWithEffects(after: nil, limit: 1)
        try await eventually { condition.failure == nil }
    }

    /// Commits a change to a store with limits that a slow machine may exceed.
    func commitRepeatedly(_ change: SessionChange) async throws {
        try await eventually {
            if await commit([change]) == .success([]) { return true }
            // It may have been committed all the same.
            return (try? await isCurrent(change.stamp, of: change.id)) == true
        }
    }

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

final class Counter: Sendable {
    private let count = Atomic(0)
    var value: Int { count.load(ordering: .relaxed) }
    func add(_ more: Int = 1) { count.add(more, ordering: .relaxed) }
}
