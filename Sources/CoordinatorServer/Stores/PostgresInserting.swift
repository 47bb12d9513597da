internal import PostgresStore
internal import Sessions

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
