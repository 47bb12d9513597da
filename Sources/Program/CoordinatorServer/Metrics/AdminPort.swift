internal import ArgumentParser
internal import Glibc
internal import MicroHTTP
internal import NavigationAPI
internal import Prometheus

extension SettingValues<Settings.Admin> {
    /// Call before the apps are made, because they may make metrics.
    ///
    /// - Returns: `nil` if there is no admin port.
    func metrics() -> ServerMetrics? { self.adminPort.map { _ in ServerMetrics() } }

    /// Starts to listen.
    ///
    /// - Parameters:
    ///   - figures: what the metrics are read from; `nil` if there is no admin port.
    ///   - api: answers `/livez` and `/readyz`.
    ///   - console: where the console is, as segments in front of all paths; with it, `api` answers everything else,
    ///     too. `nil` for no console.
    /// - Throws: an exit code, after printing the reason to standard error.
    func open(_ figures: ServerFigures?, _ api: NavigationHandler, console: [String]?) throws -> AdminPort? {
        guard let adminPort = self.adminPort, let figures else { return nil }
        var settings = HTTPServer.Settings()
        settings.host = self.adminHost
        settings.port = adminPort
        settings.threads = 1
        settings.connectionLimit = 256
        settings.basePath = console ?? []
        // A client that sends nothing soon makes room for the others.
        settings.limits.head = 5000
        settings.idleTimeout = 10
        do throws(HTTPServerError) {
            let handler = AdminHandler(
                metrics: ServerMetrics.registry(figures), api: api, hasConsole: console != nil)
            let server = try HTTPServer(settings, handler: handler)
            return AdminPort(server: server, address: HTTPAuthority(host: self.adminHost, port: server.port))
        } catch {
            throw ExitCode.cannotStart(EX_UNAVAILABLE, "\(error); choose another --admin-port or --admin-host")
        }
    }
}

/// Answers what is asked on the admin port.
struct AdminHandler: HTTPHandler {
    let metrics: MetricsRegistry
    let api: NavigationHandler
    let hasConsole: Bool

    func respond(to request: HTTPRequest) async -> HTTPResponse {
        switch request.target.segments {
        case ["metrics"]:
            guard ["GET", "HEAD"].contains(request.method) else {
                return HTTPResponse(status: 405, headers: ["Allow": "GET, HEAD"])
            }
            return HTTPResponse(
                status: 200, headers: ["Content-Type": MetricsRegistry.mediaType, "Cache-Control": "no-store"],
                body: metrics.text())
        case ["livez"], ["readyz"]: return await api.respond(to: request)
        // The console's page also asks what clients ask.
        case _ where hasConsole: return await api.respondToOperator(request)
        default: return HTTPResponse(status: 404)
        }
    }

    func response(for refusal: HTTPRefusal, to request: RefusedRequest) -> HTTPResponse {
        hasConsole ? api.response(for: refusal, to: request) : HTTPResponse(status: refusal.status)
    }
}

/// The open admin port.
struct AdminPort {
    let server: HTTPServer
    let address: HTTPAuthority

    func stop() async { await server.stop(within: .zero, idleGrace: .zero) }
}

/// Prints the table in docs/metrics.md, see `scripts/describe`.
struct DescribeMetricsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "describe-metrics", abstract: "Prints the metrics as a table in Markdown.", shouldDisplay: false)

    func run() {
        print("| metric | kind | labels | meaning |\n|---|---|---|---|")
        for family in ServerMetrics.all.map(\.family) {
            let labels = family.labels.map { "`\($0)`" }.joined(separator: ", ")
            print("| `\(family.name)` | \(family.kind.rawValue) | \(labels) | \(family.help) |")
        }
    }
}
