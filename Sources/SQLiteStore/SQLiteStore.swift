// SQLiteStore: keeps sessions in a SQLite file. A commit is flushed to disk before it is reported.
//
// Every version of a session is a record in the `journal`, which is only appended to: one writer gathers what all
// sessions commit at the same time, in one transaction with one flush. Behind the traffic the journal is compacted into
// tables that say where a session's records are (`Schema` has them all); what is not compacted yet, its tail, is known in
// memory (`Tail`), and read from the journal after a restart. Records stay where they were written, and go when no session
// needs them any more.
//
// One connection writes (`Ledger`), and one only reads (`JournalReader`), so that nobody who reads waits for a flush. Every
// page and every row has a checksum: what is damaged is reported and refused, and what is derived from the journal is
// made anew (`StoreRebuild`).
// It knows what a record is from `Sessions`, and nothing of what is in it.

public import FoundationEssentials
internal import SQLite
public import Sessions
public import Sodium
internal import Synchronization

public final class SQLiteStore: SessionStore {
    public enum Durability: String, Sendable, CaseIterable {
        /// A commit is on the disk before it is reported.
        case strict
        /// A commit is reported when it is written; the last ones may be lost when the power is. A crash of the process
        /// loses none.
        case relaxed
    }

    public let name: String
    public let secret: [UInt8]
    public let latestTime: Date
    private let directory: StoreDirectory
    private let tail: SharedTail
    private let writer: CommitQueue
    private let reader: ReadQueue
    private let troubles: StoreTroubles
    private let watch: StoreWatch

    /// Opens the store in a directory of its own, which is made where it is missing. One of an earlier schema is upgraded,
    /// one that was found damaged is rebuilt; both take a time in proportion to its size.
    ///
    /// - Parameters:
    ///   - sizeLimit: bytes that the file may have in use; 0 for any number. Beyond, commits fail with `full`.
    ///   - report: is told what an operator should know, about each damaged session at most once a minute.
    ///   - failed: is told when a flush has failed or the files are gone. From then on nothing is committed, and the
    ///     process should end: what is on the disk can only be told by opening it anew.
    public init(
        directory path: String, durability: Durability = .strict, retention: Retention = Retention(),
        sizeLimit: Int = 0, report: @escaping @Sendable (String) -> Void = { _ in },
        failed: @escaping @Sendable (String) -> Void
    ) throws(SQLiteStoreError) {
        name = durability == .strict ? "sqlite" : "sqlite-relaxed"
        directory = try StoreDirectory(path)
        let troubles = StoreTroubles(marker: directory.marker, log: report)
        if durability == .strict { try WriteAheadLog.check(directory.log) }
        let hadLog = directory.hasLog
        try StoreRebuild.rebuildIfNeeded(directory, retention, report)
        let database = directory.database
        func openLedger() throws(SQLiteStoreError) -> Ledger {
            try Ledger(path: database, durability: durability, retention: retention, sizeLimit: sizeLimit) {
                troubles.report($0)
            }
        }
        let ledger: Ledger
        do throws(SQLiteStoreError) {
            ledger = try openLedger()
        } catch {
            guard case .damaged(let what) = error, try StoreRebuild.isPossible(directory) else { throw error }
            try StoreRebuild.rebuild(directory, retention, because: what, report)
            ledger = try openLedger()
        }
        // A store that was not closed has a log.
        guard hadLog || ledger.isNotedClosed else {
            throw .damaged("\(directory.log) is missing or empty, and with it what was acknowledged last; put it back")
        }
        try directory.keepCopy(of: ledger.secret)
        try directory.flush()
        secret = ledger.secret
        latestTime = ledger.latestTime
        tail = SharedTail(ledger.replayed)
        for (id, reason) in ledger.replayed.damaged { troubles.report(.session(id, reason)) }
        do throws(SQLiteError) {
            reader = ReadQueue(try JournalReader(path: directory.database, retention: retention))
        } catch {
            throw SQLiteStoreError(error)
        }
        directory.keepFiles()
        writer = CommitQueue(ledger, tail, reader, troubles, failed: failed)
        watch = StoreWatch(directory, writer, troubles)
        self.troubles = troubles
        watch.begin()
    }

    public var sessionCount: Int { writer.sessionCount.load(ordering: .relaxed) }

    public var condition: StoreCondition { troubles.condition }

    public func load(_ id: SessionID, token: SHA256Digest?) async throws(StoreError) -> LoadedSession? {
        let found = try await reading(id) { reader, tail throws(ReadError) in
            try reader.load(id, token: token, tail)
        }
        guard let found, let record = try records(found.record).first else { return nil }
        return LoadedSession(record: record, answeredKeys: found.answeredKeys)
    }

    public func history(
        of id: SessionID, from version: Int?, limit: Int, bytes: Int
    ) async throws(StoreError) -> [SessionRecord] {
        try records(
            try await reading(id) { reader, tail throws(ReadError) in
                try reader.history(of: id, from: version ?? .max, limit: limit, bytes: bytes, tail)
            })
    }

    public func answer(to key: String, of id: SessionID) async throws(StoreError) -> StoredAnswer? {
        let row = try await reading(id) { reader, tail throws(ReadError) in try reader.answer(to: key, of: id, tail) }
        guard let row else { return nil }
        guard let answer = try? StoredAnswer(parsing: row.text), answer.session == id, answer.key == key else {
            throw reported(.damaged("an answer of \(id.text) is damaged"), id)
        }
        return answer
    }

    public func forks(of id: SessionID) async throws(StoreError) -> [SessionID] {
        let recent = tail.withLock { $0.forks(of: id) }
        let compacted = try await reading(id) { reader, _ throws(ReadError) in try reader.forks(of: id) }
        return Array(recent.union(compacted))
    }

    /// - Parameter body: is told what the tail has of the session.
    private func reading<Value: Sendable>(
        _ id: SessionID, _ body: @escaping @Sendable (JournalReader, [Place]) throws(ReadError) -> Value
    ) async throws(StoreError) -> Value {
        var tries = 1
        while true {
            let recent = try tail.places(of: id)
            do throws(ReadError) {
                return try await reader.read { reader throws(ReadError) in try body(reader, recent) }
            } catch {
                // Very much may have been committed since the tail was asked.
                if case .missing = error, tries < 3 {
                    tries += 1
                } else {
                    throw reported(error, id)
                }
            }
        }
    }

    private func records(_ found: FoundRecords) throws(StoreError) -> [SessionRecord] {
        do throws(ReadError) { return try found.records() } catch { throw reported(error, found.id) }
    }

    private func reported(_ error: ReadError, _ id: SessionID) -> StoreError {
        switch error {
        case .damaged, .missing:
            troubles.report(.session(id, error.reason))
            return .damaged(reason: error.reason)
        case .sqlite, .closed: return .unavailable(reason: error.reason)
        }
    }

    public func commit(_ changes: [SessionChange]) async -> CommitOutcome {
        let changes = changes.map(EncodedChange.init)
        // Not a checked one, for every event comes this way; the queue completes each commit once.
        return await withUnsafeContinuation { continuation in
            writer.commit(changes) { continuation.resume(returning: $0) }
        }
    }

    public func sweep(at now: Date, limit: Int) async throws(StoreError) -> [SessionID] {
        try await writer.sweep(at: now, limit: limit)
    }

    /// Forgets a session for good, whatever its time, also one that is known to be damaged. Nobody may be using it.
    ///
    /// - Returns: whether it was there.
    /// - Throws: where damage that was not known before is in the way. Then the store is rebuilt when it is opened the next
    ///   time, and the session can be forgotten.
    public func forget(_ id: SessionID) async throws(StoreError) -> Bool {
        do throws(StoreError) {
            // Without its row in the table sessions, rows of the journal would stay, and bring it back in a rebuild.
            if tail.withLock({ $0.damaged[id] == nil }) { _ = try await load(id, token: nil) }
            return try await writer.forget(id)
        } catch {
            if error != .full { troubles.report(.derived("session \(id.text) cannot be forgotten yet")) }
            throw error
        }
    }

    public func close() async {
        await watch.close()
        await reader.close()
        await writer.close()
        directory.unlock()
    }
}

/// Why a store cannot be opened.
public enum SQLiteStoreError: Error, Equatable, Sendable {
    /// There is none.
    case missing
    /// Another process has it.
    case inUse(path: String)
    /// A newer build of this program has written it.
    case newer(schema: Int)
    /// What is there is not what was written.
    case damaged(String)
    /// The system refuses.
    case unavailable(reason: String)
}
