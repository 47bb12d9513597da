internal import ArgumentParser
internal import Glibc
internal import SQLiteStore
internal import Sessions

/// `--store` and the options for it.
struct StorageOptions: ParsableArguments {
    @Option(help: Settings.store.help, transform: Settings.store.parse)
    var store = Settings.store.standard

    @OptionGroup(title: SettingTopic.store.rawValue) var password: PasswordOptions

    @Option(help: Settings.durability.help, transform: Settings.durability.parse)
    var durability = Settings.durability.standard

    @Option(help: Settings.history.help, transform: Settings.history.parse)
    var history = Settings.history.standard

    @Option(help: Settings.storeSize.help, transform: Settings.storeSize.parse)
    var storeSize: ByteSize?

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
