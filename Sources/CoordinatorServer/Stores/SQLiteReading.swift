internal import ArgumentParser
internal import SQLiteStore
internal import Sessions

/// Reads a store in a file.
final class SQLiteReading: StoreReading {
    private let snapshot: StoreSnapshot
    /// Prints to standard error why the store cannot be read.
    private let cannotRead: (SQLiteStoreError) -> ExitCode
    /// How many sessions were listed.
    private var count: Int?

    convenience init(directory: String) throws {
        let cannotRead = { ExitCode.cannotRead(directory, $0) }
        do throws(SQLiteStoreError) {
            self.init(try StoreSnapshot(directory: directory), cannotRead)
        } catch {
            throw cannotRead(error)
        }
    }

    /// Reads a backup.
    convenience init(backup file: String) throws {
        let cannotRead = { ExitCode.cannotRestore(file, $0) }
        do throws(SQLiteStoreError) {
            self.init(try StoreSnapshot(file: file), cannotRead)
        } catch {
            throw cannotRead(error)
        }
    }

    private init(_ snapshot: StoreSnapshot, _ cannotRead: @escaping (SQLiteStoreError) -> ExitCode) {
        self.snapshot = snapshot
        self.cannotRead = cannotRead
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
        guard let secret = StoreSecret(bytes) else { throw cannotRead(.damaged("its secret")) }
        return secret
    }

    func cannotRead(_ id: SessionID, _ damage: SessionDamage) -> ExitCode {
        cannotRead(.damaged(damage.what))
    }

    var damage: String? { snapshot.logDamage }

    func damagedPages(_ progress: (Int, Int) -> Void) -> [Int] { snapshot.damagedPages(progress) }

    private func each<Value>(
        _ ids: ArraySlice<SessionID>, _ read: (SessionID) throws(SQLiteStoreError) -> Value?
    ) throws -> [Found<Value>] {
        try ids.map { id in
            do throws(SQLiteStoreError) { return (id, .success(try read(id))) } catch {
                guard case .damaged(let what) = error else { throw cannotRead(error) }
                return (id, .failure(SessionDamage(what: what)))
            }
        }
    }

    private func reading<Value>(_ body: () throws(SQLiteStoreError) -> Value) throws -> Value {
        do throws(SQLiteStoreError) { return try body() } catch { throw cannotRead(error) }
    }
}
