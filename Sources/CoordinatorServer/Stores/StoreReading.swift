internal import ArgumentParser
internal import Glibc
internal import PostgresStore
internal import SQLiteStore
internal import Sessions

/// A store as commands read it, whether or not servers use it. Both kinds of store fulfil it.
///
/// Used by one thread at a time, which it blocks. What a method throws is an exit code, after the reason was printed to
/// standard error; damage of single sessions is part of the results.
protocol StoreReading: AnyObject {
    /// About how many sessions there are.
    func sessionCount() throws -> Int

    /// Sessions in order, ended, expired and damaged ones included.
    ///
    /// - Parameter last: the last session of the page before; `nil` for the first page.
    /// - Returns: no sessions at the end.
    func page(after last: SessionID?) throws -> SessionPage

    /// The sessions that a user is signed in to, in order. Some may be another user's by now.
    func sessions(ofUser user: String) throws -> [SessionID]

    /// The last versions of sessions.
    func loaded(_ ids: ArraySlice<SessionID>) throws -> [Found<LoadedSession>]

    /// Everything that is kept of sessions.
    func contents(of ids: ArraySlice<SessionID>) throws -> [Found<StoredSession>]

    /// The last versions of sessions, whose answers are read, too, to find damage.
    ///
    /// - Parameter withPast: whether the earlier versions are read as well.
    func checked(_ ids: ArraySlice<SessionID>, withPast: Bool) throws -> [Found<SessionRecord>]

    /// See `SessionStore.secret`.
    func secret() throws -> StoreSecret

    /// A command that needs a session cannot read it: prints why to standard error.
    func cannotRead(_ id: SessionID, _ damage: SessionDamage) -> ExitCode

    /// Why what servers have acknowledged may not be seen here; `nil` if it is.
    var damage: String? { get }

    /// The numbers of the damaged pages of the store's file.
    ///
    /// - Parameter progress: receives how many bytes are done, and how many there are.
    func damagedPages(_ progress: (Int, Int) -> Void) -> [Int]
}

extension StoreReading {
    var damage: String? { nil }

    func damagedPages(_ progress: (Int, Int) -> Void) -> [Int] { [] }
}

/// A session that was looked for: `nil` if there is none.
typealias Found<Value> = (id: SessionID, value: Result<Value?, SessionDamage>)

/// What is wrong with the stored data of a session.
struct SessionDamage: Error {
    let what: String
}

struct SessionPage {
    let sessions: [SessionID]
    /// Whether the list is certainly complete: damage may hide sessions.
    let isWhole: Bool
}

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

/// Reads a database.
final class PostgresReading: StoreReading {
    private let address: PostgresAddress
    private let snapshot: PostgresSnapshot

    init(_ address: PostgresAddress) throws {
        self.address = address
        do throws(PostgresStoreError) {
            snapshot = try PostgresSnapshot(uri: address.uri, password: address.password)
        } catch .noSchema {
            throw ExitCode.cannotStart(
                EX_NOINPUT,
                "there is no store in \(address.location); name another database, or run `coordinatord migrate` first"
            )
        } catch {
            throw ExitCode.cannotUse(address.location, error)
        }
    }

    func sessionCount() throws -> Int { try address.reading(snapshot.sessionCount) }

    func page(after last: SessionID?) throws -> SessionPage {
        let sessions = try address.reading { () throws(PostgresStoreError) in try snapshot.page(after: last) }
        return SessionPage(sessions: sessions, isWhole: true)
    }

    func sessions(ofUser user: String) throws -> [SessionID] {
        try address.reading { () throws(PostgresStoreError) in try snapshot.sessions(ofUser: user) }
    }

    func loaded(_ ids: ArraySlice<SessionID>) throws -> [Found<LoadedSession>] {
        try found { () throws(PostgresStoreError) in try snapshot.loaded(ids) }
    }

    func contents(of ids: ArraySlice<SessionID>) throws -> [Found<StoredSession>] {
        try found { () throws(PostgresStoreError) in try snapshot.contents(of: ids) }
    }

    /// All versions are read in any case: they are in the same query.
    func checked(_ ids: ArraySlice<SessionID>, withPast: Bool) throws -> [Found<SessionRecord>] {
        try contents(of: ids).map { ($0.id, $0.value.map { $0?.versions.last }) }
    }

    func secret() throws -> StoreSecret {
        guard let secret = StoreSecret(snapshot.secret) else {
            throw ExitCode.cannotUse(address.location, .damaged("the store's secret is damaged"))
        }
        return secret
    }

    func cannotRead(_ id: SessionID, _ damage: SessionDamage) -> ExitCode {
        .cannotStart(EX_DATAERR, "session \(id.text) is damaged: \(damage.what)")
    }

    private func found<Value>(
        _ read: () throws(PostgresStoreError) -> [PostgresSnapshot.Found<Value>]
    ) throws -> [Found<Value>] {
        try address.reading(read).map { ($0.id, $0.value.mapError { SessionDamage(what: $0.what) }) }
    }
}
