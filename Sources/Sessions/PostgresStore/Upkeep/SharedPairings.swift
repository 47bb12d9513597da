internal import FoundationEssentials
internal import Postgres
internal import Sessions
internal import Sodium

/// The pairing codes of all replicas, and the limits that they share; otherwise like `PairingsInMemory`. Times are
/// milliseconds since 1970.
final class SharedPairings: PairingStore {
    private let upkeep: Upkeep

    init(_ upkeep: Upkeep) {
        self.upkeep = upkeep
    }

    func open(_ code: SHA256Digest, for pairing: Pairing, at now: Date) async throws(SessionError) {
        let values: [PostgresValue] = [
            .bytes(code.bytes), .bytes(pairing.issuer.bytes), .text(pairing.session.text), .text(pairing.label),
            .integer(pairing.expiresAt.milliseconds), .integer(now.milliseconds), .text(pairing.role),
        ]
        if try await count(SharedPairings.opening, values) == 0 { throw .tooManyCodes }
    }

    func closeOthers(than code: SHA256Digest, of issuer: SHA256Digest) async {
        _ = try? await count(SharedPairings.closing, [.bytes(issuer.bytes), .bytes(code.bytes)])
    }

    func close(_ code: SHA256Digest) async {
        _ = try? await count(SharedPairings.removal, [.bytes(code.bytes)])
    }

    func find(_ code: SHA256Digest, key: String?, at now: Date) async throws(SessionError) -> Pairing {
        let values: [PostgresValue] = [.bytes(code.bytes), .text(key), .integer(now.milliseconds)]
        let (pairing, wait) = try await run { link throws(PostgresError) -> (Pairing?, Int) in
            let rows = try link.run(SharedPairings.search, values, within: .seconds(2))
            return (SharedPairings.pairing(rows), rows.integer(0, 5) ?? 0)
        }
        if let pairing { return pairing }
        if wait > 0 { throw .tooManyTries(retryAfter: (wait + 999) / 1000) }
        throw .unknownCode
    }

    func take(_ code: SHA256Digest, key: String?, at now: Date) async throws(SessionError) -> Bool {
        try await count(SharedPairings.use, [.bytes(code.bytes), .text(key), .integer(now.milliseconds)]) == 1
    }

    func giveBack(_ code: SHA256Digest) async {
        _ = try? await count(SharedPairings.returning, [.bytes(code.bytes)])
    }

    /// - Returns: how many rows the statement has returned.
    private func count(_ statement: PostgresStatement, _ values: [PostgresValue]) async throws(SessionError) -> Int {
        try await run { link throws(PostgresError) in try link.run(statement, values, within: .seconds(2)).count }
    }

    private func run<Value: Sendable>(
        _ body: @escaping @Sendable (DatabaseLink) throws(PostgresError) -> Value
    ) async throws(SessionError) -> Value {
        do throws(StoreError) {
            return try await upkeep.run(isRepeatable: false, body)
        } catch {
            switch error {
            case .unknownOutcome(let reason): throw .unknownOutcome(reason: reason)
            case .full: throw .storageFull
            case .unavailable(let reason), .damaged(let reason): throw .notApplied(reason: reason)
            }
        }
    }

    private static func pairing(_ rows: PostgresRows) -> Pairing? {
        guard let issuer = rows.bytes(0, 0).flatMap({ SHA256Digest(bytes: $0) }),
            let session = rows.text(0, 1).flatMap({ SessionID($0) }), let expires = rows.integer(0, 3)
        else { return nil }
        return Pairing(
            session: session, issuer: issuer, label: rows.text(0, 2), role: rows.text(0, 4),
            expiresAt: Date(milliseconds: expires))
    }

    /// At most 256 codes are open. What has expired, and what was used more than ten minutes ago, is deleted.
    private static let opening = PostgresStatement(
        "open-pairing",
        """
        WITH o AS (
          DELETE FROM pairings
          WHERE code <> $1 AND (used IS NULL AND expires <= $6 OR used <= $6 - 600000))
        INSERT INTO pairings (code, issuer, session, label, expires, role) SELECT $1, $2, $3, $4, $5, $7
        WHERE (SELECT count(*) FROM pairings WHERE used IS NULL AND expires > $6 AND issuer <> $2) < 256
        ON CONFLICT (code) DO UPDATE SET expires = excluded.expires
        RETURNING code
        """)

    private static let closing = PostgresStatement(
        "close-pairings", "DELETE FROM pairings WHERE issuer = $1 AND code <> $2 AND used IS NULL")

    private static let removal = PostgresStatement(
        "close-pairing", "DELETE FROM pairings WHERE code = $1 AND used IS NULL")

    /// At most 70 wrong codes in a minute, as `RateLimit` counts: one every 857 ms in the mean. The row of the count is
    /// locked, so that codes sent at the same time are counted one after the other; the time is the database's, read after
    /// that, so that no replica's older one begins the minute anew. Only if that clock was set back, it is more than a minute
    /// behind.
    private static let search = PostgresStatement(
        "find-pairing",
        """
        WITH t AS MATERIALIZED (SELECT value::bigint AS due FROM store WHERE name = 'pairing_tries' FOR UPDATE),
        c AS MATERIALIZED (SELECT due, (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now FROM t),
        d AS (
          SELECT next, next - now + 857 - 60000 AS wait FROM (
            SELECT now, CASE WHEN due > now + 60000 THEN now ELSE greatest(due, now) END AS next FROM c) x),
        r AS (
          SELECT issuer, session, label, expires, role FROM pairings WHERE code = $1 AND key = $2 AND used > $3 - 600000),
        p AS (
          SELECT issuer, session, label, expires, role FROM pairings, d
          WHERE code = $1 AND used IS NULL AND expires > $3 AND d.wait <= 0 AND NOT EXISTS (SELECT FROM r)),
        u AS (
          UPDATE store s SET value = (d.next + 857)::text FROM d
          WHERE s.name = 'pairing_tries' AND d.wait <= 0 AND NOT EXISTS (SELECT FROM r) AND NOT EXISTS (SELECT FROM p))
        SELECT x.issuer, x.session, x.label, x.expires, x.role, (SELECT wait FROM d)
        FROM (VALUES (1)) AS one(row) LEFT JOIN (SELECT * FROM r UNION ALL SELECT * FROM p) x ON true
        """)

    /// Beyond 4,096 used codes, a request cannot be sent again if its answer was lost.
    private static let use = PostgresStatement(
        "use-pairing",
        """
        WITH c AS MATERIALIZED (SELECT count(*) AS n FROM pairings WHERE used > $3 - 600000),
        u AS (
          UPDATE pairings p SET used = $3, key = CASE WHEN c.n < 4096 THEN $2 END FROM c
          WHERE p.code = $1 AND p.used IS NULL AND p.expires > $3 RETURNING 1)
        SELECT FROM u
        """)

    /// Opens a used code again, unless its issuer has opened another one meanwhile.
    private static let returning = PostgresStatement(
        "return-pairing",
        """
        UPDATE pairings p SET used = NULL, key = NULL WHERE p.code = $1 AND p.used IS NOT NULL
          AND NOT EXISTS (SELECT FROM pairings o WHERE o.issuer = p.issuer AND o.used IS NULL)
        RETURNING p.code
        """)
}
