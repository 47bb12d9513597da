internal import ArgumentParser
internal import Glibc
internal import SQLiteStore
internal import Sessions

/// `--store` and the options for it.
struct StorageOptions: ParsableArguments {
    @Option(
        help: """
            Where sessions are kept: sqlite:DIRECTORY, or memory (they end with the process). (default: sqlite:./data)
            """, transform: StoreChoice.parse)
    var store = StoreChoice.sqlite(directory: "./data")

    @Option(help: "strict: what is answered is on the disk. relaxed: a power loss may lose the last events.")
    var durability = DurabilityChoice.strict

    @Option(help: "How many versions of a session are kept.")
    var history = 100

    @Option(
        help: """
            How large the store may be. When it is full, sessions can only be read and ended. (default: half of the \
            memory for --store memory, any size for a file)
            """, transform: ByteSize.parse)
    var storeSize: ByteSize?

    func validate() throws {
        guard history > 0 else { throw ValidationError("--history takes a number from 1.") }
        try storeSize?.validate("--store-size", from: ByteSize(64 << 10))
    }

    var isInMemory: Bool {
        if case .memory = store { true } else { false }
    }

    var retention: Retention { Retention(versions: history) }

    /// Makes the store's directory, if it is on disk and missing.
    ///
    /// - Throws: an exit code, after printing the reason to standard error.
    func makeDirectory() throws {
        guard case .sqlite(let directory) = store else { return }
        do throws(SQLiteStoreError) { try SQLiteStore.makeDirectory(directory) } catch {
            throw ExitCode.cannotUse(directory, error, by: .server)
        }
    }

    /// - Throws: an exit code, after printing the reason to standard error.
    func open(
        report: @escaping @Sendable (String) -> Void, failed: @escaping @Sendable (String) -> Void
    ) throws -> any SessionStore {
        switch store {
        case .memory:
            MemoryStore(retention: retention, limitBytes: storeSize?.bytes ?? MachineMemory.size / 2)
        case .sqlite(let directory):
            try StorageOptions.open(
                directory, durability.forSQLite, retention, sizeLimit: storeSize?.bytes ?? 0, by: .server,
                report: report, failed: failed)
        }
    }

    static func open(
        _ directory: String, _ durability: SQLiteStore.Durability = .strict, _ retention: Retention,
        sizeLimit: Int = 0, by user: DirectoryUser, report: @escaping @Sendable (String) -> Void,
        failed: @escaping @Sendable (String) -> Void
    ) throws -> SQLiteStore {
        do {
            return try SQLiteStore(
                directory: directory, durability: durability, retention: retention, sizeLimit: sizeLimit,
                report: report, failed: failed)
        } catch {
            throw ExitCode.cannotUse(directory, error, by: user)
        }
    }

    var announcement: String {
        switch (store, durability) {
        case (.memory, _): "memory, sessions end with this process"
        case (.sqlite(let directory), .strict): "sqlite:\(directory)"
        case (.sqlite(let directory), .relaxed): "sqlite:\(directory), relaxed: power loss may cost the last events"
        }
    }
}

/// `--store` of a command that needs one on disk.
struct StoredOptions: ParsableArguments {
    @Option(
        help: "Where the sessions are kept: sqlite:DIRECTORY. (default: sqlite:./data)", transform: StoreChoice.parse)
    var store = StoreChoice.sqlite(directory: "./data")

    func validate() throws {
        guard case .sqlite = store else { throw ValidationError("--store must be sqlite:DIRECTORY here.") }
    }

    private var directory: String {
        guard case .sqlite(let directory) = store else { return "" }
        return directory
    }

    /// The store as it is now, whether a server is running on it or not.
    func snapshot() throws -> StoreSnapshot {
        try reading { () throws(SQLiteStoreError) in try StoreSnapshot(directory: directory) }
    }

    /// The sessions that are stored now. No snapshot is held afterwards.
    func sessions() throws -> [SessionID] {
        let snapshot = try snapshot()
        return try reading(snapshot.sessions)
    }

    /// The sessions that a user is, or was lately, signed in to.
    func sessions(ofUser user: String, in snapshot: StoreSnapshot) throws -> [SessionID] {
        try reading { () throws(SQLiteStoreError) in try snapshot.sessions(ofUser: user) }
    }

    /// The sessions that commands work on. Reports on standard error if some may be missing.
    ///
    /// - Parameter ids: the sessions' ids; empty for all sessions.
    /// - Returns: also whether none is missing.
    func listing(
        _ ids: [SessionID] = [], in snapshot: StoreSnapshot
    ) throws -> (sessions: [SessionID], isWhole: Bool) {
        var (sessions, isWhole) = ids.isEmpty ? try reading(snapshot.listing) : (ids, true)
        if !isWhole { StandardError.print("Error: sessions may be missing: the lists of them are damaged") }
        if let damage = snapshot.logDamage {
            StandardError.print("Error: \(damage): what was acknowledged after it is not seen here")
            isWhole = false
        }
        return (sessions, isWhole)
    }

    /// Does work for each session. Damaged sessions are reported on standard error, and skipped.
    ///
    /// - Parameters:
    ///   - ids: the sessions' ids; empty for all sessions.
    ///   - damaged: is called with each skipped session.
    /// - Returns: whether no session was skipped, and none may be missing.
    func forEach(
        _ ids: [SessionID] = [], in snapshot: StoreSnapshot, damaged: (SessionID) -> Void = { _ in },
        _ work: (SessionID) throws(SQLiteStoreError) -> Void
    ) throws -> Bool {
        var (sessions, isWhole) = try listing(ids, in: snapshot)
        for id in sessions {
            do throws(SQLiteStoreError) { try work(id) } catch {
                guard case .damaged(let what) = error else { throw unusable(error) }
                StandardError.print("Error: session \(id.text) is damaged: \(what)")
                damaged(id)
                isWhole = false
            }
        }
        return isWhole
    }

    /// The store, on which no server may run; created if it does not exist.
    ///
    /// - Parameter report: receives what an operator should know.
    func open(report: @escaping @Sendable (String) -> Void = StandardError.print) throws -> SQLiteStore {
        // Everything in the store stays, whatever the server's retention is.
        let everything = Retention(versions: .max, answers: .max, versionBytes: .max, answerBytes: .max)
        return try StorageOptions.open(directory, .strict, everything, by: .command, report: report) { reason in
            StandardError.print("Error: the storage has failed: \(reason)")
            _exit(EX_IOERR)
        }
    }

    /// The store, on which no server may run, if it exists.
    func openExisting(report: @escaping @Sendable (String) -> Void) throws -> SQLiteStore {
        try reading { () throws(SQLiteStoreError) in try StoreSnapshot.checkExistence(in: directory) }
        return try open(report: report)
    }

    func reading<Value>(_ body: () throws(SQLiteStoreError) -> Value) throws -> Value {
        do throws(SQLiteStoreError) { return try body() } catch { throw unusable(error) }
    }

    func unusable(_ error: SQLiteStoreError) -> ExitCode {
        guard case .damaged(let what) = error else { return .cannotUse(directory, error, by: .command) }
        return .cannotStart(
            EX_DATAERR,
            """
            \(directory) is damaged, and this command cannot read it: \(what). Start a server on it, or restart the one \
            that runs: the start repairs or rebuilds the store. If the start is refused, serve a backup.
            """)
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
                \(directory) is damaged: \(what). Serve a backup. If there is none, `sessions export` may still read \
                undamaged sessions, and `sessions import` makes a new store of them.
                """)
        case .incomplete(let what): cannotStart(EX_DATAERR, what)
        case .unavailable(let reason):
            if let fault = Directory(path: directory).fault(option: "--store sqlite:DIRECTORY", for: user) {
                cannotStart(EX_CONFIG, fault)
            } else {
                cannotStart(EX_IOERR, reason.hasPrefix(directory) ? reason : "\(directory): \(reason)")
            }
        }
    }
}

/// The value of `--store`.
enum StoreChoice {
    case memory
    case sqlite(directory: String)

    static func parse(_ text: String) throws -> StoreChoice {
        let scheme = "sqlite:"
        if text == "memory" { return .memory }
        guard text.hasPrefix(scheme), text != scheme else {
            let directory = text.isEmpty || text == scheme ? "DIRECTORY" : text
            throw ValidationError("Write sqlite:\(directory) for the directory \(directory).")
        }
        return .sqlite(directory: String(text.dropFirst(scheme.count)))
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
