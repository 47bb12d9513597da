#if Complete
internal import ArgumentParser
internal import ByteText
internal import Glibc
internal import Logging
internal import PostgresStore
internal import Prometheus
internal import Sessions
internal import Synchronization

/// A store in PostgreSQL: what the program knows of it is in this file.
///
/// Functions that throw an exit code have printed the reason to standard error.
struct PostgresDatabase: Equatable, CustomStringConvertible {
    /// As libpq reads it, without a password.
    let uri: String

    /// How a database is written, for help and errors; `nil` in a program without PostgreSQL.
    static let form: String? = "postgresql://USER@HOST:PORT[,HOST:PORT]/DATABASE"

    /// - Throws: `ValidationError`, if the URI is malformed or contains a secret.
    func validate() throws {
        do throws(PostgresStoreError) {
            _ = try PostgresStore.location(of: uri)
        } catch .secretInURI(let reason) {
            throw ValidationError(
                """
                \(reason). --store-password-file names such a file, \(Settings.Database.passwordVariable) may have it, \
                too.
                """)
        } catch {
            throw ValidationError("\(error).")
        }
    }

    /// Without secrets.
    var description: String { (try? PostgresStore.location(of: uri)) ?? "postgresql://" }

    // As the functions of `StoreChoice`.

    func reader(_ password: DatabasePassword?) throws -> any StoreReader {
        try PostgresSnapshot(uri: uri, password: password)
    }

    func open(
        _ password: DatabasePassword?, creating: Bool, durability: DurabilityChoice?, _ retention: Retention,
        newSecret: StoreSecret?,
        report: @escaping @Sendable (_ text: String, _ isCritical: Bool) -> Void
    ) async throws -> any WritableStore {
        do throws(PostgresStoreError) {
            return try await PostgresStore.open(
                uri: uri, password: password, creating: creating,
                durability: durability == .strict ? .strict : .relaxed, retention: retention, newSecret: newSecret,
                report: report)
        } catch .noSchema where !creating {
            throw ExitCode.cannotStart(
                EX_NOINPUT,
                """
                there is no store in \(self). If this is the right database, make one with `coordinatord migrate`, or \
                with --create-store
                """)
        } catch {
            throw ExitCode.cannotUse(description, error)
        }
    }

    func reported(_ error: any Error) -> any Error {
        switch error {
        case PostgresStoreError.noSchema:
            ExitCode.cannotStart(
                EX_NOINPUT, "there is no store in \(self); name another database, or run `coordinatord migrate` first")
        case let error as PostgresStoreError: ExitCode.cannotUse(description, error)
        case let damage as SessionDamage: ExitCode.cannotStart(EX_DATAERR, "\(damage)")
        default: error
        }
    }

    func migrate(_ password: DatabasePassword?, contracting: Bool) async throws -> (before: Int, after: Int) {
        do throws(PostgresStoreError) {
            return contracting
                ? try await PostgresStore.contract(uri: uri, password: password)
                : try await PostgresStore.migrate(uri: uri, password: password)
        } catch .noSchema {
            throw ExitCode.cannotStart(
                EX_NOPERM,
                """
                \(self): this role may not create tables: run this as the database's owner, or GRANT CREATE ON \
                SCHEMA public to the role
                """)
        } catch {
            throw ExitCode.cannotUse(description, error)
        }
    }
}

extension Settings {
    /// What a store in a database needs beside its location.
    struct Database: SettingGroup {
        static let title = Store.title

        let password = Setting(
            secret: "store-password", unset: "what libpq finds: PGPASSWORD, PGPASSFILE, ~/.pgpass",
            "A file whose first line is the password of the database.")

        /// The environment variable for the password itself.
        static var passwordVariable: String { Database().password.row.variable }

        func conflicts(in settings: SettingResolution) -> [String] {
            let location = Store().location
            return settings.unused(
                password, without: location, unless: settings.value(of: location).isPostgres,
                "is for --store \(PostgresDatabase.form ?? "").")
        }
    }
}

extension Settings {
    /// What a server does with a store in a database.
    struct SharedStore: SettingGroup {
        static let title = Store.title

        let createStore = Setting(
            flag: "create-store",
            """
            Makes the tables of a store in PostgreSQL if the database has none. Without it such a database is refused, \
            because it may be the wrong one.
            """)

        func conflicts(in settings: SettingResolution) -> [String] {
            let location = Store().location
            return settings.unused(
                createStore, without: location, unless: settings.value(of: location).isPostgres,
                "is for --store \(PostgresDatabase.form ?? "").")
        }
    }
}

extension SettingValues<Settings.Store> {
    /// The password of a database; `nil` if libpq has to look for one in PGPASSWORD or its own file. That in a file is
    /// read again for each connection, so that it can be replaced while the server runs.
    ///
    /// - Throws: an exit code.
    func password() throws -> DatabasePassword? {
        // A lower layer may have a password for another store than the one in use.
        guard self.location.isPostgres, let password = self.database.password else { return nil }
        switch password {
        case .text(let password): return { password }
        case .file(let file):
            do throws(UnusableFile) { return try PasswordFile(file).password } catch {
                throw ExitCode.cannotStart(error.exitCode, "--store-password-file: \(error.reason)")
            }
        }
    }
}

/// The file of `--store-password-file`.
private final class PasswordFile: Sendable {
    private let path: String
    /// The last password that could be read, and why it could not be read since.
    private let known: Mutex<(password: String, fault: UnusableFile?)>

    init(_ path: String) throws(UnusableFile) {
        self.path = path
        known = Mutex((try PasswordFile.password(in: path), nil))
    }

    /// The file's password, or the last one while it cannot be read.
    @Sendable func password() -> String? {
        known.withLock { known in
            do throws(UnusableFile) {
                known = (try PasswordFile.password(in: path), nil)
            } catch {
                if known.fault != error {
                    Logger(label: "store").error("--store-password-file: \(error.reason); the last one is used")
                }
                known.fault = error
            }
            return known.password
        }
    }

    private static func password(in path: String) throws(UnusableFile) -> String {
        let line = try SmallFile.bytes(of: path).prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
        // libpq would use only what precedes a NUL.
        guard !line.isEmpty, !line.contains(0), let password = String(validating: line, as: UTF8.self) else {
            throw UnusableFile(reason: "the first line of \(path) is no password")
        }
        return password
    }
}

extension PostgresDatabase {
    static let metrics = [
        metric("lanes", .gauge, "Connections that commit.") { Double($0.laneCount) },
        metric("batches_total", .counter, "Committed batches.") { Double($0.counters.batches) },
        metric(
            "conflicts_total", .counter, "Changes whose session another server had changed, or was changing."
        ) { Double($0.counters.conflicts) },
        metric("retries_total", .counter, "Batches that were sent again.") { Double($0.counters.retries) },
        metric(
            "unknown_outcomes_total", .counter, "Batches of which it was unknown for a while what became of them."
        ) { Double($0.counters.unknownOutcomes) },
        metric(
            "lost_connections_total", .counter,
            """
            Connections to the database that were lost, or not made. An idle one is found lost when it is used again.
            """
        ) { Double($0.counters.lostConnections) },
        ServerMetric(
            "coordinatord_postgres_feed_lag_seconds", .gauge,
            """
            How far behind the commits of other servers those are who watch sessions here; 0 while nobody watches. It \
            grows while the database does not answer.
            """
        ) { $0.host.feedLag.map { [MetricSample(value: $0)] } ?? [] },
        metric(
            "clock_offset_seconds", .gauge,
            """
            How much later the database's clock is than this machine's; not ready beyond 10 seconds. Absent while the \
            database does not answer.
            """
        ) { $0.isAnswering ? $0.clockOffset : nil },
        metric(
            "generation", .gauge, "1, and more each time that another database server has taken over."
        ) { Double($0.generation) },
    ]

    private static func metric(
        _ name: String, _ kind: MetricFamily.Kind, _ help: String,
        _ value: @escaping @Sendable (PostgresStore) -> Double?
    ) -> ServerMetric {
        ServerMetric("coordinatord_postgres_\(name)", kind, help) { figures in
            (figures.host.store as? PostgresStore).flatMap(value).map { [MetricSample(value: $0)] } ?? []
        }
    }
}

extension ExitCode {
    /// A database cannot be used: prints to standard error what is wrong with it.
    ///
    /// - Parameter location: the database without secrets.
    fileprivate static func cannotUse(_ location: String, _ error: PostgresStoreError) -> ExitCode {
        switch error {
        case .unusableURI(let reason), .secretInURI(let reason): cannotStart(EX_USAGE, "--store: \(reason)")
        case .noSchema: cannotStart(EX_NOPERM, "\(location): \(error)")
        case .foreignTables, .olderSchema, .relaxed: cannotStart(EX_CONFIG, "\(location): \(error)")
        case .newerSchema, .damaged: cannotStart(EX_DATAERR, "\(location): \(error)")
        case .unavailable(let reason): unavailable(location, reason)
        }
    }

    /// Advice is chosen by the text of the error, because a refused connection has no error code.
    private static func unavailable(_ location: String, _ reason: String) -> ExitCode {
        let reason = reason.substituting("\n", with: " ")
        func says(_ words: String...) -> Bool { words.allSatisfy(reason.contains) }
        let (code, advice): (CInt, String?) =
            if says("password authentication failed") || says("no password supplied") {
                (EX_NOPERM, "give the password with --store-password-file or \(Settings.Database.passwordVariable)")
            } else if says("database", "does not exist") {
                (EX_NOINPUT, "create it, for example with createdb, or name another one")
            } else if says("role", "does not exist") || says("no pg_hba.conf entry") {
                (EX_NOPERM, "name another user in the URI, or let the database's administrator admit this one")
            } else if says("permission denied for schema") {
                (EX_NOPERM, "run `coordinatord migrate` as a role that may create tables there")
            } else if says("permission denied") {
                (EX_NOPERM, "GRANT SELECT, INSERT, UPDATE, DELETE on the store's tables to this role")
            } else if says("certificate") {
                (EX_UNAVAILABLE, "see sslmode, sslrootcert and the server's certificate")
            } else if says("could not translate host name") || says("did not accept a connection") {
                (EX_UNAVAILABLE, "is the server running, and reachable from here?")
            } else {
                (EX_UNAVAILABLE, nil)
            }
        return cannotStart(code, "\(location): \(reason)" + (advice.map { "; \($0)" } ?? ""))
    }
}
#endif
