internal import Postgres
internal import Sessions
internal import Sodium

/// Creates and upgrades the tables. Several programs may do it at once.
enum Migration {
    /// An upgrade may rewrite a large table.
    private static let time = Duration.seconds(3600)

    /// - Returns: the schema's version before; 0 if there was none.
    /// - Throws: `foreignTables`, if the tables cannot be made beside others.
    static func migrate(
        _ connection: PostgresConnection, _ limits: TimeLimits = .standard
    ) throws(PostgresStoreError) -> Int {
        let secret = Hexadecimal.text(of: Sodium.randomBytes(KeyedDigest.keySize))
        var tries = 0
        while true {
            let before = try version(connection, limits)
            guard before < Schema.version else { return before }
            do throws(PostgresError) {
                try connection.execute(Schema.creation(secret: secret), until: .now + time)
                return before
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

    /// - Returns: 0 if there is no store, and nothing in its place.
    private static func version(
        _ connection: PostgresConnection, _ limits: TimeLimits
    ) throws(PostgresStoreError) -> Int {
        // Before the values: a store that another program makes meanwhile must not look like foreign tables.
        let rows = try PostgresStoreError.translating { () throws(PostgresError) in
            try connection.run(taken, [.texts(Schema.tables)], until: .now + .seconds(5) + limits.extra)
        }
        let names = rows.indices.compactMap { rows.text($0, 0) }
        do throws(PostgresStoreError) {
            return try StoredValues(connection, limits).schema
        } catch {
            guard error == .noSchema else { throw error }
            guard names.isEmpty else { throw .foreignTables(names) }
            return 0
        }
    }

    /// Whatever has one of these names where tables would be made.
    private static let taken = PostgresStatement(
        "taken",
        """
        SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = current_schema() AND c.relname = ANY ($1::text[]) ORDER BY 1
        """)
}

/// The single values of the store.
struct StoredValues {
    let schema: Int
    let leastReader: Int
    let generation: Int
    let secret: StoreSecret

    /// - Throws: `noSchema` if there are no tables, or only such as are not of a store.
    init(_ connection: PostgresConnection, _ limits: TimeLimits = .standard) throws(PostgresStoreError) {
        var values: [String: String] = [:]
        do throws(PostgresError) {
            let statement = PostgresStatement("values", "SELECT name::text, value::text FROM store")
            let rows = try connection.run(statement, until: .now + .seconds(5) + limits.extra)
            for row in rows.indices { values[rows.text(row, 0) ?? ""] = rows.text(row, 1) }
        } catch {
            // No such table, or a table without these columns.
            throw error.state == "42P01" || error.state == "42703" ? .noSchema : PostgresStoreError(error)
        }
        if values["schema"] == nil { throw .noSchema }
        schema = try StoredValues.number("schema", in: values)
        leastReader = try StoredValues.number("least_reader", in: values)
        generation = try StoredValues.number("generation", in: values)
        guard let secret = Hexadecimal.bytes(of: values["secret"] ?? "").flatMap({ StoreSecret($0) }) else {
            throw .damaged("the store's secret is damaged")
        }
        self.secret = secret
    }

    private static func number(_ name: String, in values: [String: String]) throws(PostgresStoreError) -> Int {
        guard let value = values[name] else {
            throw .damaged("the store is damaged: its table store has no row “\(name)”")
        }
        guard let number = Int(value) else {
            throw .damaged("the store is damaged: in its table store, “\(name)” is “\(value)”, which is no number")
        }
        return number
    }

    func check() throws(PostgresStoreError) {
        if schema < Schema.version { throw schema == 0 ? .noSchema : .olderSchema(schema) }
        if leastReader > Schema.version { throw .newerSchema(schema) }
    }
}
