internal import ArgumentParser
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

    /// - Parameters:
    ///   - report: receives what an operator should know, and whether it is critical.
    ///   - failed: called when only opening the store again can show what is in it.
    /// - Throws: an exit code, after printing the reason to standard error.
    func open(
        report: @escaping @Sendable (_ text: String, _ isCritical: Bool) -> Void,
        failed: @escaping @Sendable (String) -> Void
    ) async throws -> any SessionStore {
        guard !isInMemory else {
            return MemoryStore(retention: retention, limitBytes: storeSize?.bytes ?? MachineMemory.size / 2)
        }
        return try await store.open(
            by: .server, try password.password(), durability: durability, retention, sizeLimit: storeSize?.bytes ?? 0,
            report: report,
            failed: failed)
    }

    /// The store and what it promises, for the start line.
    var announcement: String {
        let promise = durability == .relaxed ? ", relaxed: power loss may cost the last events" : ""
        return isInMemory ? "memory, sessions end with this process" : store.location + promise
    }
}
