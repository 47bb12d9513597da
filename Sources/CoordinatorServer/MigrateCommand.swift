internal import ArgumentParser
internal import Glibc

#if Postgres
    internal import PostgresStore
#endif

/// `migrate`: makes or upgrades the tables of a shared store.
struct MigrateCommand: AsyncParsableCommand {
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
        #if Postgres
            try await migrate(PostgresAddress(uri: uri, password: try stored.password.password()))
        #endif
    }

    #if Postgres
        private func migrate(_ address: PostgresAddress) async throws {
            do throws(PostgresStoreError) {
                let (before, after) = try await PostgresStore.migrate(uri: address.uri, password: address.password)
                print("\(address.location): \(MigrateCommand.description(before, after))")
                guard contract else { return }
                let (oldest, newOldest) = try await PostgresStore.contract(uri: address.uri, password: address.password)
                print(
                    oldest == newOldest
                        ? "contracted: nothing was left to remove"
                        : "contracted: servers of schemas before \(newOldest) are shut out")
            } catch .noSchema {
                throw ExitCode.cannotStart(
                    EX_NOPERM,
                    """
                    \(address.location): this role may not create tables: run this as the database's owner, or GRANT \
                    CREATE ON SCHEMA public to the role
                    """)
            } catch {
                throw ExitCode.cannotUse(address.location, error)
            }
        }

        private static func description(_ before: Int, _ after: Int) -> String {
            switch before {
            case 0: "the tables of schema \(after) were made"
            case after: "the tables have schema \(after) already"
            case ..<after: "the tables were upgraded from schema \(before) to \(after)"
            default: "the tables have schema \(before), which is newer than this program's"
            }
        }
    #endif
}
