// coordinatord: the server with the reference apps, the command for the accounts that two of them sign in with, and the
// command that begins a package for an author's own app.

internal import ArgumentParser
internal import CoordinatorServer
internal import Coordinators
internal import FoundationEssentials
internal import ReferenceApps

@main
struct Coordinatord: NavigationServer {
    static let commands: [any ParsableCommand.Type] = [AccountsCommand.self, NewCommand.self]

    /// With `--development` there is an account to sign in with, `ann@example.com`, whose password is `correct horse`.
    static func apps(_ setup: inout ServerSetup<NoOptions>) throws -> [App] {
        if let directory = setup.dataDirectory { try makeDirectory(directory) }
        let accounts = try AccountStore(
            path: setup.dataDirectory.map(accountsFile), isDevelopment: setup.isDevelopment)
        return ReferenceApps.all(accounts: accounts)
    }

    static func makeDirectory(_ path: String) throws {
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    static func accountsFile(in directory: String) -> String { "\(directory)/accounts.sqlite" }
}
