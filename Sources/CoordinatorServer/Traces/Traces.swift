internal import MicroHTTP
internal import NavigationAPI
internal import OpenTelemetry

/// What traces a server.
struct Traces {
    let tracer: SpanTracer
    let exporter: SpanExporter

    /// How long the last spans may take to be sent, in seconds.
    private static let patience = 0.5

    /// For the end of the process.
    func finish() { exporter.finish(within: Traces.patience) }
}

extension Traces? {
    /// The handler, with a span for each request if there are traces.
    func traced(_ handler: any HTTPHandler) -> any HTTPHandler {
        map { TracedHandler(handler, $0.tracer) } ?? handler
    }
}
