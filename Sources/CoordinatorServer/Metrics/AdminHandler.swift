internal import MicroHTTP
internal import NavigationAPI
internal import Prometheus

/// Answers what is asked on the admin port.
struct AdminHandler: HTTPHandler {
    private let metrics: MetricsRegistry
    private let api: NavigationHandler

    init(_ metrics: MetricsRegistry, _ api: NavigationHandler) {
        self.metrics = metrics
        self.api = api
    }

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
        default: return HTTPResponse(status: 404)
        }
    }
}

/// The open admin port.
struct AdminPort {
    let server: HTTPServer
    let address: HTTPAuthority

    func stop() async { await server.stop(within: .zero, idleGrace: .zero) }
}
