internal import SQLiteStore
internal import Sessions

/// Puts whole sessions into a file. The store is opened for the first of them, so that lines which cannot be imported
/// create no store.
final class SQLiteInsertion: SessionInserting {
    /// Opens the store, and lists the sessions that it has already. A store that is created gets the secret.
    private let open: (StoreSecret?) throws -> (SQLiteStore, [SessionID])
    private var opened: (store: SQLiteStore, existing: Set<SessionID>)?
    private let storedSecret: () throws -> StoreSecret?
    private var secret: StoreSecret?

    /// - Parameter storedSecret: reads the secret of a store that exists.
    init(
        storedSecret: @escaping () throws -> StoreSecret?,
        open: @escaping (StoreSecret?) throws -> (SQLiteStore, [SessionID])
    ) {
        self.storedSecret = storedSecret
        self.open = open
    }

    func adopt(_ secret: StoreSecret) throws -> Bool {
        self.secret = secret
        return try storedSecret().map { $0 == secret } ?? true
    }

    func insert(_ sessions: [StoredSession]) async throws -> Set<SessionID> {
        let (store, existing) = try openedStore()
        let changes = sessions.filter { !existing.contains($0.id) }.flatMap(SQLiteInsertion.changes)
        let conflicts = changes.isEmpty ? [] : try await store.commit(changes).get()
        guard conflicts.isEmpty else {
            throw SessionImport.Unfit(description: "session \(conflicts[0].id.text) exists already")
        }
        return existing.intersection(sessions.map(\.id))
    }

    func close() async { await opened?.store.close() }

    private static func changes(_ session: StoredSession) -> [SessionChange] {
        var version = 0
        var changes: [SessionChange] = []
        for record in session.versions {
            let stamp = SessionStamp(version: version)
            changes.append(SessionChange(id: session.id, expected: stamp, record: record.encoded))
            version = record.version
        }
        let stamp = SessionStamp(version: version)
        return changes
            + session.answers.map { SessionChange(id: session.id, expected: stamp, record: nil, answer: $0) }
    }

    private func openedStore() throws -> (store: SQLiteStore, existing: Set<SessionID>) {
        if let opened { return opened }
        let (store, sessions) = try open(secret)
        let opened = (store: store, existing: Set(sessions))
        self.opened = opened
        return opened
    }
}
