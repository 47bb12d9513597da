// coordinatord: the server with the reference apps.

internal import CoordinatorServer
internal import Coordinators
internal import FoundationEssentials
internal import ReferenceApps

@main
struct Coordinatord: NavigationServer {
    /// Development has an account to sign in with, `ann@example.com`, whose password is `correct horse`.
    static func apps(_ options: AppOptions) throws -> [App] {
        try FileManager.default.createDirectory(
            atPath: options.dataDirectory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let accounts = try AccountStore(path: "\(options.dataDirectory)/accounts.sqlite")
        if options.isDevelopment { try accounts.seed(email: "ann@example.com", password: "correct horse") }
        return ReferenceApps.all(accounts: accounts)
    }
}
