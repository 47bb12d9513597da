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
