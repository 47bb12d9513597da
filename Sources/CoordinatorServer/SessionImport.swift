internal import FoundationEssentials
internal import SQLiteStore
internal import Sessions

/// Imports exported sessions into a store. The lines come session by session: its versions in order, then its answers.
final class SessionImport {
    /// Opens the store, and lists the sessions that it has already.
    private let open: () throws -> (SQLiteStore, [SessionID])
    /// Opened for the first commit, so that lines which cannot be imported create no store.
    private var opened: (store: SQLiteStore, existing: Set<SessionID>)?
    /// The sessions of the lines so far.
    private var known: Set<SessionID> = []
    private(set) var imported = 0
    private(set) var skipped = 0
    private var session: SessionID?
    private var version = 0
    private var isSkipping = false
    private var changes: [SessionChange] = []

    /// Changes after which a commit is due; no session is split between two commits.
    private static let batchSize = 1000

    struct Unfit: Error, CustomStringConvertible {
        let description: String
    }

    init(into open: @escaping () throws -> (SQLiteStore, [SessionID])) {
        self.open = open
    }

    func close() async { await opened?.store.close() }

    /// - Throws: `Unfit`, or what the store throws.
    func take(_ line: [UInt8]) async throws {
        do {
            try await add(try SessionRecord(parsing: line))
        } catch let error as RecordError {
            guard let answer = try? StoredAnswer(parsing: line) else {
                throw Unfit(description: "not a record: \(error)")
            }
            try add(answer)
        }
    }

    private func add(_ record: SessionRecord) async throws {
        if record.id != session {
            if changes.count >= SessionImport.batchSize { try await finish() }
            session = record.id
            version = 0
            isSkipping = !known.insert(record.id).inserted
            if isSkipping { skipped += 1 }
        }
        guard version == 0 || record.version == version + 1 else {
            throw Unfit(description: "version \(record.version) follows version \(version)")
        }
        guard record.version <= SessionRecord.importLimit else {
            throw Unfit(description: "not a record: its “version” is out of range")
        }
        add(SessionChange(id: record.id, expected: SessionStamp(version: version), record: record.encoded))
        version = record.version
    }

    private func add(_ answer: StoredAnswer) throws {
        guard answer.session == session else { throw Unfit(description: "an answer without its session") }
        add(SessionChange(id: answer.session, expected: SessionStamp(version: version), record: nil, answer: answer))
    }

    private func add(_ change: SessionChange) {
        if !isSkipping { changes.append(change) }
    }

    /// Commits the changes that were added last.
    func finish() async throws {
        defer { changes = [] }
        guard !changes.isEmpty else { return }
        let (store, existing) = try openedStore()
        let new = changes.filter { !existing.contains($0.id) }
        let conflicts = new.isEmpty ? [] : try await store.commit(new).get()
        guard conflicts.isEmpty else { throw Unfit(description: "session \(conflicts[0].id.text) exists already") }
        let count = Set(new.map(\.id)).count
        imported += count
        skipped += Set(changes.map(\.id)).count - count
    }

    private func openedStore() throws -> (store: SQLiteStore, existing: Set<SessionID>) {
        if let opened { return opened }
        let (store, sessions) = try open()
        let opened = (store: store, existing: Set(sessions))
        self.opened = opened
        return opened
    }
}
