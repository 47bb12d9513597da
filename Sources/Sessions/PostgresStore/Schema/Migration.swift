internal import Postgres
internal import Sessions
internal import Sodium

/// Creates and upgrades the tables. Several programs may do it at once.
enum Migration {
    /// An upgrade may rewrite a large table.
    private static let time = Duration.seconds(3600)

    /// - Returns: the schema's version before; 0 if there was none.
    static func migrate(_ connection: PostgresConnection) throws(PostgresStoreError) -> Int {
        let secret = Sodium.randomBytes(KeyedDigest.keySize)
        try run(connection, Schema.values)
        try run(connection, Schema.firstValues(secret: Hexadecimal.text(of: secret)))
        let before = try StoredValues(connection).schema
        guard before < Schema.version else { return before }
        try run(connection, Schema.creation)
        return before
    }

    private static func run(_ connection: PostgresConnection, _ sql: String) throws(PostgresStoreError) {
        var tries = 0
        while true {
            do throws(PostgresError) {
                try connection.execute(sql, until: .now + time)
                return
            } catch {
                tries += 1
                // Two that create the same table at once collide in the catalogue, in spite of IF NOT EXISTS.
                let isCollision = ["23505", "42P07", "42710", "40001", "40P01", "XX000"].contains(error.state?.code)
                if error.state == "42501" { throw .noSchema }
                guard isCollision, tries < 20 else { throw PostgresStoreError(error) }
                sleep(.milliseconds(50))
            }
        }
    }
}

/// The single values of the store.
struct StoredValues {
    let schema: Int
    let leastReader: Int
    let generation: Int
    let secret: StoreSecret

    /// - Throws: `noSchema` if there are no tables.
    init(_ connection: PostgresConnection) throws(PostgresStoreError) {
        var values: [String: String] = [:]
        do throws(PostgresError) {
            let statement = PostgresStatement("values", "SELECT name, value FROM store")
            let rows = try connection.run(statement, until: .now + .seconds(5))
            for row in rows.indices { values[rows.text(row, 0) ?? ""] = rows.text(row, 1) }
        } catch {
            throw error.state == "42P01" ? .noSchema : PostgresStoreError(error)
        }
        // Somebody else is making the tables at this moment.
        if values.isEmpty { throw .noSchema }
        schema = values["schema"].flatMap { Int($0) } ?? 0
        leastReader = values["least_reader"].flatMap { Int($0) } ?? 0
        generation = values["generation"].flatMap { Int($0) } ?? 1
        guard let secret = Hexadecimal.bytes(of: values["secret"] ?? "").flatMap({ StoreSecret($0) }) else {
            throw .damaged("the store's secret is damaged")
        }
        self.secret = secret
    }

    func check() throws(PostgresStoreError) {
        if schema < Schema.version { throw schema == 0 ? .noSchema : .olderSchema(schema) }
        if leastReader > Schema.version { throw .newerSchema(schema) }
    }
}
