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
