internal import Dispatch
internal import Postgres
internal import Sessions
internal import Synchronization

/// A connection that serves the read queue, on a thread of its own.
final class Reader: Sendable {
    private let reads: ReadQueue
    private let state: StoreState
    private let retention: Retention
    /// Serial, so libdispatch runs it on a thread outside its pools, which may block on the network.
    private let queue: DispatchQueue
    /// Only used on `queue`.
    private let link: Mutex<DatabaseLink>

    init(_ index: Int, _ reads: ReadQueue, _ link: sending DatabaseLink, _ state: StoreState, _ retention: Retention) {
        self.reads = reads
        self.state = state
        self.retention = retention
        self.link = Mutex(link)
        queue = DispatchQueue(label: "coordinatord.postgres.reader\(index)")
    }

    func wake() {
        queue.async { self.serve() }
    }

    func close() async {
        await queue.run { self.link.withLock { $0.close() } }
    }

    private func serve() {
        while let work = reads.next(for: self) {
            link.withLock { link in
                switch work {
                case .confirmations(let group): confirm(group, link)
                case .loads(let group): load(group, link)
                case .job(let job): job.run(.success(link))
                }
            }
        }
    }

    private func confirm(_ group: [ReadQueue.Confirmation], _ link: DatabaseLink) {
        let values: [PostgresValue] = [.texts(group.map(\.id.text)), .integers(group.map(\.stamp.commits))]
        do throws(StoreError) {
            let rows = try Reader.retrying(link, since: group[0].arrived) { link throws(PostgresError) in
                try link.run(Reader.confirmation, values, within: Reader.time)
            }
            // The first row has the generation, the others the positions of those that are current.
            var current = [Bool](repeating: false, count: group.count)
            var generation = state.generation
            for row in rows.indices {
                if let text = rows.text(row, 1) {
                    generation = Int(text) ?? generation
                } else if let position = rows.integer(row, 0), group.indices.contains(position - 1) {
                    current[position - 1] = true
                }
            }
            state.note(generation: generation)
            for (one, isCurrent) in zip(group, current) {
                one.completion(.success(isCurrent && one.stamp.generation == generation))
            }
        } catch {
            for one in group { one.completion(.failure(error)) }
        }
    }

    private func load(_ group: [ReadQueue.LoadRequest], _ link: DatabaseLink) {
        let values: [PostgresValue] = [
            .texts(group.map(\.id.text)), .byteStrings(group.map(\.token)), .integer(retention.answers),
        ]
        do throws(StoreError) {
            let rows = try Reader.retrying(link, since: group[0].arrived) { link throws(PostgresError) in
                try link.run(SessionRow.statement, values, within: Reader.time)
            }
            var found = [SessionRow?](repeating: nil, count: group.count)
            for row in rows.indices {
                guard let position = rows.integer(row, 0), group.indices.contains(position - 1) else { continue }
                found[position - 1] = SessionRow(rows, row, of: group[position - 1].id)
                if let generation = found[position - 1]?.stamp.generation { state.note(generation: generation) }
            }
            for (one, row) in zip(group, found) { one.completion(.success(row)) }
        } catch {
            for one in group { one.completion(.failure(error)) }
        }
    }

    /// How long the database may take for a query.
    static let time = Duration.seconds(2)

    /// Runs `body` again while the connection fails and the request has not waited too long.
    ///
    /// - Parameter isRepeatable: `false` if `body` must not run again when it is unknown whether it was carried out.
    static func retrying<Value>(
        _ link: DatabaseLink, since arrived: ContinuousClock.Instant, isRepeatable: Bool = true,
        _ body: (DatabaseLink) throws(PostgresError) -> Value
    ) throws(StoreError) -> Value {
        var backoff = Backoff()
        while true {
            do throws(PostgresError) {
                return try body(link)
            } catch {
                guard isRepeatable || error.isCertain else { throw .unknownOutcome(reason: error.description) }
                let isTransient = error.state?.isTransient ?? true
                guard isTransient, .now - arrived < link.limits.waiting else {
                    throw .unavailable(reason: error.description)
                }
                backoff.wait()
            }
        }
    }

    private static let confirmation = PostgresStatement(
        "confirm",
        """
        SELECT NULL::bigint, value FROM store WHERE name = 'generation'
        UNION ALL
        SELECT c.n, NULL::text FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY AS c(id, stamp, n)
        JOIN sessions s ON s.id = c.id AND s.stamp = c.stamp
        """)
}
