internal import ArgumentParser
internal import Glibc
internal import PostgresStore

extension PostgresAddress {
    /// Makes or upgrades the tables, and prints what it did.
    func migrate(contracting: Bool) async throws {
        do throws(PostgresStoreError) {
            let (before, after) = try await PostgresStore.migrate(uri: uri, password: password)
            print("\(location): \(PostgresAddress.description(before, after))")
            guard contracting else { return }
            let (oldest, newOldest) = try await PostgresStore.contract(uri: uri, password: password)
            print(
                oldest == newOldest
                    ? "contracted: nothing was left to remove"
                    : "contracted: servers of schemas before \(newOldest) are shut out")
        } catch .noSchema {
            throw ExitCode.cannotStart(
                EX_NOPERM,
                """
                \(location): this role may not create tables: run this as the database's owner, or GRANT \
                CREATE ON SCHEMA public to the role
                """)
        } catch {
            throw ExitCode.cannotUse(location, error)
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
}
