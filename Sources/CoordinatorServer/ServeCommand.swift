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

    @OptionGroup var connections: ConnectionOptions

    @OptionGroup var clients: ClientOptions

    @OptionGroup var storage: StorageOptions

    @OptionGroup var lifetimes: LifetimeOptions

    @Option(help: "How many sessions are kept in memory; the others are loaded from the store when they are used.")
    var liveSessions = 100_000

    @Option(
        help: """
            About how much memory they may take: 512M, 2G. (default: a quarter of the machine's, or of the control \
            group's where that is less)
            """)
    var liveMemory: ByteSize?

    @Option(help: "How many sessions there may be, resting and just ended ones too.")
    var sessions = 10_000_000

    @Option(help: "Events that one session takes in a second; 0 for any number.")
    var eventsPerSecond = 10_000

    @Flag(help: "Gives the apps their development dependencies, seeded accounts for one.")
    var development = false

    @Option(help: "The directory that the apps keep their own data in; one that needs it creates it.")
    var dataDirectory = "data"

    func run() async throws {
        // A file that has reached its limit is an error to whoever writes to it, not the end of the process.
        signal(SIGXFSZ, SIG_IGN)
        Allocator.giveBackInBackground()
        let apps = try Server.soundApps(AppOptions(isDevelopment: development, dataDirectory: dataDirectory))

        let logger = Logger(label: "coordinatord") { StreamLogHandler.standardError(label: $0) }
        let store = try storage.open { reason in
            // What is on the disk can only be told by opening it anew.
            logger.critical("the storage has failed: \(reason)")
            _exit(EX_IOERR)
        }
        let host = SessionHost(
            apps: apps, store: store, settings: settings, retention: storage.retention,
            report: { logger.warning("\($0)") })
        let handler = NavigationHandler(host: host, settings: clients.settings) { problem, id in
            logger.error("\(problem)", metadata: ["request": "\(id.text)"])
        }
        let server = try listen(clients.opened(handler))
        let line = "coordinatord listening on http://\(address.host):\(server.port) (store: \(storage.announcement))"
        let group = ServiceGroup(
            configuration: .init(
                services: [
                    .init(service: StoreService(store: store)),
                    .init(service: SweepService(host: host, logger: logger)),
                    .init(
                        service: HTTPService(
                            server: server, handler: handler, drain: connections.drain, announcement: line)),
                ],
                gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
        try await group.run()
    }

    func validate() throws {
        guard liveSessions > 0 else { throw ValidationError("--live-sessions takes a number from 1.") }
        guard sessions > 0 else { throw ValidationError("--sessions takes a number from 1.") }
        guard eventsPerSecond >= 0 else { throw ValidationError("--events-per-second takes a number from 0.") }
    }

    private var settings: SessionSettings {
        var settings = SessionSettings()
        settings.idleLifetime = lifetimes.idleExpiry.seconds
        settings.absoluteLifetime = lifetimes.absoluteExpiry.seconds
        settings.liveLimit = liveSessions
        settings.liveMemory = liveMemory?.bytes ?? MachineMemory.size / 4
        settings.sessionLimit = sessions
        settings.eventRate = eventsPerSecond
        return settings
    }

    private func listen(_ handler: any HTTPHandler) throws -> HTTPServer {
        var settings = HTTPServer.Settings()
        settings.host = address.host
        settings.port = address.port
        connections.apply(to: &settings)
        do {
            return try HTTPServer(settings, handler: handler)
        } catch {
            throw ExitCode.cannotStart(EX_UNAVAILABLE, "\(error)")
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
