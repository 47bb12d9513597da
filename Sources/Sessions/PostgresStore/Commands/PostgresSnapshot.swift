public import Postgres
public import Sessions

/// Reads a database for a command, on a connection of its own and without changing anything, whether or not servers are
/// using it. Each call sees one moment.
public final class PostgresSnapshot: StoreReader {
    private let connection: PostgresConnection
    private let values: StoredValues

    /// How long a query may take.
    private static let time = Duration.seconds(60)

    /// - Parameters: as of `PostgresStore.open`.
    /// - Throws: `noSchema`, if there are no tables; none are created.
    public init(
        uri: String, password: PostgresPassword? = nil, limits: TimeLimits = .standard
    ) throws(PostgresStoreError) {
        connection = try StoreOpening.connect(try StoreOpening.settings(uri, password), limits)
        values = try StoredValues(connection, limits)
        try values.check()
        // Plans must not depend on statistics, which a new table does not have.
        let setup = "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off"
        _ = try PostgresStoreError.translating { () throws(PostgresError) in
            try connection.execute(setup, until: .now + PostgresSnapshot.time)
        }
    }

    public func page(after last: SessionID?) throws(PostgresStoreError) -> SessionPage {
        let ids = PastQueries.ids(try run(PostgresSnapshot.page, [.text(last?.text ?? "")]))
        return (ids, try run(ReplicaQueries.count, []).integer(0, 0) ?? 0)
    }

    public func sessions(ofUser user: String) throws(PostgresStoreError) -> [SessionID] {
        PastQueries.ids(try run(PastQueries.sessionsOfUser, [.text(user)])).sorted { $0.text < $1.text }
    }

    public func secret() -> StoreSecret { values.secret }

    public func loaded(
        _ ids: ArraySlice<SessionID>, _ depth: ReadingDepth
    ) throws(PostgresStoreError) -> [Found<LoadedSession>] {
        guard depth == .lastVersion else { return try contents(of: ids).map { ($0.id, $0.value.map { $0?.loaded }) } }
        let tokens = [[UInt8]?](repeating: nil, count: ids.count)
        let rows = try run(
            SessionRow.statement, [.texts(ids.map(\.text)), .byteStrings(tokens), .integer(.max)])
        var found: [SessionID: Result<LoadedSession?, SessionDamage>] = [:]
        for row in rows.indices {
            guard let position = rows.integer(row, 0), (1...ids.count).contains(position) else { continue }
            let id = ids[ids.startIndex + position - 1]
            found[id] = PostgresSnapshot.readResult(of: id) { () throws(StoreError) in
                try SessionRow(rows, row, of: id)?.loaded(id)
            }
        }
        return ids.map { ($0, found[$0] ?? .success(nil)) }
    }

    public func contents(of ids: ArraySlice<SessionID>) throws(PostgresStoreError) -> [Found<StoredSession>] {
        let rows = ContentRows(try run(ContentRows.statement, [.texts(ids.map(\.text))]))
        return ids.map { id in
            (
                id,
                PostgresSnapshot.readResult(of: id) { () throws(StoreError) in
                    try rows.session(id, generation: values.generation)
                }
            )
        }
    }

    private static let page = PostgresStatement(
        "page", "SELECT id FROM sessions WHERE id > $1 ORDER BY id LIMIT 10000")

    private static func readResult<Value>(
        of id: SessionID, _ read: () throws(StoreError) -> Value
    ) -> Result<Value, SessionDamage> {
        do throws(StoreError) { return .success(try read()) } catch {
            return .failure(SessionDamage(of: id, error.description))
        }
    }

    private func run(
        _ statement: PostgresStatement, _ values: [PostgresValue]
    ) throws(PostgresStoreError) -> PostgresRows {
        try PostgresStoreError.translating { () throws(PostgresError) in
            try connection.run(statement, values, until: .now + PostgresSnapshot.time)
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
