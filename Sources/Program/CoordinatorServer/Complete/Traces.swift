#if Complete
internal import ArgumentParser
internal import ByteText
internal import FoundationEssentials
internal import Logging
internal import MicroHTTP
internal import OpenTelemetry
internal import Prometheus
internal import Tracing

/// The tracer of a server, and the exporter of its spans.
struct Traces {
    let tracer: SpanTracer
    let exporter: SpanExporter

    /// How long the last spans may take to be sent, in seconds.
    private static let finishTime = 0.5

    /// Sends the last spans. Call at the end of the process.
    func finish() { exporter.finish(within: Traces.finishTime) }
}

extension Settings {
    /// Which requests are traced, and where their spans go.
    struct Traces: SettingGroup {
        static let title = "Traces"

        let traceEndpoint = Setting(
            "trace-endpoint", SettingForm("url", TraceEndpoint.form, parse: TraceEndpoint.parse),
            unset: "none, and nothing is traced",
            """
            Sends spans to an OpenTelemetry collector, as OTLP in JSON, to /v1/traces below this URL: \
            http://localhost:4318. Without TLS: the collector is on this machine or in its pod.
            """)
        let traceSample = Setting(
            "trace-sample", .share, default: "all",
            """
            How many of the traces that begin here are recorded: off, all, or a share such as 1%. A request that \
            belongs to a trace already, by its field traceparent, is recorded if its caller says so.
            """)
        let traceService = Setting(
            "trace-service", SettingForm("name", "a name", parse: { $0 }), unset: "the name of the program",
            "The name of this service in traces, service.name; that of all servers that do the same.")

        func conflicts(in settings: SettingResolution) -> [String] {
            let isTraced = settings.value(of: traceEndpoint) != nil
            return settings.unused(traceSample, without: traceEndpoint, unless: isTraced, "is for --trace-endpoint.")
                + settings.unused(traceService, without: traceEndpoint, unless: isTraced, "is for --trace-endpoint.")
        }
    }
}

extension SettingValues<Settings.Traces> {
    /// Puts the trace of a request into its log entries; `nil` if nothing is traced.
    var logMetadata: Logger.MetadataProvider? {
        self.traceEndpoint.map { _ in
            Logger.MetadataProvider {
                InstrumentationContext.current?.trace.map { ["trace": "\($0.trace)"] } ?? [:]
            }
        }
    }

    /// Call before the apps are made, because they may make spans, too; at most once in a process.
    ///
    /// - Parameter program: its name, and its own version if it has one.
    /// - Returns: `nil` if nothing is traced.
    func tracing(of program: (name: String, version: String?)) -> Traces? {
        guard let endpoint = self.traceEndpoint else { return nil }
        let resource = SpanResource(
            service: self.traceService ?? program.name, version: program.version ?? Release.version,
            instance: UUID().uuidString.lowercased(), library: Release.version)
        let exporter = SpanExporter(to: endpoint, from: resource) { [logger = Logger(label: "traces")] in
            logger.warning("\($0)")
        }
        let tracer = SpanTracer(exporter, share: self.traceSample.percent / 100)
        InstrumentationSystem.bootstrap(tracer)
        return Traces(tracer: tracer, exporter: exporter)
    }
}

/// The value of `--trace-endpoint`: `http://HOST:PORT`, with a path if the collector is below one.
enum TraceEndpoint {
    static let form = "a URL such as http://localhost:4318"

    // No message repeats the URL, which may have a password.

    @Sendable static func parse(_ text: String) throws -> SpanCollector {
        let url = text.utf8.allSatisfy { (0x21...0x7E).contains($0) } ? URL(string: text) : nil
        if url?.scheme?.lowercased() == "https" {
            throw ValidationError(
                "This server does not speak TLS: send to a collector on this machine, by http.")
        }
        guard let url, url.scheme?.lowercased() == "http", let host = url.host(), !host.isEmpty, url.user() == nil,
            url.query() == nil, url.fragment() == nil, (1...65_535).contains(url.port ?? 80)
        else { throw ValidationError("It is not \(form).") }
        var path = url.path(percentEncoded: true)
        while path.ends(with: "/") { path.removeLast() }
        if path.ends(with: "/v1/traces") {
            throw ValidationError("Leave /v1/traces out: it is added.")
        }
        return SpanCollector(authority: HTTPAuthority(host: host, port: url.port ?? 80), basePath: path)
    }
}

/// The spans that end here.
enum TraceMetrics {
    static let all = [
        ServerMetric("coordinatord_trace_spans_sent_total", .counter, "Spans that the collector has accepted.") {
            $0.traces?.exporter.counts.sent
        },
        ServerMetric(
            "coordinatord_trace_spans_dropped_total", .counter,
            "Spans that are lost, because the collector was slow, refused them or could not be reached."
        ) { $0.traces?.exporter.counts.dropped },
    ]
}
#endif
