internal import ArgumentParser
internal import Coordinators
internal import Glibc
internal import Logging
internal import MicroHTTP
internal import NavigationAPI
internal import ServiceLifecycle
internal import Sessions
internal import UnixSignals

/// `serve`: runs the server until SIGTERM or SIGINT.
struct ServeCommand<Server: NavigationServer>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(commandName: "serve", abstract: "Serves until SIGTERM or SIGINT, then drains and exits 0.")
    }

    @OptionGroup var address: AddressOptions

    @Option(help: "Where sessions are kept: memory (they end with the process).")
    var store = StoreChoice.memory

    @Flag(help: "Gives the apps their development dependencies, seeded accounts for one.")
    var development = false

    @Option(help: "The directory that the apps keep their own data in; one that needs it creates it.")
    var dataDirectory = "data"

    func run() async throws {
        let apps = try Server.soundApps(AppOptions(isDevelopment: development, dataDirectory: dataDirectory))

        let logger = Logger(label: "coordinatord") { StreamLogHandler.standardError(label: $0) }
        let host = SessionHost(apps: apps, store: store.open())
        let handler = NavigationHandler(host: host) { logger.error("\($0)") }
        var settings = HTTPServer.Settings()
        settings.host = address.host
        settings.port = address.port
        let server: HTTPServer
        do {
            server = try HTTPServer(settings, handler: handler)
        } catch {
            throw ExitCode.cannotStart(EX_UNAVAILABLE, "\(error)")
        }

        let line = "coordinatord listening on http://\(address.host):\(server.port) (store: \(store.announcement))"
        let group = ServiceGroup(
            configuration: .init(
                services: [
                    .init(service: SweepService(host: host, logger: logger)),
                    .init(service: HTTPService(server: server, handler: handler, announcement: line)),
                ],
                gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
        try await group.run()
    }
}

/// What `--store` takes.
enum StoreChoice: String, ExpressibleByArgument {
    case memory

    func open() -> any SessionStore {
        switch self {
        case .memory: MemoryStore()
        }
    }

    var announcement: String {
        switch self {
        case .memory: "memory, sessions end with this process"
        }
    }
}

/// `--host` and `--port`.
struct AddressOptions: ParsableArguments {
    @Option(help: "The address to listen on.")
    var host = "127.0.0.1"

    @Option(help: "The port to listen on; 0 for any free one.")
    var port = 8080

    func validate() throws {
        guard (0...65_535).contains(port) else { throw ValidationError("--port takes a number from 0 to 65535.") }
    }
}
