internal import ArgumentParser
internal import Coordinators
internal import CoordinatorsTesting
internal import Glibc
internal import Logging
internal import MicroHTTP
internal import NavigationAPI
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

                Each setting below may also come from the environment, --idle-expiry from \
                \(Settings.Lifetimes().idleExpiry.row.variable), or from the file that --config names; `\(Server.name) \
                config` shows which counts.

                The server writes its address into the file that the environment variable \(AddressFile.variable) \
                names, if there is one; `health` reads it there.
                """)
    }

    @OptionGroup var settings: SettingOptions<Settings>

    @OptionGroup(title: "Options of the apps") var own: Server.Options

    func run() async throws {
        StopSignals.ignoreOthers()
        settings.log.install(settings.traces.logMetadata)
        let manager = ServiceManager()
        manager?.keepAlive()
        Allocator.releaseMemoryInBackground()
        let metrics = settings.admin.metrics()
        let traces = settings.traces.tracing(of: (Server.name, Server.version))
        // Before the apps create their own data, which a start that is refused should not leave behind.
        try settings.storage.store.location.makeDirectory()
        var setup = ServerSetup(
            isDevelopment: settings.apps.development,
            dataDirectory: settings.storage.isInMemory ? nil : settings.apps.data.directory, options: own
        )
        let apps = try await Server.soundApps(&setup, by: .server)
        try await Server.checkLaunch(of: apps)
        for coordinator in App.unlistedCoordinators(in: apps) {
            StandardError.print("Warning: no app lists the coordinator \(coordinator), so no session can start it")
        }

        let console = try settings.console.settings(
            of: "\(Server.name)/\(Server.version ?? Release.version)", apps: apps,
            isDevelopment: settings.apps.development)

        let (logger, storeLogger) = (Logger(label: "server"), Logger(label: "store"))
        defer { LineOutput.standardError.flush(milliseconds: 1000) }
        defer { traces?.finish() }
        let store = try await settings.storage.open(report: { text, isCritical in
            storeLogger.log(level: isCritical ? .critical : .warning, "\(text)")
        }) { reason in
            // Only opening the store again can show what is on the disk.
            storeLogger.critical("the storage has failed: \(reason)")
            LineOutput.standardError.flush(milliseconds: 500)
            _exit(EX_IOERR)
        }
        let host = SessionHost(
            apps: apps, store: store, settings: sessionSettings(hasConsole: console != nil, traces),
            retention: settings.storage.retention,
            report: { [logger = Logger(label: "sessions")] in logger.warning("\($0)") })
        var api = NavigationHandler.Settings()
        api.proxies = settings.clients.trustedProxy
        api.creationRate = settings.clients.creationsPerSecond
        api.basePath = settings.address.basePath
        api.compresses = settings.connections.compress
        api.console = console?.settings
        let keys = try settings.clients.serviceKeys()
        api.serviceKeys = keys
        api.reportSignal = { [logger = Logger(label: "signals")] in logger.debug("\($0)") }
        let handler = NavigationHandler(
            host: host, settings: api, report: FailureLog(Logger(label: "requests")).report)
        // Before any client can connect: from here on a signal drains.
        let drain = (
            delay: settings.connections.drainDelay.duration, time: settings.connections.drainTime.duration
        )
        let signals = await StopSignals(
            limit: Int((drain.delay + drain.time) / .seconds(1)) + 1 + ServerLifetime.stopGrace)
        var links = RequestChain.Links()
        links.tracer = traces?.tracer
        links.origins = Set(settings.clients.allowOrigin)
        links.measures = metrics?.requests
        links.report = AccessLog(share: settings.log.accessLog).report
        let server = try listen(RequestChain.around(handler, links))
        let admin = try settings.admin.open(
            metrics.map {
                ServerFigures(
                    program: (Server.name, Server.version), metrics: $0, host: host, handler: handler,
                    server: server, traces: traces, limits: limits)
            },
            handler,
            console: console?.settings.isPublic == false ? settings.address.basePath?.segments ?? [] : nil)
        let address = HTTPAuthority(host: settings.address.host, port: server.port)
        let lifetime = ServerLifetime(
            program: Server.announcement, server: server, handler: handler, drain: drain,
            address: address, host: host, store: store,
            storeAnnouncement: settings.storage.announcement,
            console: console.map { console in
                let port = console.settings.isPublic ? address : admin?.address ?? address
                return "\(port)\(settings.address.basePath?.text ?? "")/console\(console.remark)"
            }, admin: admin,
            manager: manager, logger: logger, format: settings.log.format(of: STDOUT_FILENO),
            keyFiles: [keys, console?.keyFile].compactMap(\.self))
        do {
            try await lifetime.run(setup.services, until: signals)
        } catch let error where !(error is ExitCode) {
            throw ExitCode.cannotStart(EX_SOFTWARE, "a service of the apps failed: \(error)")
        }
    }

    private func sessionSettings(hasConsole: Bool, _ traces: Traces?) -> SessionSettings {
        var result = SessionSettings()
        result.measuresHandlers = hasConsole
        result.measuresEvents = settings.admin.adminPort != nil
        result.tracer = traces?.tracer
        result.build = ProgramFile.build
        let given = settings.sessions
        given.lifetimes.apply(to: &result)
        result.liveLimit = given.liveSessions
        result.liveMemory = given.liveMemory.bytes
        result.sessionLimit = given.sessions
        result.watcherLimit = given.watchers
        result.eventRate = given.eventsPerSecond
        result.effectLimit = given.effects
        return result
    }

    /// The limits whose use the metrics show.
    private var limits: [ServerLimit] {
        let (sessions, connections) = (settings.sessions, settings.connections)
        var limits = [
            ServerLimit(name: "sessions", limit: sessions.sessions) { $0.storedSessions },
            ServerLimit(name: "live-sessions", limit: sessions.liveSessions) { $0.host.liveFigures.sessions },
            ServerLimit(name: "live-memory", limit: sessions.liveMemory.bytes) { $0.host.liveFigures.bytes },
            ServerLimit(name: "watchers", limit: sessions.watchers) { $0.host.watcherCount },
            ServerLimit(name: "effects", limit: sessions.effects) { $0.host.effectFigures.running },
            ServerLimit(name: "connections", limit: connections.connections) { $0.server.openConnections },
            ServerLimit(name: "requests-size", limit: connections.requestsSize.bytes) { $0.server.receivingBytes },
        ]
        if let size = settings.storage.storeSize?.bytes {
            limits.append(ServerLimit(name: "store-size", limit: size) { $0.host.store.figures.usedBytes })
        }
        return limits
    }

    private func listen(_ handler: any HTTPHandler) throws -> HTTPServer {
        var result = HTTPServer.Settings()
        result.host = settings.address.host
        result.port = settings.address.port
        result.basePath = settings.address.basePath?.segments ?? []
        result.proxies = settings.clients.trustedProxy
        let limits = settings.connections
        result.connectionLimit = limits.connections
        result.addressLimit = limits.connectionsPerAddress
        result.limits.head = limits.headTime.milliseconds
        result.limits.body = limits.bodyTime.milliseconds
        result.limits.sending = limits.answerTime.milliseconds
        result.idleTimeout = limits.idleTime.milliseconds / 1000
        result.headLimit = limits.headSize.bytes
        result.bodyLimit = limits.bodySize.bytes
        result.receivingLimit = limits.requestsSize.bytes
        result.sendingLimit = limits.answersSize.bytes
        do {
            return try HTTPServer(result, handler: handler)
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

extension SettingValues<Settings.Lifetimes> {
    func apply(to settings: inout SessionSettings) {
        settings.idleLifetime = self.idleExpiry.seconds
        settings.absoluteLifetime = self.absoluteExpiry.seconds
    }
}

extension SettingValues<Settings.Clients> {
    /// - Returns: the keys of other systems; `nil` if none are given.
    /// - Throws: an exit code, after printing what is wrong with a key or its file.
    func serviceKeys() throws -> KeyFile? {
        try self.serviceKeyFile.map { try KeyFile($0, .services, Logger(label: "signals")) }
    }
}
