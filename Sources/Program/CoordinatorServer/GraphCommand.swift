internal import ArgumentParser
internal import Coordinators
internal import CoordinatorsTesting
internal import FoundationEssentials
internal import Glibc
internal import Sessions

/// `graph`: draws the map of an app, found by trying its events.
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

    @Argument(help: "The name of the app; the program's only one may be left out.")
    var app: String?

    @Option(help: "How to draw it.")
    var format = MapFormat.mermaid

    @Option(help: "How many states are explored.")
    var limit = 500

    @Flag(help: "Draws all built-in events.")
    var builtIn = false

    @OptionGroup(visibility: .hidden)
    var exploration: ExplorationOptions

    @OptionGroup(title: "Options of the apps")
    var own: Server.Options

    func validate() throws {
        guard limit > 0 else { throw ValidationError("--limit takes a number from 1.") }
    }

    func run() async throws {
        let (map, _) = try await Server.explore(app, own, limit: limit, exploration.eventLimit, "graph")
        print(map.drawn(as: format, withBuiltIn: builtIn))
    }
}

extension NavigationServer {
    /// Explores an app, and warns of what was not found. The app is made only for this, with its development dependencies
    /// and an empty directory for its data, so no session and no data of a server are touched.
    ///
    /// - Parameters:
    ///   - name: the app's; `nil` for the only one.
    ///   - eventLimit: how long an event may take.
    ///   - command: the name of the command, for its messages.
    /// - Throws: an exit code, after printing the reason to standard error.
    static func explore(
        _ name: String?, _ options: Options, limit: Int, _ eventLimit: Duration, _ command: String
    ) async throws -> (AppMap, AppDescription) {
        let directory = FileManager.default.temporaryDirectory.appending(path: "coordinatord-\(command)-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        var setup = ServerSetup(isDevelopment: true, dataDirectory: directory, options: options)
        let apps = try await soundApps(&setup)
        guard let app = apps.first(where: { $0.name == name ?? $0.name }), name != nil || apps.count == 1 else {
            let names = apps.map(\.name).joined(separator: ", ")
            let fault = name.map { "there is no app “\($0)”; there" } ?? "which app is meant? There"
            throw ExitCode.cannotStart(EX_USAGE, "\(fault) are: \(names)")
        }

        let description = AppDescription(app)
        let found: AppMap?
        var progress = Progress(command, unit: "states")
        do {
            found = try await AppMap(
                exploring: app, limit: limit, progress: { progress.show($0, of: nil) },
                visit: { description.observe($0.result.state) },
                by: { (run) async throws(NavigationError) in
                    try await result(of: run, CallWatch(limit: eventLimit))
                })
        } catch {
            throw ExitCode.cannotStart(EX_SOFTWARE, "app “\(app.name)” cannot start a session: \(error)")
        }
        progress.hide()
        guard let map = found else {
            throw ExitCode.cannotStart(
                EX_SOFTWARE, "app “\(app.name)” does not start a session within \(eventLimit)")
        }
        warn(of: map, limit: limit, eventLimit)
        return (map, description)
    }

    private static func warn(of map: AppMap, limit: Int, _ eventLimit: Duration) {
        if !map.slowEvents.isEmpty {
            StandardError.print(
                """
                Warning: these took longer than \(eventLimit) and are not on the map: \
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
}

/// How an app is explored. Hidden: the default suits people, and tests have slow machines, or slow apps.
struct ExplorationOptions: ParsableArguments {
    /// How long an event may take, in seconds.
    @Option(help: .hidden)
    var eventTime = 3

    var eventLimit: Duration { .seconds(eventTime) }
}

extension MapFormat: ExpressibleByArgument {}
