// SQLiteStore: keeps sessions in a SQLite file. A commit is flushed to disk before it is told.
//
// Every version of a session is a record in the `journal`, which is only appended to: one writer gathers what all
// sessions commit at the same time, in one transaction with one flush. Behind the traffic the journal is folded into
// tables that say where a session's records are (`Schema` has them all); what is not folded yet is known in memory
// (`Unfolded`), and read from the journal after a restart. Records stay where they were written, and go when no session
// needs them any more.
//
// One connection writes (`Ledger`), and one only reads (`Archive`), so that nobody who reads waits for a flush.
// It knows what a record is from `Sessions`, and nothing of what is in it.

public import FoundationEssentials
internal import SQLite
public import Sessions
public import Sodium
internal import Synchronization

public final class SQLiteStore: SessionStore {
    public enum Durability: String, Sendable, CaseIterable {
        /// A commit is on the disk before it is told.
        case strict
        /// A commit is told when it is written; the last ones may be lost when the power is. A crash of the process
        /// loses none.
        case relaxed
    }

    public let name: String
    public let secret: [UInt8]
    public let latestTime: Date
    private let directory: StoreDirectory
    private let unfolded: SharedUnfolded
    private let writer: CommitQueue
    private let reader: ReadQueue

    /// Opens the store in a directory of its own, which is made where it is missing.
    ///
    /// - Parameter failed: is told when a flush has failed. From then on nothing is committed, and the process should
    ///   end: what is on the disk can only be told by opening it anew.
    public init(
        directory path: String, durability: Durability = .strict, retention: Retention = Retention(),
        failed: @escaping @Sendable (String) -> Void
    ) throws(SQLiteStoreError) {
        name = durability == .strict ? "sqlite" : "sqlite-relaxed"
        directory = try StoreDirectory(path)
        if durability == .strict { try WriteAheadLog.check(directory.database + "-wal") }
        let ledger = try Ledger(path: directory.database, durability: durability, retention: retention)
        try directory.flush()
        secret = ledger.secret
        latestTime = ledger.latestTime
        unfolded = SharedUnfolded(ledger.replayed)
        do throws(SQLiteError) {
            reader = ReadQueue(try Archive(path: directory.database, retention: retention))
        } catch {
            throw SQLiteStoreError(error)
        }
        writer = CommitQueue(ledger, unfolded, failed: failed)
    }

    public var sessionCount: Int { writer.sessionCount.load(ordering: .relaxed) }

    public func load(_ id: SessionID, token: SHA256Digest?) async throws(StoreError) -> LoadedSession? {
        let recent = unfolded.places(of: id)
        let loaded = try await reader.read { archive throws(ReadError) in try archive.load(id, recent) }
        return token == nil || loaded?.record.identity.token == token ? loaded : nil
    }

    public func forks(of id: SessionID) async throws(StoreError) -> [SessionID] {
        let named = try await reader.read { archive throws(ReadError) in try archive.sessions(naming: id) }
        var forks: [SessionID] = []
        for other in named where try await load(other, token: nil)?.record.identity.origin == id { forks.append(other) }
        return forks
    }

    public func history(of id: SessionID, from version: Int?, limit: Int) async throws(StoreError) -> [SessionRecord] {
        let recent = unfolded.places(of: id)
        return try await reader.read { archive throws(ReadError) in
            try archive.history(of: id, from: version ?? .max, limit: limit, recent)
        }
    }

    public func answer(to key: String, of id: SessionID) async throws(StoreError) -> StoredAnswer? {
        let recent = unfolded.places(of: id)
        return try await reader.read { archive throws(ReadError) in try archive.answer(to: key, of: id, recent) }
    }

    public func commit(_ changes: [SessionChange], _ completion: @escaping @Sendable (CommitOutcome) -> Void) {
        writer.commit(changes.map(EncodedChange.init), completion)
    }

    public func sweep(at now: Date, limit: Int) async throws(StoreError) -> [SessionID] {
        try await writer.sweep(at: now, limit: limit)
    }

    /// Forgets a session for good, whatever its time. Nobody may be using it.
    public func forget(_ id: SessionID) async throws(StoreError) {
        try await writer.forget(id)
    }

    public func close() async {
        await reader.close()
        await writer.close()
        directory.unlock()
    }
}

/// Why a store cannot be opened.
public enum SQLiteStoreError: Error, Equatable, Sendable {
    /// Another process has it.
    case inUse(path: String)
    /// A newer build of this program has written it.
    case newer(schema: Int)
    /// What is there is not what was written.
    case damaged(String)
    /// The system refuses.
    case unavailable(reason: String)
}
