import Foundation
import Sessions
import TestSupport
import Testing

@testable import PostgresStore

@Suite struct SchemaTests {
    @Test func `many that open an empty database at once make its tables together`() async throws {
        let database = try await Database()

        let secrets = try await withThrowingTaskGroup(of: [UInt8].self) { group in
            for _ in 0..<8 {
                group.addTask {
                    let store = try await database.open()
                    await store.close()
                    return store.secret
                }
            }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }

        #expect(secrets.count == 1)
        #expect(try await database.query("SELECT count(DISTINCT l) FROM replicas, unnest(lanes) AS l") == "16")
        #expect(try await database.migrate() == (Schema.version, Schema.version))
    }

    @Test func `a server whose store got another secret meanwhile commits nothing any more, and says why`() async throws
    {
        let database = try await Database()
        let frozen = try await database.open()
        // As `sessions import` does while the server counts as gone.
        try await database.query("UPDATE store SET value = repeat('ab', 32) WHERE name = 'secret'")

        let outcome = await frozen.commit([try .make(.make(1))])

        #expect(outcome != .success([]))
        #expect(try await database.query("SELECT count(*) FROM sessions") == "0")
        try await eventually { frozen.condition.failure == "the store's secret was replaced" }
        let late = await frozen.commit([try .make(.make(1))])
        #expect(late == .failure(.unavailable(reason: StoreState.oldSecret)))
        #expect(database.reports.all.contains { $0.hasPrefix(StoreState.oldSecret) })
        await frozen.close()
        let restarted = try await database.open()
        #expect(restarted.secret == [UInt8](repeating: 0xAB, count: 32))
        let committed = await restarted.commit([try .make(.make(1))])
        #expect(committed == .success([]))
        await restarted.close()
    }

    @Test func `a schema that is too old or too new is refused, and one that it can work with is not`() async throws {
        let database = try await Database()
        #expect(try await database.migrate() == (0, Schema.version))
        try await database.open().close()

        try await database.query("UPDATE store SET value = '7' WHERE name = 'schema'")
        try await database.open().close()

        try await database.query("UPDATE store SET value = '7' WHERE name = 'least_reader'")
        let newer = await #expect(throws: PostgresStoreError.self) { _ = try await database.open() }
        #expect(newer == .newerSchema(7))
        await #expect(throws: PostgresStoreError.newerSchema(7)) {
            try await database.migrate()
        }

        try await database.query("UPDATE store SET value = '0' WHERE name IN ('least_reader', 'schema')")
        try await database.query(
            "CREATE ROLE reader_\(database.name) LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader_\(database.name)"
        )
        let uri = database.uri.replacing("postgres@", with: "reader_\(database.name)@")
        let older = await #expect(throws: PostgresStoreError.self) {
            _ = try await PostgresStore.open(uri: uri, durability: .relaxed, limits: .hours)
        }
        #expect("\(older!)".contains("coordinatord migrate"))
    }

    @Test func `a database of schema 1 gets what is new, while servers of that schema use it`() async throws {
        let database = try await Database()
        try await database.migrate()
        try await database.query(
            "ALTER TABLE pairings DROP COLUMN role; UPDATE store SET value = '1' WHERE name = 'schema'")
        #expect(try await database.migrate() == (1, Schema.version))
        let columns =
            "SELECT count(*) FROM information_schema.columns WHERE table_name = 'pairings' AND column_name = 'role'"
        #expect(try await database.query(columns) == "1")
        #expect(try await database.query("SELECT value FROM store WHERE name = 'least_reader'") == "1")
        try await database.open().close()
    }

    @Test(arguments: [
        ("CREATE TABLE journal (id int)", "journal"),
        ("CREATE TABLE replicas (id int); CREATE VIEW pairings AS SELECT 1", "pairings, replicas"),
        ("CREATE TABLE store (name text PRIMARY KEY, value text); INSERT INTO store VALUES ('theme', 'dark')", "store"),
        ("CREATE TABLE store (id int)", "store"),
        ("CREATE TABLE sessions (id int); ALTER TABLE sessions OWNER TO pg_monitor", "sessions"),
    ])
    func `no store is made beside tables of others that have its names, and nothing is changed`(
        others: String, names: String
    ) async throws {
        let database = try await Database()
        try await database.query(others)
        let tables =
            "SELECT string_agg(relname || ' ' || relnatts, ',' ORDER BY relname) FROM pg_class WHERE oid > 16384"
        let before = try await database.query(tables)

        let refusal = PostgresStoreError.foreignTables(names.components(separatedBy: ", "))
        await #expect(throws: refusal) { try await database.migrate() }
        await #expect(throws: refusal) { _ = try await database.open() }

        #expect("\(refusal)".contains("names of its tables: \(names). Nothing was changed"))
        #expect(try await database.query(tables) == before)
    }

    @Test func `what cannot be made whole is not made at all`() async throws {
        let database = try await Database()
        // A type of this name is in the way of the table; no table is.
        try await database.query("CREATE DOMAIN pairings AS int")

        await #expect(throws: PostgresStoreError.self) { try await database.migrate() }

        #expect(try await database.query("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == "0")
        try await database.query("DROP DOMAIN pairings")
        #expect(try await database.migrate() == (0, Schema.version))
        let tables = Schema.tables.sorted().joined(separator: "\n")
        #expect(
            try await database.query("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1") == tables
        )
    }

    @Test(arguments: [
        ("UPDATE store SET value = 'abc' WHERE name = 'schema'", "“schema” is “abc”, which is no number"),
        ("UPDATE store SET value = '' WHERE name = 'least_reader'", "“least_reader” is “”"),
        ("DELETE FROM store WHERE name = 'generation'", "no row “generation”"),
        ("DELETE FROM store WHERE name = 'secret'", "the store's secret is damaged"),
    ])
    func `a store whose single values are damaged is neither opened nor mended`(
        damage: String, reason: String
    ) async throws {
        let database = try await Database()
        try await database.migrate()
        try await database.query(damage)
        let values = try await database.query("SELECT * FROM store ORDER BY name")

        let opening = await #expect(throws: PostgresStoreError.self) { _ = try await database.open() }
        let migration = await #expect(throws: PostgresStoreError.self) {
            try await database.migrate()
        }

        guard case .damaged(let text) = opening else {
            throw TestFailure("the error is \(String(describing: opening))")
        }
        #expect(text.contains(reason))
        #expect(migration == opening)
        #expect(try await database.query("SELECT * FROM store ORDER BY name") == values)
    }

    @Test func `commits that do not wait for the synchronous standby are refused, too`() async throws {
        let cluster = try await blocking { try PostgresCluster(isDurable: true) }
        let uri = cluster.uri()
        try await cluster.query("ALTER ROLE postgres SET synchronous_commit = local")
        // Without a standby, the setting makes no difference.
        let store = try await PostgresStore.open(uri: uri, limits: .hours)
        await store.close()

        try await cluster.query("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
        try await cluster.reload()
        try await eventually { try await cluster.query("SHOW synchronous_standby_names") == "standby" }

        await #expect(throws: PostgresStoreError.relaxed(["synchronous_commit = local"])) {
            _ = try await PostgresStore.open(uri: uri, limits: .hours)
        }
    }

    @Test func `a server that may lose commits is refused, unless that is accepted`() async throws {
        let database = try await Database()

        let error = await #expect(throws: PostgresStoreError.self) {
            _ = try await PostgresStore.open(uri: database.uri, limits: .hours)
        }
        let store = try await database.open()

        #expect(error == .relaxed(["fsync = off", "full_page_writes = off", "synchronous_commit = off"]))
        #expect(store.name == "postgres-relaxed")
        #expect(store.condition.failure == nil && store.condition.remarks.count == 1)
        await store.close()
    }

    @Test func `a database that cannot be reached, or a URI with a password, is refused`() async throws {
        for uri in ["postgresql://postgres@127.0.0.1:1/d", "postgresql://a:hush@127.0.0.1/d", "nonsense"] {
            let error = await #expect(throws: PostgresStoreError.self) { _ = try await PostgresStore.open(uri: uri) }
            #expect(!"\(error!)".contains("hush"))
        }
    }
}

extension Database {
    var name: String { String(uri.split(separator: "/").last ?? "") }
}
