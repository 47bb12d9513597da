internal import Postgres
public import Sessions

/// Reads a database for a command, on a connection of its own and without changing anything, whether or not servers are
/// using it. Each call sees one moment.
///
/// Used by one thread at a time, which it blocks.
public final class PostgresSnapshot {
    private let connection: PostgresConnection
    /// See `SessionStore.secret`.
    public let secret: [UInt8]
    private let generation: Int

    /// What is wrong with the stored data of a session.
    public struct Damage: Error {
        public let what: String
    }

    /// A session that was looked for: `nil` if there is none.
    public typealias Found<Value> = (id: SessionID, value: Result<Value?, Damage>)

    /// How long a query may take.
    private static let time = Duration.seconds(60)

    /// - Parameters: as of `PostgresStore.open`.
    /// - Throws: `noSchema`, if there are no tables; none are created.
    public init(uri: String, password: String? = nil) throws(PostgresStoreError) {
        connection = try StoreOpening.connect(try StoreOpening.settings(uri, password))
        let values = try StoredValues(connection)
        try values.check()
        secret = values.secret
        generation = values.generation
        // Plans must not depend on statistics, which a new table does not have.
        let setup = "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off"
        do throws(PostgresError) {
            try connection.execute(setup, until: .now + PostgresSnapshot.time)
        } catch {
            throw PostgresStoreError(error)
        }
    }

    /// About how many sessions there are.
    public func sessionCount() throws(PostgresStoreError) -> Int {
        try run(ReplicaQueries.count, []).integer(0, 0) ?? 0
    }

    /// Sessions in order, ended, expired and damaged ones included.
    ///
    /// - Parameter last: the last session of the page before; `nil` for the first page.
    /// - Returns: no sessions at the end.
    public func page(after last: SessionID?, limit: Int = 10_000) throws(PostgresStoreError) -> [SessionID] {
        PastQueries.ids(try run(PostgresSnapshot.page, [.text(last?.text ?? ""), .integer(limit)]))
    }

    /// The sessions that a user is signed in to, in order.
    public func sessions(ofUser user: String) throws(PostgresStoreError) -> [SessionID] {
        PastQueries.ids(try run(PastQueries.sessionsOfUser, [.text(user)])).sorted { $0.text < $1.text }
    }

    /// The last versions of sessions.
    public func loaded(_ ids: ArraySlice<SessionID>) throws(PostgresStoreError) -> [Found<LoadedSession>] {
        let tokens = [[UInt8]?](repeating: nil, count: ids.count)
        let rows = try run(
            SessionRow.statement, [.texts(ids.map(\.text)), .byteStrings(tokens), .integer(.max)])
        var found: [SessionID: Result<LoadedSession?, Damage>] = [:]
        for row in rows.indices {
            guard let position = rows.integer(row, 0), (1...ids.count).contains(position) else { continue }
            let id = ids[ids.startIndex + position - 1]
            found[id] = PostgresSnapshot.sound { () throws(StoreError) in
                try SessionRow(rows, row, of: id)?.loaded(id)
            }
        }
        return ids.map { ($0, found[$0] ?? .success(nil)) }
    }

    /// Everything that is kept of sessions.
    public func contents(of ids: ArraySlice<SessionID>) throws(PostgresStoreError) -> [Found<StoredSession>] {
        let rows = ContentRows(try run(ContentRows.statement, [.texts(ids.map(\.text))]))
        return ids.map { id in
            (id, PostgresSnapshot.sound { () throws(StoreError) in try rows.session(id, generation: generation) })
        }
    }

    private static let page = PostgresStatement(
        "page", "SELECT id FROM sessions WHERE id > $1 ORDER BY id LIMIT $2")

    private static func sound<Value>(_ read: () throws(StoreError) -> Value) -> Result<Value, Damage> {
        do throws(StoreError) { return .success(try read()) } catch { return .failure(Damage(what: error.description)) }
    }

    private func run(
        _ statement: PostgresStatement, _ values: [PostgresValue]
    ) throws(PostgresStoreError) -> PostgresRows {
        do throws(PostgresError) {
            return try connection.run(statement, values, until: .now + PostgresSnapshot.time)
        } catch {
            throw PostgresStoreError(error)
        }
    }
}

extension PostgresStore {
    /// The database of a URI without secrets, for people.
    ///
    /// - Throws: `unusableURI`, also for a URI with a password.
    public static func location(of uri: String) throws(PostgresStoreError) -> String {
        try StoreOpening.settings(uri, nil).description
    }
}
