internal import ArgumentParser
internal import Glibc
internal import SQLiteStore
internal import Sessions

/// `--store` and the options for it.
struct StorageOptions: ParsableArguments {
    @Option(
        help: """
            Where sessions are kept: sqlite:DIRECTORY; \(StoreChoice.postgresForm), which several servers may share; or \
            memory (they end with the process). (default: sqlite:./data)
            """, transform: StoreChoice.parse)
    var store = StoreChoice.sqlite(directory: "./data")

    @OptionGroup var password: PasswordOptions

    @Option(
        help: """
            strict: what is answered is on the disk, also on that of a database server, or it is refused. relaxed: a power \
            loss may lose the last events.
            """)
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
        try store.validate()
        try password.validate(for: store)
        if storeSize != nil, store.isPostgres {
            throw ValidationError("--store-size is for a store in memory or in a file, not for PostgreSQL.")
        }
    }

    var isInMemory: Bool { store == .memory }

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

    /// - Parameters:
    ///   - report: receives what an operator should know, and whether it is critical.
    ///   - failed: called when only opening the store again can show what is in it.
    /// - Throws: an exit code, after printing the reason to standard error.
    func open(
        report: @escaping @Sendable (_ text: String, _ isCritical: Bool) -> Void,
        failed: @escaping @Sendable (String) -> Void
    ) async throws -> any SessionStore {
        switch store {
        case .memory:
            return MemoryStore(retention: retention, limitBytes: storeSize?.bytes ?? MachineMemory.size / 2)
        case .sqlite(let directory):
            return try StorageOptions.open(
                directory, durability.forSQLite, retention, sizeLimit: storeSize?.bytes ?? 0, by: .server,
                report: { report($0, false) }, failed: failed)
        case .postgres(let uri):
            return try await PostgresAddress(uri: uri, password: try password.password()).store(
                durability, retention, report: report)
        }
    }

    static func open(
        _ directory: String, _ durability: SQLiteStore.Durability = .strict, _ retention: Retention,
        sizeLimit: Int = 0, newSecret: StoreSecret? = nil, by user: DirectoryUser,
        report: @escaping @Sendable (String) -> Void, failed: @escaping @Sendable (String) -> Void
    ) throws -> SQLiteStore {
        do {
            return try SQLiteStore(
                directory: directory, durability: durability, retention: retention, sizeLimit: sizeLimit,
                newSecret: newSecret, report: report, failed: failed)
        } catch {
            throw ExitCode.cannotUse(directory, error, by: user)
        }
    }

    /// The store and what it promises, for the start line.
    var announcement: String {
        let promise = durability == .relaxed ? ", relaxed: power loss may cost the last events" : ""
        switch store {
        case .memory: return "memory, sessions end with this process"
        case .sqlite(let directory): return "sqlite:\(directory)\(promise)"
        case .postgres(let uri): return StoreChoice.postgres(uri: uri).location + promise
        }
    }
}
