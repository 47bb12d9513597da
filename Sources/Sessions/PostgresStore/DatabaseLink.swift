internal import Glibc
internal import Postgres

/// A connection that is made again when it was lost. It has one owner, on one thread.
///
/// Before a connection is used, the standby must have everything that the server shows, see `ReplicationBarrier`, and
/// the server everything that this replica knows to be committed, see `StoreState.check`.
final class DatabaseLink {
    private let settings: PostgresSettings
    private let state: StoreState
    /// Milliseconds after which the server gives up a statement.
    private let statementTimeout: Int
    private var connection: PostgresConnection?
    /// Whether there is no connection because no standby confirms what the server shows.
    private(set) var isUnconfirmed = false
    /// The host that was the primary server last time.
    private var host = 0

    /// How long one attempt to connect may take.
    static let connectTime = Duration.milliseconds(1500)

    init(_ settings: PostgresSettings, _ state: StoreState, statementTimeout: Int = 5000) {
        self.settings = settings
        self.state = state
        self.statementTimeout = statementTimeout
    }

    /// - Parameters:
    ///   - time: how long the database may take to answer.
    ///   - connectTime: how long connecting may take, if there is no connection yet.
    func run(
        _ statement: PostgresStatement, _ values: [PostgresValue] = [], within time: Duration,
        connecting connectTime: Duration = DatabaseLink.connectTime
    ) throws(PostgresError) -> PostgresRows {
        do throws(PostgresError) {
            let connection = try connected(within: min(connectTime, DatabaseLink.connectTime) + limits.extra)
            return try connection.run(statement, values, until: .now + time + limits.extra)
        } catch {
            // A server that has become a standby, or is about to stop, may leave the connection open.
            if connection?.isUsable != true || error.state?.isAboutServer == true {
                connection = nil
                state.count { $0.lostConnections += 1 }
            }
            throw error
        }
    }

    /// - Throws: only errors after which nothing is changed.
    private func connected(within time: Duration) throws(PostgresError) -> PostgresConnection {
        if let connection { return connection }
        isUnconfirmed = false
        // The primary server may be another one meanwhile, but the one before is the likely one.
        var timeline: String?
        let statementTimeout = statementTimeout + Int(limits.extra / .milliseconds(1))
        let made = try PostgresConnection.connect(settings, first: host, within: time) {
            connection throws(PostgresError) in
            _ = try connection.run(DatabaseLink.setup, [.text("\(statementTimeout)")], until: .now + time)
            timeline = try state.acceptedTimeline(of: connection)
        }
        do throws(PostgresError) {
            isUnconfirmed = try !ReplicationBarrier.pass(made, until: .now + time)
            if isUnconfirmed { throw .notSent(reason: ReplicationBarrier.unconfirmed) }
            try state.check(made, on: timeline)
        } catch {
            // A missing table or right is told from a server that cannot be used.
            if case .refused(let state, _, _) = error, state.isIn(class: "42") { throw error }
            throw .notSent(reason: error.description)
        }
        host = made.host
        connection = made
        return made
    }

    var limits: TimeLimits { state.limits }

    func close() { connection = nil }

    /// Plans must not depend on statistics, which a new table does not have: every access is by an index, for each
    /// element of the arrays. Settings that the server does not know are left out.
    private static let setup = PostgresStatement(
        "setup",
        """
        SELECT set_config(name, value, false) FROM (VALUES
          ('statement_timeout', $1::text), ('default_transaction_isolation', 'read committed'), ('jit', 'off'),
          ('plan_cache_mode', 'force_generic_plan'), ('enable_seqscan', 'off'), ('enable_bitmapscan', 'off'),
          ('enable_hashjoin', 'off'), ('enable_mergejoin', 'off')
        ) AS wanted(name, value) WHERE name IN (SELECT name FROM pg_settings)
        """)
}

extension SQLState {
    /// The server cannot do its work now: it is read-only, shuts down, has crashed or is starting.
    var isAboutServer: Bool { self == "25006" || isIn(class: "57P") }

    /// The statement may succeed when it is tried again: too many connections, no memory, conflicts between
    /// transactions, time-outs, and what `isAboutServer`.
    var isTransient: Bool {
        isAboutServer || isIn(class: "40") || isIn(class: "08")
            || ["53000", "53200", "53300", "53400", "55P03", "57014"].contains(code)
    }

    var isNoSpace: Bool { self == "53100" }
}

/// Waits between two attempts: longer each time, and for a random time, so that others that failed at the same moment
/// try at another one.
struct Backoff {
    private var limit = Duration.milliseconds(8)

    mutating func wait() {
        sleep(limit * Double.random(in: 0.5...1))
        limit = min(limit * 2, .milliseconds(250))
    }
}

/// Blocks the thread, which must not be one that tasks run on.
func sleep(_ time: Duration) {
    guard time > .zero else { return }
    usleep(UInt32(clamping: Int64(time / .microseconds(1))))
}
