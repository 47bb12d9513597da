// CoordinatorServer: what an author's `@main` needs. The command line, start-up, the order of stopping, logs.
//
// It wires the other targets together and adds no behaviour to a session: no route and no transition is decided here.

public import ArgumentParser
internal import ByteText
public import Coordinators

/// A server of some apps. Marked `@main`, it is a program with the subcommands `serve`, `check`,
/// `sessions`, `backup`, `restore`, `migrate`, `config`, `graph`, `describe` and `health`.
///
/// ```swift
/// @main struct ShopServer: NavigationServer {
///     static let apps = [App("shop", root: AppCoordinator.init, coordinators: [LoginCoordinator.self])]
/// }
/// ```
///
/// A server whose apps depend on the command line, or on services of their own, declares `apps(_:)` instead of `apps`.
public protocol NavigationServer {
    /// Options of the program's own. `serve`, `check`, `graph` and `describe` take them beside the server's.
    associatedtype Options: ParsableArguments = NoOptions

    /// The program's name in its help and its messages: by default the name of its file.
    static var name: String { get }

    /// The program's version, which `--version` prints before this package's. By default there is none.
    static var version: String? { get }

    /// The hosted apps. The first one is the default, for a client that names none.
    static var apps: [App] { get }

    /// The hosted apps, made according to the command line. Called once in a process.
    ///
    /// - Throws: why the apps cannot be made; it is printed, and the program ends with exit code 78.
    static func apps(_ setup: inout ServerSetup<Options>) async throws -> [App]

    /// Subcommands that the program has beside the server's own, for work on the apps from the command line.
    static var commands: [any ParsableCommand.Type] { get }
}

extension NavigationServer {
    public static var name: String {
        CommandLine.arguments.first?.parts(at: "/").last.map(String.init) ?? "coordinatord"
    }
    public static var version: String? { nil }
    public static var apps: [App] { [] }
    public static func apps(_ setup: inout ServerSetup<Options>) async throws -> [App] { apps }
    public static var commands: [any ParsableCommand.Type] { [] }

    @concurrent
    public static func main() async {
        FirstProcess.begin()
        StandardOutput.checkAtExit()
        await ServerCommand<Self>.main(ServerCommand<Self>.resolved(Array(CommandLine.arguments.dropFirst())))
    }
}

/// The program. Its subcommands are in files of their own.
struct ServerCommand<Server: NavigationServer>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: Server.name,
            abstract: "Holds navigation state per client session, and serves it over HTTP.",
            version: Server.announcement,
            subcommands: [
                ServeCommand<Server>.self, CheckCommand<Server>.self, SessionsCommand.self, BackupCommand.self,
                RestoreCommand.self, MigrateCommand.self, ConfigCommand<Server>.self, GraphCommand<Server>.self,
                DescribeCommand<Server>.self, HealthCommand.self,
                DescribeMetricsCommand.self,
            ] + Server.commands)
    }

    /// The arguments with `--version` of `sessions restore` as its plain argument: ArgumentParser would take it for the
    /// question for the program's version, wherever it stands.
    static func resolved(_ arguments: [String]) -> [String] {
        guard arguments.starts(with: ["sessions", "restore"]) else { return arguments }
        return arguments.filter { $0 != "--version" }.map { argument in
            argument.begins(with: "--version=") ? String(argument.dropFirst("--version=".count)) : argument
        }
    }
}

extension NavigationServer {
    /// The name and the version, with the version of this package.
    static var announcement: String {
        let package = "coordinatord \(Release.version)"
        guard name != "coordinatord" else { return package }
        return version.map { "\(name) \($0) (\(package))" } ?? "\(name) (\(package))"
    }
}

/// This package's version. A test compares `openapi.yaml`, the changelog and the image's label with it.
public enum Release {
    public static let version = "0.1.0"
}
