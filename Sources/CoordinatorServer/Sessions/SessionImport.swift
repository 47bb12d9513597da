internal import FoundationEssentials
internal import Sessions

/// Imports exported sessions into a store. The lines come session by session: its versions in order, then its answers.
/// The first line may be the store's secret.
final class SessionImport {
    private let store: any SessionInserting
    /// The sessions of the lines so far.
    private var known: Set<SessionID> = []
    private(set) var imported = 0
    private(set) var skipped = 0
    private var isFirst = true
    /// The session whose lines are being read; `nil` before the first one, and if it is skipped.
    private var current: (id: SessionID, versions: [SessionRecord], answers: [StoredAnswer])?
    private var isSkipping = false
    private var session: SessionID?
    private var version = 0
    /// Whole sessions to insert, and the number and size of their lines.
    private var waiting: [StoredSession] = []
    private var lines = 0
    private var bytes = 0

    /// Lines, or bytes of lines, after which sessions are inserted; no session is split.
    private static let batchSize = (lines: 1000, bytes: 4 << 20)

    private let latestTime = Date.latestSoundTime

    struct Unfit: Error, CustomStringConvertible {
        let description: String
    }

    init(into store: any SessionInserting) {
        self.store = store
    }

    func close() async { await store.close() }

    /// - Throws: `Unfit`, or what the store throws.
    func take(_ line: [UInt8]) async throws {
        defer { isFirst = false }
        if isFirst, let secret = StoreSecret(parsing: line) { return try await adopt(secret) }
        do {
            try await add(try SessionRecord(parsing: line))
        } catch let error as RecordError {
            guard let answer = try? StoredAnswer(parsing: line) else {
                throw Unfit(description: "not a record: \(error)")
            }
            try add(answer)
        }
        lines += 1
        bytes += line.count
    }

    private func adopt(_ secret: StoreSecret) async throws {
        guard try await store.adopt(secret) else {
            throw Unfit(
                description: """
                    the store has a secret of its own: a secret can be imported only into a store without sessions, on \
                    which no server runs; leave the line out to import the sessions alone
                    """)
        }
    }

    private func add(_ record: SessionRecord) async throws {
        if record.id != session {
            endSession()
            if lines >= SessionImport.batchSize.lines || bytes >= SessionImport.batchSize.bytes { try await insert() }
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
        guard record.identity.createdAt <= latestTime else {
            throw Unfit(description: "its “createdAt” is more than a day ahead of this machine's clock")
        }
        guard record.time <= latestTime else {
            throw Unfit(
                description:
                    "its “time” is more than a day ahead of this machine's clock, \(record.time.formatted(.iso8601))")
        }
        version = record.version
        if isSkipping { return }
        if current == nil { current = (record.id, [], []) }
        current?.versions.append(record)
    }

    private func add(_ answer: StoredAnswer) throws {
        guard answer.session == session else { throw Unfit(description: "an answer without its session") }
        current?.answers.append(answer)
    }

    private func endSession() {
        guard let current else { return }
        let stamp = SessionStamp(version: version)
        waiting.append(
            StoredSession(id: current.id, stamp: stamp, versions: current.versions, answers: current.answers))
        self.current = nil
    }

    /// Inserts the sessions that were read last.
    func finish() async throws {
        endSession()
        try await insert()
    }

    private func insert() async throws {
        let sessions = waiting
        (waiting, lines, bytes) = ([], 0, 0)
        guard !sessions.isEmpty else { return }
        let existing = try await store.insert(sessions)
        imported += sessions.count - existing.count
        skipped += existing.count
    }
}

extension Date {
    /// What is later was written by a clock that is wrong, and a server would go on from there.
    static var latestSoundTime: Date { Date() + 86_400 }
}
