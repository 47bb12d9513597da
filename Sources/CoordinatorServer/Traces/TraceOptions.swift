internal import ArgumentParser
internal import FoundationEssentials
internal import Logging
internal import OpenTelemetry
internal import Tracing

/// Which requests are traced, and where their spans go.
struct TraceOptions: ParsableArguments {
    @Option(help: Settings.traceEndpoint.help, transform: Settings.traceEndpoint.parse)
    var traceEndpoint: SpanCollector?

    @Option(help: Settings.traceSample.help, transform: Settings.traceSample.parse)
    var traceSample = Settings.traceSample.standard

    @Option(help: Settings.traceService.help, transform: Settings.traceService.parse)
    var traceService: String?

    /// Puts the trace of a request into its log entries; `nil` if nothing is traced.
    var logMetadata: Logger.MetadataProvider? {
        traceEndpoint.map { _ in
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
        guard let traceEndpoint else { return nil }
        let resource = SpanResource(
            service: traceService ?? program.name, version: program.version ?? Release.version,
            instance: UUID().uuidString.lowercased(), library: Release.version)
        let exporter = SpanExporter(to: traceEndpoint, from: resource) { [logger = Logger(label: "traces")] in
            logger.warning("\($0)")
        }
        let tracer = SpanTracer(exporter, share: traceSample.percent / 100)
        InstrumentationSystem.bootstrap(tracer)
        return Traces(tracer: tracer, exporter: exporter)
    }
}
