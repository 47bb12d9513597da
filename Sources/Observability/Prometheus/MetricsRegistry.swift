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

/// Names as Prometheus allows them, made of those that apps give.
enum MetricName {
    /// `[a-zA-Z_][a-zA-Z0-9_]*`; also `:` is allowed, but reserved for rules.
    static func text(of label: String) -> String {
        var text = ""
        for byte in label.utf8 {
            let isLetter = (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) || byte == UInt8(ascii: "_")
            let isDigit = (0x30...0x39).contains(byte)
            if isDigit, text.isEmpty { text = "_" }
            text.append(isLetter || isDigit ? Character(Unicode.Scalar(byte)) : "_")
        }
        return text.isEmpty ? "_" : text
    }

    /// Sorted. Of several labels with one name, the last counts. What Prometheus reserves gets another name: `le`,
    /// `quantile`, and what begins with `__`.
    static func labels(of dimensions: [(String, String)]) -> [(name: String, value: String)] {
        var values: [String: String] = [:]
        for (label, value) in dimensions {
            var name = text(of: label)
            while name.hasPrefix("__") { name.removeFirst() }
            if name == "le" || name == "quantile" { name += "_" }
            values[name] = value
        }
        return values.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
    }
}
