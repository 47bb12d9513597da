internal import Postgres
internal import Sessions

/// Deletes what is no longer kept of sessions: some time after the commits, and for many sessions at a time.
enum PruneQueries {
    private static let versions = PostgresStatement(
        "prune-versions",
        """
        DELETE FROM journal d USING (
          SELECT p.session, p.version FROM (
            SELECT j.session, j.version, s.version AS last, s.oldest,
              coalesce(first_value(j.base) OVER past, s.version) AS needed, sum(octet_length(j.record)) OVER past AS size
            FROM unnest($1::text[]) AS c(id) JOIN sessions s ON s.id = c.id
              JOIN journal j ON j.session = c.id AND j.version <= s.version
            WINDOW past AS (PARTITION BY j.session ORDER BY j.version DESC)
          ) p WHERE p.version <= p.last - $2 OR p.version < p.oldest OR (p.size > $3 AND p.version < p.needed)
        ) x WHERE d.session = x.session AND d.version = x.version
        """)

    /// The answers beyond the limits for clients and for services, and those from before the session's end.
    private static let answers = PostgresStatement(
        "prune-answers",
        """
        DELETE FROM answers d USING (
          SELECT p.session, p.key FROM (
            SELECT a.session, a.key,
              row_number() OVER (PARTITION BY a.session, a.key LIKE 'service:%' ORDER BY a.stamp DESC) AS age,
              s.oldest > 1 AND s.oldest = s.version AND a.stamp < s.stamp AS is_over
            FROM unnest($1::text[]) AS c(id) JOIN sessions s ON s.id = c.id JOIN answers a ON a.session = c.id
          ) p WHERE p.age > $2 OR p.is_over
        ) x WHERE d.session = x.session AND d.key = x.key
        """)

    /// The answers whose bodies are beyond the limit.
    private static let bodies = PostgresStatement(
        "old-bodies",
        """
        SELECT p.session, p.key, p.stamp, p.answer FROM (
          SELECT a.*, row_number() OVER past AS age, sum(a.size) OVER past AS total
          FROM unnest($1::text[]) AS c(id) JOIN answers a ON a.session = c.id
          WINDOW past AS (PARTITION BY a.session, a.key LIKE 'service:%' ORDER BY a.stamp DESC)
        ) p WHERE p.size > 0 AND p.age > 1 AND p.total > $2 LIMIT 1000
        """)

    private static let dropping = PostgresStatement(
        "drop-bodies",
        """
        UPDATE answers a SET answer = t.answer, checksum = t.checksum, size = 0
        FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::bigint[])
          AS t(session, key, stamp, answer, checksum)
        WHERE a.session = t.session AND a.key = t.key AND a.stamp = t.stamp
        """)

    static func prune(_ ids: [SessionID], _ retention: Retention, _ link: DatabaseLink) throws(PostgresError) {
        let texts = PostgresValue.texts(ids.map(\.text))
        _ = try link.run(
            versions, [texts, .integer(retention.retainedVersions), .integer(retention.versionBytes)],
            within: .seconds(10))
        _ = try link.run(answers, [texts, .integer(retention.answers)], within: .seconds(10))
        let old = try link.run(bodies, [texts, .integer(retention.answerBytes)], within: .seconds(10))
        guard old.count > 0 else { return }
        let rests = old.indices.compactMap { row -> (row: JournalRow, stamp: Int)? in
            guard let session = old.text(row, 0), let key = old.text(row, 1), let stamp = old.integer(row, 2),
                let text = old.utf8(row, 3)
            else { return nil }
            return (JournalRow(session: session, key: key, text: StoredAnswer.textWithoutBody(text)), stamp)
        }
        let values: [PostgresValue] = [
            .texts(rests.map(\.row.session)), .texts(rests.map(\.row.label?.key)), .integers(rests.map(\.stamp)),
            .utf8s(rests.map(\.row.text)), .integers(rests.map(\.row.checksum)),
        ]
        _ = try link.run(dropping, values, within: .seconds(10))
    }

    /// Whether a session is to be pruned after this change: after every sixteenth commit, a large one, or its end.
    static func isDue(_ change: EncodedChange, _ retention: Retention) -> Bool {
        let isLarge =
            (change.record?.text.count ?? 0) > retention.versionBytes / 16
            || (change.answer?.text.count ?? 0) > retention.answerBytes / 16
        return isLarge || change.isEnd || change.commits % 16 == 0 || (change.record != nil && change.version % 16 == 0)
    }
}
