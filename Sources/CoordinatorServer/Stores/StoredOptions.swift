internal import ArgumentParser
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
