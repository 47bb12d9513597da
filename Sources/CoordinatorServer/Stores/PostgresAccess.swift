#if Postgres
    internal import ArgumentParser
    internal import Glibc
    internal import PostgresStore
    internal import Sessions

    /// A database as the command line names it.
    struct PostgresAddress: Sendable {
        let uri: String
        let password: String?

        /// Without secrets.
        var location: String { (try? PostgresStore.location(of: uri)) ?? "postgresql://" }

        /// - Throws: an exit code, after printing the reason to standard error.
        func open(
            _ durability: PostgresStore.Durability, _ retention: Retention,
            report: @escaping @Sendable (_ text: String, _ isCritical: Bool) -> Void
        ) async throws -> PostgresStore {
            do throws(PostgresStoreError) {
                return try await PostgresStore.open(
                    uri: uri, password: password, durability: durability, retention: retention, report: report)
            } catch {
                throw ExitCode.cannotUse(location, error)
            }
        }

        /// - Throws: an exit code, after printing the reason to standard error.
        func reading<Value>(_ body: () throws(PostgresStoreError) -> Value) throws -> Value {
            do throws(PostgresStoreError) { return try body() } catch { throw ExitCode.cannotUse(location, error) }
        }
    }

    /// Reads a database.
    final class PostgresReading: StoreReading {
        private let address: PostgresAddress
        private let snapshot: PostgresSnapshot

        init(_ address: PostgresAddress) throws {
            self.address = address
            snapshot = try address.reading { () throws(PostgresStoreError) in
                try PostgresSnapshot(uri: address.uri, password: address.password)
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

    extension PostgresStore: StoreWriting {}

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
#endif
