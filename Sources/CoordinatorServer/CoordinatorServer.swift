// CoordinatorServer: what an author's `@main` needs. The command line, start-up, the order of stopping, logs.
//
// It wires the other targets together and adds no behaviour to a session: no route, no transition is decided here.

public import Coordinators
internal import ArgumentParser

/// A server of some apps. Marked `@main`, it is a program with the subcommands `serve` and `health`.
///
/// ```swift
/// @main struct ShopServer: NavigationServer {
///     static let apps = [App("shop", root: AppCoordinator.init, coordinators: [LoginCoordinator.self])]
/// }
/// ```
public protocol NavigationServer {
    /// What is hosted. The first is what a client gets that names none.
    static var apps: [App] { get }
}

extension NavigationServer {
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
            subcommands: [ServeCommand<Server>.self, HealthCommand.self])
    }
}
