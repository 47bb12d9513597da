internal import ArgumentParser
internal import Glibc
internal import PostgresStore
internal import Sessions

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
