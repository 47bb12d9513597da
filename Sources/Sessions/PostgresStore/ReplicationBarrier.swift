internal import Postgres

/// Waits until the standby has everything that the server shows.
///
/// While a commit waits for a synchronous standby, nobody can see it. But a server that recovers from a crash shows all
/// that is in its log, even what no standby has received and a promotion would lose. So the first connection after a
/// start commits a row, which the standby has only if it has everything before it. The proof of that is kept in an
/// unlogged table, which the server empties when it recovers from a crash.
enum ReplicationBarrier {
    /// - Returns: whether the standby has confirmed it. If not, nothing may be read on this connection.
    static func pass(
        _ connection: PostgresConnection, until deadline: ContinuousClock.Instant
    ) throws(PostgresError) -> Bool {
        if try connection.run(proof, until: deadline).count > 0 { return true }
        do throws(PostgresError) {
            // With a warning, the wait was cut off: the row is on this server, and perhaps not on the standby.
            guard try connection.execute(barrier, until: deadline).warnings == 0 else { return false }
        } catch {
            // Another connection waits already.
            guard error == .deadline || error.state == "55P03" else { throw error }
            return false
        }
        try connection.execute(confirmation, until: deadline)
        return true
    }

    /// The reason if nothing can be read for want of a standby.
    static let unconfirmed = "no synchronous standby confirms what the database shows"

    private static let proof = PostgresStatement(
        "replicated", "SELECT FROM replicated_starts WHERE start = pg_postmaster_start_time()")

    /// A row of lane 0, which no replica has. All connections write the same row, so while the standby is away one of
    /// them waits for it, and the others give up soon instead of taking up all connections.
    private static let barrier = """
        SET LOCAL lock_timeout = '1s';
        INSERT INTO batches (lane, n, changed)
        VALUES (0, (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint, '{}')
        ON CONFLICT (lane, n) DO UPDATE SET at = clock_timestamp()
        """

    private static let confirmation = """
        DELETE FROM replicated_starts WHERE start <> pg_postmaster_start_time();
        INSERT INTO replicated_starts (start) VALUES (pg_postmaster_start_time()) ON CONFLICT DO NOTHING
        """
}
