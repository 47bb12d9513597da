internal import CoreMetrics
internal import MicroHTTP
internal import NavigationAPI
internal import OpenTelemetry
internal import Prometheus
internal import Sessions

/// What is counted for the metrics alone, and so only if somebody wants them. From its making on, apps that use
/// swift-metrics record into it.
final class ServerMetrics: Sendable {
    let requests = RequestMeasures()
    let apps = AppMetrics(reservedPrefixes: ["coordinatord_", "process_"])

    /// At most once in a process, as swift-metrics demands.
    init() {
        MetricsSystem.bootstrap(apps)
    }

    /// Everything that the server measures.
    static let all = HTTPMetrics.all + SessionMetrics.all + StoreMetrics.all + TraceMetrics.all + ProcessMetrics.all

    static func registry(_ figures: ServerFigures) -> MetricsRegistry {
        let registry = MetricsRegistry(app: figures.metrics.apps)
        for metric in all { registry.add(metric.family) { metric.read(figures) } }
        return registry
    }
}

/// What the metrics are read from.
struct ServerFigures: Sendable {
    /// The program's name, and its own version if it has one.
    let program: (name: String, version: String?)
    let metrics: ServerMetrics
    let host: SessionHost
    let server: HTTPServer
    /// `nil` if nothing is traced.
    let traces: SpanExporter?
}

/// A metric of the server, and how it is read. It is read with every scrape, so that what is counted anyway costs
/// nothing more.
struct ServerMetric: Sendable {
    let family: MetricFamily
    /// No samples for a metric that this server does not have.
    let read: @Sendable (ServerFigures) -> [MetricSample]

    init(
        _ name: String, _ kind: MetricFamily.Kind, labels: [String] = [], _ help: String,
        _ read: @escaping @Sendable (ServerFigures) -> [MetricSample]
    ) {
        family = MetricFamily(name, kind, labels: labels, help)
        self.read = read
    }

    /// A metric without labels.
    init(
        _ name: String, _ kind: MetricFamily.Kind, _ help: String,
        value: @escaping @Sendable (ServerFigures) -> Int?
    ) {
        self.init(name, kind, help) { figures in value(figures).map { [MetricSample(value: $0)] } ?? [] }
    }
}
