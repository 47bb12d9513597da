public import Postgres

extension PostgresStore {
    /// Removes what only servers of earlier builds need, and shuts those out. Call when none of them runs any more.
    ///
    /// - Returns: the oldest schema whose servers were admitted before, and the oldest one now.
    public static func contract(
        uri: String, password: PostgresPassword? = nil
    ) async throws(PostgresStoreError) -> (before: Int, after: Int) {
        try await blocking { () throws(PostgresStoreError) in
            let connection = try StoreOpening.connect(try StoreOpening.settings(uri, password))
            let before = try StoredValues(connection)
            try before.check()
            _ = try PostgresStoreError.translating { () throws(PostgresError) in
                try connection.execute(Schema.contraction, until: .now + .seconds(3600))
            }
            return (before.leastReader, try StoredValues(connection).leastReader)
        }
    }
}

extension Schema {
    /// Removes, in one transaction, what only servers of earlier schemas need. Schema 1 is the first one, so there is
    /// nothing to remove.
    fileprivate static let contraction = """
        UPDATE store SET value = '\(version)' WHERE name = 'least_reader' AND value::bigint < \(version);
        """
}
