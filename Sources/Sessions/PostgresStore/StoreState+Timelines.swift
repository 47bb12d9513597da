internal import Postgres
internal import Synchronization

// The timeline of a PostgreSQL server: a number that each promotion of a standby raises.
extension StoreState {
    /// Asks all servers that can be reached for their timelines, before one of them is used.
    func noteTimelines(of settings: PostgresSettings) {
        _ = try? PostgresConnection.connect(settings, within: DatabaseLink.connectTime + limits.extra) {
            connection throws(PostgresError) in
            _ = try acceptedTimeline(of: connection)
            throw .notSent(reason: "only asked")
        }
    }

    /// Refuses a former primary that has come back after another server was promoted: it lacks all that was committed
    /// since.
    ///
    /// - Returns: the server's timeline as 8 hexadecimal digits; `nil` for PostgreSQL's relatives, which have no
    ///   timelines.
    func acceptedTimeline(of connection: PostgresConnection) throws(PostgresError) -> String? {
        let text: String?
        do throws(PostgresError) {
            text = try connection.run(StoreState.timeline, until: checkDeadline).text(0, 0)
        } catch {
            if case .refused(let state, _, _) = error, state == "42883" || state == "0A000" { return nil }
            throw error
        }
        guard let text, let number = Int(text, radix: 16) else { return nil }
        let latest = latestTimeline.max(number, ordering: .acquiringAndReleasing).newValue
        guard number >= latest else {
            throw .notSent(
                reason: "it was the primary before another server was promoted (timeline \(number) of \(latest))")
        }
        return text
    }

    /// Raises the generation if a standby was promoted since any replica last looked.
    ///
    /// - Returns: whether this call has raised it. If another replica was faster, it has not.
    func raiseGenerationIfPromoted(
        _ connection: PostgresConnection, on timeline: String?
    ) throws(PostgresError) -> Bool {
        guard let timeline,
            let known = try connection.run(StoreState.knownTimeline, until: checkDeadline).text(0, 0),
            known != timeline
        else { return false }
        let raised = try connection.run(StoreState.follow, [.text(known), .text(timeline)], until: checkDeadline)
        // In a new store there is nothing to lose.
        return raised.count > 0 && known != "0"
    }

    private static let timeline = PostgresStatement(
        "timeline", "SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)")

    private static let knownTimeline = PostgresStatement(
        "known-timeline", "SELECT value FROM store WHERE name = 'timeline'")

    private static let follow = PostgresStatement(
        "follow-timeline",
        """
        WITH t AS (UPDATE store SET value = $2 WHERE name = 'timeline' AND value = $1 RETURNING name),
        -- Two standbys that are promoted one after the other, of which the second knows nothing of the first, must not
        -- arrive at the same number.
        g AS (
          UPDATE store SET value = (value::bigint + 1 + floor(random() * 1000000)::bigint)::text
          WHERE name = 'generation' AND $1 <> '0' AND EXISTS (SELECT FROM t))
        SELECT name FROM t
        """)
}
