internal import ArgumentParser
internal import ByteText
internal import Glibc
internal import SQLiteStore
internal import Sessions

/// `--store` of a command that needs one that outlives processes.
struct StoredOptions: ParsableArguments {
    @Option(help: Settings.store.help, transform: Settings.store.parse)
    var store = Settings.store.standard

    @OptionGroup var password: PasswordOptions

    @OptionGroup var config: ConfigOptions

    func validate() throws {
        guard store != .memory else {
            let name = SettingResolution.current[Settings.store.row.name]?.name ?? Settings.store.row.flag
            throw ValidationError("\(name) must be sqlite:DIRECTORY or postgresql://… here.")
        }
    }

    /// The store as it is now, whether servers run on it or not.
    func reader() throws -> any StoreReading {
        switch store {
        case .memory: throw ExitCode(EX_USAGE)
        case .sqlite(let directory):
            return try DirectoryOwner.act(in: directory) { try SQLiteReading(directory: directory) }
        case .postgres(let uri):
            return try PostgresAddress(uri: uri, password: try password.password()).reader()
        }
    }

    /// The store to change it, if it exists. Servers may run only on one that is shared.
    ///
    /// - Parameter report: receives what an operator should know.
    func writer(report: @escaping @Sendable (String) -> Void) async throws -> any StoreWriting {
        switch store {
        case .memory: throw ExitCode(EX_USAGE)
        case .sqlite(let directory):
            try DirectoryOwner.become(in: directory)
            do throws(SQLiteStoreError) { try StoreSnapshot.checkExistence(in: directory) } catch {
                throw ExitCode.cannotRead(directory, error)
            }
            return try openSQLite(directory, report: report)
        case .postgres(let uri):
            return try await PostgresAddress(uri: uri, password: try password.password()).writer(
                StoredOptions.everything, report: report)
        }
    }

    /// The store to put sessions into; created if it does not exist.
    func inserter() throws -> any SessionInserting {
        switch store {
        case .memory: throw ExitCode(EX_USAGE)
        case .sqlite(let directory):
            try DirectoryOwner.become(in: directory)
            return SQLiteInsertion {
                // Only a missing store has no secret.
                do throws(SQLiteStoreError) { try StoreSnapshot.checkExistence(in: directory) } catch {
                    if case .missing = error { return nil }
                }
                return try SQLiteReading(directory: directory).secret()
            } open: { secret in
                let store = try openSQLite(directory, secret)
                return (store, try SQLiteReading(directory: directory).page(after: nil).sessions)
            }
        case .postgres(let uri):
            return try PostgresAddress(uri: uri, password: try password.password()).inserter()
        }
    }

    /// Everything in the store stays, whatever the servers' retention is.
    private static let everything = Retention(versions: .max, answers: .max, versionBytes: .max, answerBytes: .max)

    private func openSQLite(
        _ directory: String, _ newSecret: StoreSecret? = nil,
        report: @escaping @Sendable (String) -> Void = StandardError.print
    ) throws -> SQLiteStore {
        try StorageOptions.open(
            directory, .strict, StoredOptions.everything, newSecret: newSecret, by: .command, report: report
        ) { reason in
            StandardError.print("Error: the storage has failed: \(reason)")
            _exit(EX_IOERR)
        }
    }
}

extension StoreReading {
    /// How many sessions are read together.
    private static var batchSize: Int { 64 }

    /// All sessions, page by page. Reports on standard error if some may be missing.
    ///
    /// - Returns: whether none is missing.
    func forEachPage(_ body: ([SessionID]) async throws -> Void) async throws -> Bool {
        var page = try page(after: nil)
        let isComplete = page.isWhole
        if !isComplete { StandardError.print("Error: sessions may be missing: the lists of them are damaged") }
        let isWhole = reportDamage() && isComplete
        while let last = page.sessions.last {
            try await body(page.sessions)
            page = try self.page(after: last)
        }
        return isWhole
    }

    /// - Returns: whether there is none.
    private func reportDamage() -> Bool {
        guard let damage else { return true }
        StandardError.print("Error: \(damage): what was acknowledged after it is not seen here")
        return false
    }

    /// Does work for each session. Damaged sessions are reported on standard error, and skipped.
    ///
    /// - Parameters:
    ///   - ids: the sessions' ids; `nil` for all sessions.
    ///   - read: reads what the work needs of several sessions.
    ///   - damaged: is called with each skipped session.
    ///   - progress: receives how many sessions are done, and about how many there are.
    ///   - work: receives `nil` for a session that does not exist.
    /// - Returns: whether no session was skipped, and none may be missing.
    func forEach<Value>(
        _ ids: [SessionID]?, _ read: (ArraySlice<SessionID>) throws -> [Found<Value>],
        damaged: (SessionID) -> Void = { _ in }, progress: (Int, Int) -> Void = { _, _ in },
        _ work: (SessionID, Value?) throws -> Void
    ) async throws -> Bool {
        var hasDamage = false
        var (done, total) = (0, ids?.count)
        func visit(_ ids: [SessionID]) throws {
            let count = try total ?? sessionCount()
            total = count
            for start in stride(from: 0, to: ids.count, by: Self.batchSize) {
                for (id, value) in try read(ids[start...].prefix(Self.batchSize)) {
                    switch value {
                    case .success(let value): try work(id, value)
                    case .failure(let damage):
                        StandardError.print("Error: session \(id.text) is damaged: \(damage.what)")
                        damaged(id)
                        hasDamage = true
                    }
                    done += 1
                }
                progress(done, count)
            }
        }
        guard let ids else { return try await forEachPage(visit) && !hasDamage }
        let isWhole = reportDamage()
        try visit(ids)
        return isWhole && !hasDamage
    }
}

/// The value of `--store`.
enum StoreChoice: Equatable {
    case memory
    case sqlite(directory: String)
    /// As libpq reads it, without a password.
    case postgres(uri: String)

    /// How a database is written, for help and errors.
    static let postgresForm = "postgresql://USER@HOST:PORT[,HOST:PORT]/DATABASE"

    @Sendable static func parse(_ text: String) throws -> StoreChoice {
        let scheme = "sqlite:"
        if text == "memory" { return .memory }
        // Not judged here: an error of an argument repeats it, and there may be a password in it.
        if ["postgresql:", "postgres:"].contains(where: text.begins) { return .postgres(uri: text) }
        if let (other, _) = text.cut(at: ":"), !text.begins(with: scheme), !other.has("/") {
            throw ValidationError(
                "There is no store “\(other)”: write sqlite:DIRECTORY, \(postgresForm) or memory.")
        }
        guard text.begins(with: scheme), text != scheme else {
            let directory = text.isEmpty || text == scheme ? "DIRECTORY" : text
            throw ValidationError("Write sqlite:\(directory) for the directory \(directory).")
        }
        return .sqlite(directory: String(Substring(text.utf8.dropFirst(scheme.utf8.count))))
    }

    var isPostgres: Bool {
        if case .postgres = self { true } else { false }
    }

    /// - Throws: `ValidationError`, if the store is one that cannot be named so, or that this program cannot use.
    func validate() throws {
        guard case .postgres(let uri) = self else { return }
        try PostgresAddress.validate(uri: uri)
    }
}

/// The value of `--durability`.
enum DurabilityChoice: String, CaseIterable, ExpressibleByArgument {
    case strict, relaxed

    var forSQLite: SQLiteStore.Durability {
        switch self {
        case .strict: .strict
        case .relaxed: .relaxed
        }
    }
}

extension StoreChoice {
    /// For people: without secrets.
    var location: String {
        switch self {
        case .memory: "memory"
        case .sqlite(let directory): "sqlite:\(directory)"
        case .postgres(let uri): PostgresAddress(uri: uri, password: nil).location
        }
    }
}

extension ExitCode {
    /// A store cannot be used: prints to standard error what is wrong with it.
    static func cannotUse(_ directory: String, _ error: SQLiteStoreError, by user: DirectoryUser) -> ExitCode {
        switch error {
        case .missing:
            cannotStart(
                EX_NOINPUT, "there is no store in \(directory); name its directory with --store sqlite:DIRECTORY")
        case .inUse(let path):
            cannotStart(
                EX_UNAVAILABLE,
                "\(path) is in use by another process"
                    + (user == .command ? ": stop the server that uses the store first" : ""))
        case .newer(let schema):
            cannotStart(EX_DATAERR, "\(directory) was written by a newer build, with schema \(schema)")
        case .damaged(let what):
            cannotStart(
                EX_DATAERR,
                """
                \(directory) is damaged: \(what). Restore a backup into another directory. If there is none, and `sessions \
                export` can still read the store, `sessions import` makes a new one of its undamaged sessions.
                """)
        case .incomplete(let what): cannotStart(EX_DATAERR, what)
        case .unavailable(let reason):
            if let fault = Directory(path: directory).fault(option: "--store sqlite:DIRECTORY", for: user) {
                cannotStart(EX_CONFIG, fault)
            } else {
                cannotStart(EX_IOERR, reason.begins(with: directory) ? reason : "\(directory): \(reason)")
            }
        }
    }

    /// A command cannot read a store.
    static func cannotRead(_ directory: String, _ error: SQLiteStoreError) -> ExitCode {
        guard case .damaged(let what) = error else { return .cannotUse(directory, error, by: .command) }
        return .cannotStart(
            EX_DATAERR,
            """
            \(directory) is damaged, and this command cannot read it: \(what). Start a server on it, or restart the one \
            that runs: the start repairs or rebuilds the store. If the start is refused, only a backup helps.
            """)
    }
}
