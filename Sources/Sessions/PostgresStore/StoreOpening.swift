internal import Dispatch
internal import Measures
public import Postgres
public import Sessions
internal import Sodium

/// What opening a store finds out, before anything runs.
struct StoreOpening: Sendable {
    let settings: PostgresSettings
    let state: StoreState
    let secret: [UInt8]
    let sessionCount: Int
    /// Settings of the server because of which it may lose what it has acknowledged.
    let risks: [String]
    let clock: ClockReading
}

extension PostgresStore {
    /// Connects to a database. Many servers may do it at once.
    ///
    /// - Parameters:
    ///   - uri: `postgresql://user@h1:5432,h2:5432/database?…`, without a password, see `PostgresSettings`.
    ///   - password: `nil` for what libpq finds in its environment or password file, if anything.
    ///   - creating: whether the tables are made if there are none.
    ///   - newSecret: the secret that the store gets if it has no sessions and no server runs on it; otherwise it keeps
    ///     its own.
    ///   - report: receives what an operator should know, and whether it is critical.
    public static func open(
        uri: String, password: PostgresPassword? = nil, creating: Bool = true, durability: Durability = .strict,
        retention: Retention = Retention(), newSecret: StoreSecret? = nil, limits: TimeLimits = .standard,
        report: @escaping @Sendable (_ text: String, _ isCritical: Bool) -> Void = { _, _ in }
    ) async throws(PostgresStoreError) -> PostgresStore {
        let opening = try await blocking { () throws(PostgresStoreError) in
            try StoreOpening(uri, password, creating: creating, durability, newSecret, limits, report)
        }
        return PostgresStore(opening, retention)
    }

    /// Creates the tables, or upgrades them to this program's schema. Servers may run meanwhile.
    ///
    /// - Returns: the schema before, 0 if there was none, and after.
    public static func migrate(
        uri: String, password: PostgresPassword? = nil, limits: TimeLimits = .standard
    ) async throws(PostgresStoreError) -> (before: Int, after: Int) {
        try await blocking { () throws(PostgresStoreError) in
            let connection = try StoreOpening.connect(try StoreOpening.settings(uri, password), limits)
            let before = try Migration.migrate(connection, limits)
            try StoredValues(connection, limits).check()
            return (before, max(before, Schema.version))
        }
    }

    /// Runs blocking work on a thread that no task runs on.
    static func blocking<Value: Sendable>(
        _ work: @escaping @Sendable () throws(PostgresStoreError) -> Value
    ) async throws(PostgresStoreError) -> Value {
        try await DispatchQueue(label: "coordinatord.postgres.opening").run(work)
    }
}

extension StoreOpening {
    fileprivate init(
        _ uri: String, _ password: PostgresPassword?, creating: Bool, _ durability: PostgresStore.Durability,
        _ newSecret: StoreSecret?, _ limits: TimeLimits, _ report: @escaping @Sendable (String, Bool) -> Void
    ) throws(PostgresStoreError) {
        settings = try StoreOpening.settings(uri, password)
        let values = try StoreOpening.values(settings, creating: creating, newSecret, limits)
        secret = values.secret.bytes
        state = StoreState(isStrict: durability == .strict, limits, report: report)
        state.noteTimelines(of: settings)
        let link = DatabaseLink(settings, state)
        do throws(PostgresError) {
            risks = try Upkeep.risks(link)
            let lanes = try ReplicaQueries.newLanes(PostgresStore.laneCount, link)
            try ReplicaQueries.register(state.replica, lanes: lanes, link)
            state.setLanes(lanes)
            sessionCount = try link.run(ReplicaQueries.count, within: .seconds(5)).integer(0, 0) ?? 0
            let start = MonotonicTime.nanosecondsOfUptime
            let time = try link.run(ReplicaQueries.time, within: .seconds(5))
            clock = ClockReading(milliseconds: time.integer(0, 0) ?? 0, askedAt: start)
            state.begin(generation: time.text(0, 1).flatMap { Int($0) } ?? 1, secret: secret)
        } catch {
            throw PostgresStoreError(error)
        }
        guard risks.isEmpty || durability == .relaxed else { throw .relaxed(risks) }
    }

    static func settings(
        _ uri: String, _ password: PostgresPassword?
    ) throws(PostgresStoreError) -> PostgresSettings {
        do throws(PostgresSettingsError) {
            return try PostgresSettings(uri: uri, password: password)
        } catch {
            if case .hasSecret = error { throw .secretInURI(reason: error.description) }
            throw .unusableURI(reason: error.description)
        }
    }

    static func connect(
        _ settings: PostgresSettings, _ limits: TimeLimits = .standard
    ) throws(PostgresStoreError) -> PostgresConnection {
        try PostgresStoreError.translating { () throws(PostgresError) in
            try PostgresConnection.connect(settings, within: .seconds(5) + limits.extra)
        }
    }

    /// The store's single values.
    ///
    /// - Throws: `noSchema`, if there are no tables, and none are to be made.
    static func values(
        _ settings: PostgresSettings, creating: Bool = true, _ newSecret: StoreSecret? = nil,
        _ limits: TimeLimits = .standard
    ) throws(PostgresStoreError) -> StoredValues {
        let connection = try connect(settings, limits)
        do throws(PostgresStoreError) {
            try StoredValues(connection, limits).check()
        } catch {
            guard creating, error == .noSchema else { throw error }
            _ = try Migration.migrate(connection, limits)
        }
        if let newSecret { try adopt(newSecret, connection) }
        let values = try StoredValues(connection, limits)
        try values.check()
        return values
    }

    /// Replaces the store's secret, unless there are sessions or running servers: what these derive from it must not
    /// change. A server that was killed counts as running for 20 seconds.
    private static func adopt(_ secret: StoreSecret, _ connection: PostgresConnection) throws(PostgresStoreError) {
        let adoption = PostgresStatement(
            "adopt",
            """
            UPDATE store SET value = $1 WHERE name = 'secret' AND NOT EXISTS (SELECT FROM sessions)
              AND NOT EXISTS (SELECT FROM replicas r WHERE \(ReplicaQueries.isAlive("r")))
            """)
        _ = try PostgresStoreError.translating { () throws(PostgresError) in
            try connection.run(adoption, [.text(Hexadecimal.text(of: secret.bytes))], until: .now + .seconds(120))
        }
    }
}
