// CoordinatorServer: what an author's `@main` needs. The command line, start-up, the order of stopping, logs.
//
// It wires the other targets together and adds no behaviour to a session: no route and no transition is decided here.

public import ArgumentParser
public import Coordinators

/// A server of some apps. Marked `@main`, it is a program with the subcommands `serve`, `check`,
/// `sessions`, `backup`, `graph` and `health`.
///
/// ```swift
/// @main struct ShopServer: NavigationServer {
///     static let apps = [App("shop", root: AppCoordinator.init, coordinators: [LoginCoordinator.self])]
/// }
/// ```
///
/// A server whose apps depend on the command line declares `apps(_:)` instead of `apps`.
public protocol NavigationServer {
    /// The hosted apps. The first one is the default, for a client that names none.
    static var apps: [App] { get }

    /// The hosted apps, made according to the command line. Called once in a process.
    ///
    /// - Throws: why the apps cannot be made; it is printed, and the program ends with exit code 78.
    static func apps(_ options: AppOptions) throws -> [App]

    /// Subcommands that the program has beside the server's own, for work on the apps from the command line.
    static var commands: [any ParsableCommand.Type] { get }
}

extension NavigationServer {
    public static var apps: [App] { [] }
    public static func apps(_ options: AppOptions) throws -> [App] { apps }
    public static var commands: [any ParsableCommand.Type] { [] }

    @concurrent
    public static func main() async {
        await ServerCommand<Self>.main()
    }
}

/// The program. Its subcommands are in files of their own.
struct ServerCommand<Server: NavigationServer>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "coordinatord",
            abstract: "Holds navigation state per client session, and serves it over HTTP.",
            version: "coordinatord \(Release.version)",
            subcommands: [
                ServeCommand<Server>.self, CheckCommand<Server>.self, SessionsCommand.self, BackupCommand.self,
                GraphCommand<Server>.self, HealthCommand.self,
            ] + Server.commands)
    }
}

/// This package's version, as in `openapi.yaml` and `--version`.
enum Release {
    static let version = "0.1.0"
}
