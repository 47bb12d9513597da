internal import ArgumentParser
internal import Glibc
internal import MicroHTTP
internal import NavigationAPI

/// Where the operator's own tools find the server, such as Prometheus.
struct AdminOptions: ParsableArguments {
    @Option(help: Settings.adminPort.help, transform: Settings.adminPort.parse)
    var adminPort: Int?

    @Option(help: Settings.adminHost.help, transform: Settings.adminHost.parse)
    var adminHost = Settings.adminHost.standard

    /// Call before the apps are made, because theirs are among the metrics.
    ///
    /// - Returns: `nil` if nobody wants metrics.
    func metrics() -> ServerMetrics? { adminPort.map { _ in ServerMetrics() } }

    /// Starts to listen.
    ///
    /// - Parameters:
    ///   - figures: what the metrics are read from; `nil` if there is no admin port.
    ///   - api: answers `/livez` and `/readyz`.
    /// - Throws: an exit code, after printing the reason to standard error.
    func open(_ figures: ServerFigures?, _ api: NavigationHandler) throws -> AdminPort? {
        guard let adminPort, let figures else { return nil }
        var settings = HTTPServer.Settings()
        settings.host = adminHost
        settings.port = adminPort
        settings.threads = 1
        settings.connectionLimit = 256
        // A client that sends nothing soon makes room for the others.
        settings.limits.head = 5000
        settings.idleTimeout = 10
        do throws(HTTPServerError) {
            let server = try HTTPServer(settings, handler: AdminHandler(ServerMetrics.registry(figures), api))
            return AdminPort(server: server, address: HTTPAuthority(host: adminHost, port: server.port))
        } catch {
            throw ExitCode.cannotStart(EX_UNAVAILABLE, "\(error); choose another --admin-port or --admin-host")
        }
    }
}
