// CoordinatorServer: what an author's `@main` needs. The command line, start-up, the order of stopping, logs.
//
// It wires the other targets together and adds no behaviour to a session: no route, no transition is decided here.

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
/// Where the apps depend on the command line, it has `apps(_:)` instead.
public protocol NavigationServer {
    /// What is hosted. The first is what a client gets that names none.
    static var apps: [App] { get }

    /// The same, made for what the command line says. Called once in a process.
    ///
    /// - Throws: what keeps the apps from being made; it is printed, and the program ends with exit code 78.
    static func apps(_ options: AppOptions) throws -> [App]

    /// Subcommands of the program beside the server's own: what is to be done for the apps on the command line.
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

/// The program: its name is the executable's.
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

/// This package, as `openapi.yaml` and `--version` name it.
enum Release {
    static let version = "0.1.0"
}
