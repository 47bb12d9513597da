internal import ArgumentParser
internal import Glibc
internal import PostgresStore
internal import SQLiteStore
internal import Sessions

/// A store as commands change it. On one that is not shared, no server may run.
protocol StoreWriting: SessionStore {
    /// Forgets a session permanently, even if it is damaged.
    ///
    /// - Returns: whether the session existed.
    func forget(_ id: SessionID) async throws(StoreError) -> Bool
}

extension SQLiteStore: StoreWriting {}

/// Changes were not committed: why.
struct NotCommitted: Error {
    let reason: String
}

extension StoreWriting {
    /// Commits changes of sessions. Those that a server has changed meanwhile are read and changed again.
    ///
    /// - Parameter make: reads the sessions that it is given, and returns at most one change for each.
    /// - Returns: how many changes were committed.
    /// - Throws: `NotCommitted`, and what `make` throws.
    func change(
        _ ids: [SessionID], _ make: ([SessionID]) async throws -> [SessionChange]
    ) async throws -> Int {
        var ids = ids
        var count = 0
        for tries in 1... {
            let changes = try await make(ids)
            ids = try await conflicts(of: changes)
            count += changes.count - ids.count
            if ids.isEmpty { break }
            guard isShared, tries < 10 else { throw NotCommitted(reason: "they are being changed") }
            try await Task.sleep(for: .milliseconds(tries * Int.random(in: 10...50)))
        }
        return count
    }

    private func conflicts(of changes: [SessionChange]) async throws -> [SessionID] {
        // A shared store has a line of its own that servers share, so this takes little of it at a time.
        let size = isShared ? 500 : max(changes.count, 1)
        var conflicts: [SessionID] = []
        for start in stride(from: 0, to: changes.count, by: size) {
            switch await commit(Array(changes[start...].prefix(size))) {
            case .success(let found): conflicts += found.map(\.id)
            case .failure(let error): throw NotCommitted(reason: error.description)
            }
        }
        return conflicts
    }
}

/// Puts whole sessions into a store.
protocol SessionInserting {
    /// Gives the store its secret, which is possible as long as it has no sessions, or if it is the store's own.
    ///
    /// - Returns: `false` if the store keeps another one.
    func adopt(_ secret: StoreSecret) async throws -> Bool

    /// Inserts sessions, each whole or not at all.
    ///
    /// - Returns: those that exist already, and stay as they are.
    func insert(_ sessions: [StoredSession]) async throws -> Set<SessionID>

    func close() async
}

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

/// Puts whole sessions into a database.
final class PostgresInserting: SessionInserting {
    private let address: PostgresAddress
    private var opened: PostgresInsertion?

    init(_ address: PostgresAddress) { self.address = address }

    func adopt(_ secret: StoreSecret) throws -> Bool {
        let insertion = try insertion()
        return try address.reading { () throws(PostgresStoreError) in try insertion.adopt(secret: secret.bytes) }
    }

    func insert(_ sessions: [StoredSession]) throws -> Set<SessionID> {
        let insertion = try insertion()
        return try address.reading { () throws(PostgresStoreError) in try insertion.insert(sessions) }
    }

    func close() {}

    private func insertion() throws -> PostgresInsertion {
        if let opened { return opened }
        let insertion = try address.reading { () throws(PostgresStoreError) in
            try PostgresInsertion(uri: address.uri, password: address.password)
        }
        opened = insertion
        return insertion
    }
}

extension PostgresAddress {
    /// Makes or upgrades the tables, and prints what it did.
    func migrate(contracting: Bool) async throws {
        do throws(PostgresStoreError) {
            let (before, after) = try await PostgresStore.migrate(uri: uri, password: password)
            print("\(location): \(PostgresAddress.description(before, after))")
            guard contracting else { return }
            let (oldest, newOldest) = try await PostgresStore.contract(uri: uri, password: password)
            print(
                oldest == newOldest
                    ? "contracted: nothing was left to remove"
                    : "contracted: servers of schemas before \(newOldest) are shut out")
        } catch .noSchema {
            throw ExitCode.cannotStart(
                EX_NOPERM,
                """
                \(location): this role may not create tables: run this as the database's owner, or GRANT \
                CREATE ON SCHEMA public to the role
                """)
        } catch {
            throw ExitCode.cannotUse(location, error)
        }
    }

    private static func description(_ before: Int, _ after: Int) -> String {
        switch before {
        case 0: "the tables of schema \(after) were made"
        case after: "the tables have schema \(after) already"
        case ..<after: "the tables were upgraded from schema \(before) to \(after)"
        default: "the tables have schema \(before), which is newer than this program's"
        }
    }
}
