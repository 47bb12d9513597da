internal import ArgumentParser

/// `migrate`: makes or upgrades the tables of a shared store.
struct MigrateCommand: AsyncParsableCommand, SettingsCommand {
    static let settings = storeSettings
    static let configuration = CommandConfiguration(
        commandName: "migrate", abstract: "Makes the tables of a PostgreSQL store, or upgrades them; servers may run.",
        discussion: """
            Run it with each new build before its servers: servers of the build before go on with the upgraded tables. \
            When none of those is left, run it with --contract, which removes what only they need. Both may be repeated. \
            A store in a file needs neither: it is upgraded when it is opened.
            """)

    @OptionGroup var stored: StoredOptions

    @Flag(help: "Removes what only servers of earlier builds need, and shuts those out.")
    var contract = false

    func run() async throws {
        guard case .postgres(let uri) = stored.store else {
            return print("\(stored.store.location): nothing to do: a store in a file is upgraded when it is opened")
        }
        try await PostgresAddress(uri: uri, password: try stored.password.password()).migrate(contracting: contract)
    }
}
