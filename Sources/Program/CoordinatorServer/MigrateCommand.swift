internal import ArgumentParser

/// `migrate`: makes or upgrades the tables of a shared store.
struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate", abstract: "Makes the tables of a PostgreSQL store, or upgrades them; servers may run.",
        discussion: """
            Run it with each new build before its servers: servers of the build before go on with the upgraded tables. \
            When none of those is left, run it with --contract, which removes what only they need. Both may be \
            repeated. A store in a file needs neither: it is upgraded when it is opened.
            """)

    @OptionGroup var settings: SettingOptions<Settings.OfStore>

    @Flag(help: "Removes what only servers of earlier builds need, and shuts those out.")
    var contract = false

    func run() async throws {
        let (store, password) = (try settings.store.lasting, try settings.store.password())
        guard let (before, after) = try await store.migrate(password) else {
            return print("\(store): nothing to do: a store in a file is upgraded when it is opened")
        }
        print("\(store): \(MigrateCommand.description(before, after))")
        guard contract, let (oldest, newOldest) = try await store.migrate(password, contracting: true) else { return }
        print(
            oldest == newOldest
                ? "contracted: nothing was left to remove"
                : "contracted: servers of schemas before \(newOldest) are shut out")
    }

    private static func description(_ before: Int, _ after: Int) -> String {
        switch before {
        case 0: "the tables of schema \(after) were made"
        case after: "the tables have schema \(after) already"
        case ..<after: "the tables were upgraded from schema \(before) to \(after)"
        default: "the tables have schema \(before), which is newer than this program's"
        }
    }
}
