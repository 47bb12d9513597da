internal import Postgres
internal import Sessions

/// Queries about a session's past. Pruning lags behind the commits, so these leave out what is no longer kept.
enum PastQueries {
    /// The versions that are kept, newest first, without their records, and how many bytes these are.
    private static let versions = PostgresStatement(
        "versions",
        """
        SELECT j.version, j.base, octet_length(j.record)::bigint FROM sessions s
        JOIN journal j ON j.session = s.id AND j.version > s.version - $2 AND j.version <= s.version
          AND j.version >= s.oldest
        WHERE s.id = $1 ORDER BY j.version DESC
        """)

    private static let records = PostgresStatement(
        "records",
        """
        SELECT j.version, j.base, j.kept_until, j.record, j.checksum FROM unnest($2::bigint[]) AS v(version)
        JOIN journal j ON j.session = $1 AND j.version = v.version
        """)

    private struct Place {
        let version: Int
        let base: Int?
        let size: Int
    }

    /// See `SessionStore.history`.
    ///
    /// - Returns: the records, or that one of them is damaged.
    static func history(
        of id: SessionID, from newest: Int, limit: Int, bytes: Int, _ retention: Retention, _ link: DatabaseLink
    ) throws(PostgresError) -> Result<FoundRecords, StoreError> {
        let found = try link.run(
            versions, [.text(id.text), .integer(retention.retainedVersions)], within: .seconds(5))
        var places: [Place] = []
        for row in found.indices {
            guard let version = found.integer(row, 0), let size = found.integer(row, 2) else { continue }
            places.append(Place(version: version, base: found.integer(row, 1), size: size))
        }
        let kept = kept(places, retention)
        let wanted = wanted(kept, from: newest, limit: limit, bytes: bytes, retention)
        let needed = Set(wanted.map(\.version)).union(wanted.compactMap(\.base)).sorted()
        guard !needed.isEmpty else { return .success(FoundRecords(of: id)) }
        let read = try link.run(records, [.text(id.text), .integers(needed)], within: .seconds(10))
        return Result { () throws(StoreError) in
            var found = FoundRecords(of: id)
            for row in read.indices {
                if let one = try JournalRow(read, row, from: 0, of: id) { found.bases[one.version] = one.text }
            }
            // One may have been pruned since.
            for place in wanted {
                guard let text = found.bases[place.version], place.base.map({ found.bases[$0] != nil }) ?? true else {
                    break
                }
                found.wanted.append((place.version, text))
            }
            return found
        }
    }

    /// Those that fit in `versionBytes`, and those that the newest one needs; without a gap.
    private static func kept(_ places: [Place], _ retention: Retention) -> [Place] {
        guard let newest = places.first else { return [] }
        var size = 0
        var expected = newest.version
        return Array(
            places.prefix { place in
                size += place.size
                defer { expected -= 1 }
                return place.version == expected
                    && (size <= retention.versionBytes || place.version >= newest.base ?? newest.version)
            })
    }

    private static func wanted(
        _ kept: [Place], from newest: Int, limit: Int, bytes: Int, _ retention: Retention
    ) -> [Place] {
        let versions = Set(kept.map(\.version))
        var wanted: [Place] = []
        var size = 0
        for place in kept.prefix(retention.versions) where place.version <= newest && wanted.count < limit {
            size += place.size
            // Without its base a version cannot be read; nor can those before it, whose bases are older.
            guard wanted.isEmpty || size <= bytes, place.base.map(versions.contains) ?? true else { break }
            wanted.append(place)
        }
        return wanted
    }

    /// An answer; and the bytes and the number of those that are as new, which say whether its body is still to be shown.
    static let answer = PostgresStatement(
        "answer",
        """
        SELECT a.answer, a.checksum, n.size, n.count
        FROM answers a, LATERAL (
          SELECT sum(size)::bigint AS size, count(*) AS count FROM answers n
          WHERE n.session = a.session AND n.stamp >= a.stamp
            AND (n.key LIKE 'service:%') = (a.key LIKE 'service:%')) n
        WHERE a.session = $1 AND a.key = $2
        """)

    static let forks = PostgresStatement("forks", "SELECT id FROM sessions WHERE origin = $1")

    static let sessionsOfUser = PostgresStatement("sessions-of-user", "SELECT id FROM sessions WHERE account = $1")

    static func ids(_ rows: PostgresRows) -> [SessionID] {
        rows.indices.compactMap { rows.text($0, 0).flatMap { SessionID($0) } }
    }
}
