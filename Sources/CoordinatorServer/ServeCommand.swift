internal import ArgumentParser
internal import Coordinators
internal import Glibc
internal import Logging
internal import MicroHTTP
internal import NavigationAPI
internal import ServiceLifecycle
internal import Sessions

/// `serve`: runs the server until a signal ends it, see `StopSignals`.
struct ServeCommand<Server: NavigationServer>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "serve", abstract: "Serves until SIGTERM or Ctrl-C, then drains and exits 0.",
            discussion: """
                SIGHUP and SIGQUIT drain, too. Ctrl-C during a drain ends it: what is under way is cut.

                Sizes: \(ByteSize.form)

                Times: \(Span.form)

                The server writes its address into the file that the environment variable \(AddressFile.variable) \
                names, if there is one; `health` reads it there.
                """)
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
            About how much memory the sessions in memory may take. (default: a quarter of the machine's, or of the \
            control group's if that is less)
            """, transform: ByteSize.parse)
    var liveMemory: ByteSize?

    @Option(help: "How many sessions there may be, including those only in the store and those that ended recently.")
    var sessions = 10_000_000

    @Option(help: "Streams of changes, and requests that wait for one, at a time.")
    var watchers = 5000

    @Option(help: "Events that one session accepts in a second; 0 for any number.")
    var eventsPerSecond = 10_000

    @Flag(help: "Gives the apps their development dependencies, such as seeded accounts.")
    var development = false

    @Option(
        help: """
            The directory for the apps' own data; an app that needs it creates it. With --store memory, apps store no \
            data.
            """)
    var dataDirectory = "data"

    @OptionGroup(title: "Metrics")
    var admin: AdminOptions

    @OptionGroup(title: "Console")
    var console: ConsoleOptions

    @OptionGroup(title: "Options of the apps")
    var own: Server.Options

    func run() async throws {
        StopSignals.ignoreOthers()
        Allocator.giveBackInBackground()
        let metrics = admin.metrics()
        // Before the apps create their own data, which a start that fails should not leave behind.
        try storage.makeDirectory()
        var setup = ServerSetup(
            isDevelopment: development, dataDirectory: storage.isInMemory ? nil : dataDirectory, options: own)
        let apps = try await Server.soundApps(&setup, by: .server)
        try await Server.checkLaunch(of: apps)

        let console = try console.settings(
            of: "\(Server.name)/\(Server.version ?? Release.version)", apps: apps, isDevelopment: development)

        let logger = Logger(label: Server.name) { _ in LineLogHandler(.standardError) }
        defer { LineOutput.standardError.flush(milliseconds: 1000) }
        let store = try await storage.open(report: { text, isCritical in
            logger.log(level: isCritical ? .critical : .warning, "\(text)")
        }) { reason in
            // Only opening the store again can show what is on the disk.
            logger.critical("the storage has failed: \(reason)")
            LineOutput.standardError.flush(milliseconds: 500)
            _exit(EX_IOERR)
        }
        let host = SessionHost(
            apps: apps, store: store, settings: settings(hasConsole: console != nil), retention: storage.retention,
            report: { logger.warning("\($0)") })
        var api = clients.settings
        api.basePath = address.basePath
        api.console = console?.settings
        let handler = NavigationHandler(
            host: host, settings: api, report: FailureLog(logger).report)
        // Before any client can connect: from here on a signal drains.
        let signals = await StopSignals()
        let opened = clients.opened(handler)
        let server = try listen(metrics.map { MeasuredHandler(opened, $0.requests) } ?? opened)
        let admin = try admin.service(
            metrics.map {
                ServerFigures(program: (Server.name, Server.version), metrics: $0, host: host, server: server)
            },
            handler)
        let listening = HTTPService(
            program: Server.announcement, server: server, handler: handler, drain: connections.drain,
            address: HTTPAuthority(host: address.host, port: server.port), store: storage.announcement,
            console: console.map { "\(address.basePath?.text ?? "")/console\($0.remark)" }, admin: admin?.address,
            logger: logger)
        let group = ServiceGroup(
            configuration: .init(
                services: (admin.map { [.init(service: $0)] } ?? []) + setup.services.map { .init(ofApps: $0) } + [
                    .init(service: StoreService(store: store, hasOthers: !setup.services.isEmpty, logger: logger)),
                    .init(service: SweepService(host: host, logger: logger)),
                    .init(service: FollowingService(host: host)),
                    .init(service: listening),
                ], logger: logger))
        do {
            try await signals.run(group, logger: logger)
        } catch let error where !(error is ExitCode) {
            throw ExitCode.cannotStart(EX_SOFTWARE, "a service of the apps failed: \(error)")
        }
    }

    func validate() throws {
        guard liveSessions > 0 else { throw ValidationError("--live-sessions takes a number from 1.") }
        try liveMemory?.validate("--live-memory", from: ByteSize(64 << 10))
        guard sessions > 0 else { throw ValidationError("--sessions takes a number from 1.") }
        guard watchers >= 0 else { throw ValidationError("--watchers takes a number from 0.") }
        guard eventsPerSecond >= 0 else { throw ValidationError("--events-per-second takes a number from 0.") }
    }

    private func settings(hasConsole: Bool) -> SessionSettings {
        var settings = SessionSettings()
        settings.measuresHandlers = hasConsole
        settings.measuresEvents = admin.adminPort != nil
        lifetimes.apply(to: &settings)
        settings.liveLimit = liveSessions
        settings.liveMemory = liveMemory?.bytes ?? MachineMemory.size / 4
        settings.sessionLimit = sessions
        settings.watcherLimit = watchers
        settings.eventRate = eventsPerSecond
        return settings
    }

    private func listen(_ handler: any HTTPHandler) throws -> HTTPServer {
        var settings = HTTPServer.Settings()
        settings.host = address.host
        settings.port = address.port
        settings.basePath = address.basePath?.segments ?? []
        connections.apply(to: &settings)
        do {
            return try HTTPServer(settings, handler: handler)
        } catch {
            throw ExitCode.cannotStart(EX_UNAVAILABLE, "\(error)\(advice(error))")
        }
    }

    private func advice(_ error: HTTPServerError) -> String {
        switch error {
        case .addressInUse: "; choose another --port"
        case .cannotListen(_, 1..<1024, String(cString: strerror(EACCES))):
            "; ports below 1024 need root; choose another --port"
        default: ""
        }
    }
}
