internal import AppMaps
internal import ArgumentParser
internal import Coordinators
internal import FoundationEssentials
internal import Glibc

/// `graph`: draws the map of an app, found by trying its events. The app is made only for this, with its development
/// dependencies and an empty directory for its data, so no session and no data of a server are touched.
struct GraphCommand<Server: NavigationServer>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "graph", abstract: "Draws the screens of an app and the events between them.",
            discussion: """
                Starting from a new session, every accepted event is posted with its example. The handlers run with \
                the app's development dependencies. Screens that no example leads to are not on the map.
                """)
    }

    @Argument(help: "The name of the app.")
    var app: String

    @Option(help: "How to draw it.")
    var format = MapFormat.mermaid

    @Option(help: "How many states are explored.")
    var limit = 500

    func validate() throws {
        guard limit > 0 else { throw ValidationError("--limit takes a number from 1.") }
    }

    func run() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "coordinatord-graph-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let apps = try Server.soundApps(AppOptions(isDevelopment: true, dataDirectory: directory))
        guard let app = apps.first(where: { $0.name == self.app }) else {
            let names = apps.map(\.name).joined(separator: ", ")
            throw ExitCode.cannotStart(EX_USAGE, "there is no app “\(self.app)”; there are: \(names)")
        }

        let map: AppMap
        do {
            map = try await AppMap(exploring: app, limit: limit)
        } catch {
            throw ExitCode.cannotStart(EX_SOFTWARE, "app “\(app.name)” cannot start a session: \(error)")
        }
        print(map.drawn(as: format))
        if !map.isComplete {
            StandardError.print("Warning: cut short after \(limit) states; a higher --limit shows more.")
        }
    }
}

extension MapFormat: ExpressibleByArgument {}
