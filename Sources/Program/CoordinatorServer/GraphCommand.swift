internal import ArgumentParser
internal import Coordinators
internal import CoordinatorsTesting
internal import FoundationEssentials
internal import Glibc
internal import Sessions

/// `graph`: draws the map of an app, found by trying its events. The app is made only for this, with its development
/// dependencies and an empty directory for its data, so no session and no data of a server are touched.
struct GraphCommand<Server: NavigationServer>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "graph", abstract: "Draws the screens and alerts of an app, and the events between them.",
            discussion: """
                Starting from a new session, every accepted event is posted with its example. Timers fire, effects \
                are performed, and also made to fail, and other systems' signals are sent: thick lines. The handlers \
                run with the app's development dependencies. Screens that no example leads to are not on the map. Of \
                the built-in events, such as back, only those are drawn by which a screen was found: broken lines.
                """)
    }

    @Argument(help: "The name of the app.")
    var app: String

    @Option(help: "How to draw it.")
    var format = MapFormat.mermaid

    @Option(help: "How many states are explored.")
    var limit = 500

    @Flag(help: "Draws all built-in events.")
    var builtIn = false

    @OptionGroup(title: "Options of the apps")
    var own: Server.Options

    func validate() throws {
        guard limit > 0 else { throw ValidationError("--limit takes a number from 1.") }
    }

    func run() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "coordinatord-graph-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        var setup = ServerSetup(isDevelopment: true, dataDirectory: directory, options: own)
        let apps = try await Server.soundApps(&setup)
        guard let app = apps.first(where: { $0.name == self.app }) else {
            let names = apps.map(\.name).joined(separator: ", ")
            throw ExitCode.cannotStart(EX_USAGE, "there is no app “\(self.app)”; there are: \(names)")
        }

        let map: AppMap?
        var progress = Progress("graph", unit: "states")
        do {
            map = try await AppMap(exploring: app, limit: limit, progress: { progress.show($0, of: nil) }) {
                (run) async throws(NavigationError) in
                try await result(of: run, CallWatch(limit: GraphCommand.eventLimit))
            }
        } catch {
            throw ExitCode.cannotStart(EX_SOFTWARE, "app “\(app.name)” cannot start a session: \(error)")
        }
        progress.hide()
        guard let map else {
            throw ExitCode.cannotStart(
                EX_SOFTWARE, "app “\(app.name)” does not start a session within \(GraphCommand.eventLimit)")
        }
        print(map.drawn(as: format, withBuiltIn: builtIn))
        if !map.slowEvents.isEmpty {
            StandardError.print(
                """
                Warning: these took longer than \(GraphCommand.eventLimit) and are not on the map: \
                \(map.slowEvents.joined(separator: ", "))
                """)
        }
        if !map.failedEvents.isEmpty {
            StandardError.print(
                "Warning: these only threw an error, and are not on the map: \(map.failedEvents.joined(separator: ", "))"
            )
        }
        for warning in map.warnings { StandardError.print("Warning: \(warning).") }
        if !map.isComplete {
            StandardError.print("Warning: cut short after \(limit) states; a higher --limit shows more.")
        }
    }

    /// How long an event may take.
    private static var eventLimit: Duration { .seconds(3) }
}

extension MapFormat: ExpressibleByArgument {}
