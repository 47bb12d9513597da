internal import Postgres

/// Waits until the standby has everything that the server shows.
///
/// A commit that waits for a synchronous standby can be seen by nobody. But a server that has crashed shows, once it is
/// back, all that is in its log, also what no standby has received, and what would be missing after a promotion. So
/// the first who connects after a start commits a row: the standby has that only if it has everything before it. The proof
/// is kept in an unlogged table, which the server empties when it recovers from a crash.
enum ReplicationBarrier {
    /// - Throws: if the standby does not confirm in time. Then nothing may be read on this connection.
    static func pass(_ connection: PostgresConnection, until deadline: ContinuousClock.Instant) throws(PostgresError) {
        guard try connection.run(proof, until: deadline).count == 0 else { return }
        do throws(PostgresError) {
            let rows = try connection.execute(barrier, until: deadline)
            // The wait was cut off: the row is on this server, and perhaps not on the standby.
            guard rows.warnings == 0 else { throw .notSent(reason: unconfirmed) }
        } catch {
            // Another connection waits already.
            throw error == .deadline || error.state == "55P03" ? .notSent(reason: unconfirmed) : error
        }
        try connection.execute(confirmation, until: deadline)
    }

    /// The reason if nothing can be read for want of a standby.
    static let unconfirmed = "no synchronous standby confirms what the database shows"

    private static let proof = PostgresStatement(
        "replicated", "SELECT FROM replicated_starts WHERE start = pg_postmaster_start_time()")

    /// In lane 0, which no replica has. All who connect write the same row, so while the standby is away one server process
    /// waits for it, and the others give up soon instead of taking all connections.
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
