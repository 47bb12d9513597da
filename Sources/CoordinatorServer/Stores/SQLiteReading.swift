internal import ArgumentParser
internal import SQLiteStore
internal import Sessions

/// Reads a store in a file.
final class SQLiteReading: StoreReading {
    private let snapshot: StoreSnapshot
    private let directory: String
    /// How many sessions were listed.
    private var count: Int?

    init(directory: String) throws {
        self.directory = directory
        do throws(SQLiteStoreError) { snapshot = try StoreSnapshot(directory: directory) } catch {
            throw ExitCode.cannotRead(directory, error)
        }
    }

    func sessionCount() throws -> Int { try count ?? reading(snapshot.sessions).count }

    /// All of them: they are in memory anyway.
    func page(after last: SessionID?) throws -> SessionPage {
        guard last == nil else { return SessionPage(sessions: [], isWhole: true) }
        let (sessions, isWhole) = try reading(snapshot.listing)
        count = sessions.count
        return SessionPage(sessions: sessions, isWhole: isWhole)
    }

    func sessions(ofUser user: String) throws -> [SessionID] {
        try reading { () throws(SQLiteStoreError) in try snapshot.sessions(ofUser: user) }
    }

    func loaded(_ ids: ArraySlice<SessionID>) throws -> [Found<LoadedSession>] {
        try each(ids) { id throws(SQLiteStoreError) in
            try snapshot.load(id).map { record in
                LoadedSession(record: record, stamp: SessionStamp(version: record.version), answeredKeys: [])
            }
        }
    }

    func contents(of ids: ArraySlice<SessionID>) throws -> [Found<StoredSession>] {
        try each(ids) { id throws(SQLiteStoreError) in
            let versions = try snapshot.versions(of: id)
            let answers = try snapshot.answers(of: id)
            if versions.isEmpty, answers.isEmpty { return nil }
            let stamp = SessionStamp(version: versions.last?.version ?? 0)
            return StoredSession(id: id, stamp: stamp, versions: versions, answers: answers)
        }
    }

    func checked(_ ids: ArraySlice<SessionID>, withPast: Bool) throws -> [Found<SessionRecord>] {
        let found = try reading { () throws(SQLiteStoreError) in try snapshot.last(of: ids, withPast: withPast) }
        return found.map { ($0.id, $0.found.mapError { SessionDamage(what: $0.what) }) }
    }

    func secret() throws -> StoreSecret {
        let bytes = try reading { () throws(SQLiteStoreError) in try snapshot.secret() }
        guard let secret = StoreSecret(bytes) else { throw ExitCode.cannotRead(directory, .damaged("its secret")) }
        return secret
    }

    func cannotRead(_ id: SessionID, _ damage: SessionDamage) -> ExitCode {
        .cannotRead(directory, .damaged(damage.what))
    }

    var damage: String? { snapshot.logDamage }

    func damagedPages() -> [Int] { snapshot.damagedPages() }

    private func each<Value>(
        _ ids: ArraySlice<SessionID>, _ read: (SessionID) throws(SQLiteStoreError) -> Value?
    ) throws -> [Found<Value>] {
        try ids.map { id in
            do throws(SQLiteStoreError) { return (id, .success(try read(id))) } catch {
                guard case .damaged(let what) = error else { throw ExitCode.cannotRead(directory, error) }
                return (id, .failure(SessionDamage(what: what)))
            }
        }
    }

    private func reading<Value>(_ body: () throws(SQLiteStoreError) -> Value) throws -> Value {
        do throws(SQLiteStoreError) { return try body() } catch { throw ExitCode.cannotRead(directory, error) }
    }
}
