internal import ArgumentParser
internal import Coordinators
internal import Glibc
internal import Logging
internal import MicroHTTP
internal import NavigationAPI
internal import Sessions

/// `serve`: runs the server until a signal ends it, see `StopSignals`.
struct ServeCommand<Server: NavigationServer>: AsyncParsableCommand, SettingsCommand {
    static var settings: [String] { Settings.all.map(\.name) }

    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "serve", abstract: "Serves until SIGTERM or Ctrl-C, then drains and exits 0.",
            discussion: """
                SIGHUP and SIGQUIT drain, too. Ctrl-C during a drain ends it: what is under way is cut.

                Sizes: \(ByteSize.form)

                Times: \(Span.form)

                Each setting below may also come from the environment, --idle-expiry from \
                \(Settings.idleExpiry.row.variable), or from the file that --config names; `\(Server.name) config` shows \
                which counts.

                The server writes its address into the file that the environment variable \(AddressFile.variable) \
                names, if there is one; `health` reads it there.
                """)
    }

    @OptionGroup var options: ServeOptions<Server>

    func run() async throws {
        StopSignals.ignoreOthers()
        options.log.install(options.traces.logMetadata)
        let manager = ServiceManager()
        manager?.keepAlive()
        Allocator.giveBackInBackground()
        let metrics = options.admin.metrics()
        let traces = options.traces.tracing(of: (Server.name, Server.version))
        // Before the apps create their own data, which a start that fails should not leave behind.
        try options.storage.store.makeDirectory()
        var setup = ServerSetup(
            isDevelopment: options.apps.development,
            dataDirectory: options.storage.isInMemory ? nil : options.apps.dataDirectory, options: options.own)
        let apps = try await Server.soundApps(&setup, by: .server)
        try await Server.checkLaunch(of: apps)

        let console = try options.console.settings(
            of: "\(Server.name)/\(Server.version ?? Release.version)", apps: apps,
            isDevelopment: options.apps.development)

        let (logger, storeLogger) = (Logger(label: "server"), Logger(label: "store"))
        defer { LineOutput.standardError.flush(milliseconds: 1000) }
        defer { traces?.finish() }
        let store = try await options.storage.open(report: { text, isCritical in
            storeLogger.log(level: isCritical ? .critical : .warning, "\(text)")
        }) { reason in
            // Only opening the store again can show what is on the disk.
            storeLogger.critical("the storage has failed: \(reason)")
            LineOutput.standardError.flush(milliseconds: 500)
            _exit(EX_IOERR)
        }
        let host = SessionHost(
            apps: apps, store: store, settings: settings(hasConsole: console != nil, traces),
            retention: options.storage.retention,
            report: { [logger = Logger(label: "sessions")] in logger.warning("\($0)") })
        var api = options.clients.settings
        api.basePath = options.address.basePath
        api.console = console?.settings
        let handler = NavigationHandler(
            host: host, settings: api, report: FailureLog(Logger(label: "requests")).report)
        // Before any client can connect: from here on a signal drains.
        let drain = options.connections.drain
        let signals = await StopSignals(
            limit: Int((drain.delay + drain.time) / .seconds(1)) + 1 + ServerLifetime.stopGrace)
        var links = RequestChain.Links()
        links.tracer = traces?.tracer
        links.origins = Set(options.clients.allowOrigin.map(\.text))
        links.measures = metrics?.requests
        links.report = AccessLog(share: options.log.accessLog).report
        let server = try listen(RequestChain.around(handler, links))
        let admin = try options.admin.open(
            metrics.map {
                ServerFigures(
                    program: (Server.name, Server.version), metrics: $0, host: host, server: server,
                    traces: traces?.exporter)
            },
            handler)
        let lifetime = ServerLifetime(
            program: Server.announcement, server: server, handler: handler, drain: options.connections.drain,
            address: HTTPAuthority(host: options.address.host, port: server.port), host: host, store: store,
            storeAnnouncement: options.storage.announcement,
            console: console.map { "\(options.address.basePath?.text ?? "")/console\($0.remark)" }, admin: admin,
            manager: manager, logger: logger)
        do {
            try await lifetime.run(setup.services, until: signals)
        } catch let error where !(error is ExitCode) {
            throw ExitCode.cannotStart(EX_SOFTWARE, "a service of the apps failed: \(error)")
        }
    }

    private func settings(hasConsole: Bool, _ traces: Traces?) -> SessionSettings {
        var settings = SessionSettings()
        settings.measuresHandlers = hasConsole
        settings.measuresEvents = options.admin.adminPort != nil
        settings.tracer = traces?.tracer
        settings.build = ProgramFile.build
        options.lifetimes.apply(to: &settings)
        options.limits.apply(to: &settings)
        return settings
    }

    private func listen(_ handler: any HTTPHandler) throws -> HTTPServer {
        var settings = HTTPServer.Settings()
        settings.host = options.address.host
        settings.port = options.address.port
        settings.basePath = options.address.basePath?.segments ?? []
        settings.proxies = options.clients.trustedProxy
        options.connections.apply(to: &settings)
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
