internal import Synchronization

/// The metrics of a process.
public final class MetricsRegistry: Sendable {
    public typealias Read = @Sendable () -> [MetricSample]

    private let families = Mutex<[(family: MetricFamily, read: Read)]>([])
    private let app: AppMetrics?

    /// The media type of `text`.
    public static let mediaType = "text/plain; version=0.0.4; charset=utf-8"

    /// - Parameter app: the apps' own metrics, which are written last.
    public init(app: AppMetrics? = nil) {
        self.app = app
    }

    /// - Parameter read: called for each scrape, on the thread of its connection. Without samples, the scrape does not
    ///   contain the metric.
    public func add(_ family: MetricFamily, _ read: @escaping Read) {
        families.withLock { $0.append((family, read)) }
    }

    /// All metrics as they are now.
    public func text() -> [UInt8] {
        var writer = TextWriter()
        for (family, read) in families.withLock({ $0 }) { writer.write(family, read()) }
        for (family, samples) in app?.samples() ?? [] { writer.write(family, samples) }
        return writer.text
    }
}
