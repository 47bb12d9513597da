public import CoreMetrics
internal import Synchronization

/// What apps record through swift-metrics.
///
/// A counter is a counter, whose name gets the ending `_total`; a meter, and a recorder that does not aggregate, is a
/// gauge; a recorder that does is a summary; a timer is a histogram of seconds, whose name gets the ending `_seconds`.
/// Characters that Prometheus does not allow in names become `_`. A second request for a metric with the same labels
/// returns the same handler, so recording costs one atomic addition.
///
/// A metric is not recorded if it is beyond a limit, or has the name of a metric of the server or of another kind:
/// `dropped` counts these.
public final class AppMetrics: MetricsFactory {
    fileprivate struct Series {
        let labels: [(name: String, value: String)]
        let handler: any AppMetricHandler
    }

    fileprivate struct Family {
        let family: MetricFamily
        var series: [String: Series] = [:]
    }

    fileprivate struct State {
        var families: [String: Family] = [:]
        /// In the order in which they were made.
        var names: [String] = []
        var dropped = 0
    }

    private let state = Mutex(State())
    private let familyLimit: Int
    private let seriesLimit: Int
    private let reservedPrefixes: [String]

    /// - Parameters:
    ///   - familyLimit: how many metrics there may be.
    ///   - seriesLimit: how many combinations of labels one metric may have.
    ///   - reservedPrefixes: what no metric's name may begin with.
    public init(familyLimit: Int = 200, seriesLimit: Int = 500, reservedPrefixes: [String] = []) {
        self.familyLimit = familyLimit
        self.seriesLimit = seriesLimit
        self.reservedPrefixes = reservedPrefixes
    }

    /// How many times a metric, or a series of one, was requested and not made.
    public var dropped: Int { state.withLock { $0.dropped } }

    func samples() -> [(MetricFamily, [MetricSample])] {
        state.withLock { state in
            state.names.compactMap { state.families[$0] }.map { family in
                (
                    family.family,
                    family.series.sorted { $0.key < $1.key }.map { MetricSample(labels: $1.labels, $1.handler.value) }
                )
            }
        }
    }

    private func handler<Handler: AppMetricHandler>(
        _ label: String, _ kind: MetricFamily.Kind, ending: String = "", _ dimensions: [(String, String)],
        _ make: () -> Handler
    ) -> Handler? {
        var name = MetricName.text(of: label)
        if !name.hasSuffix(ending) { name += ending }
        let labels = MetricName.labels(of: dimensions)
        // With the length, so that no value can look like several labels.
        let key = labels.map { "\($0.name)=\($0.value.utf8.count):\($0.value)" }.joined(separator: ",")
        return state.withLock { state in
            guard !reservedPrefixes.contains(where: name.hasPrefix) else { return state.drop() }
            if let family = state.families[name] {
                if let known = family.series[key] { return known.handler as? Handler ?? state.drop() }
                guard family.family.kind == kind, family.series.count < seriesLimit else { return state.drop() }
            } else {
                guard state.families.count < familyLimit else { return state.drop() }
                state.families[name] = Family(family: MetricFamily(name, kind, "\(label), of an app."))
                state.names.append(name)
            }
            let handler = make()
            state.families[name]?.series[key] = Series(labels: labels, handler: handler)
            return handler
        }
    }

    private func remove(_ handler: AnyObject) {
        state.withLock { state in
            for name in state.names {
                guard let found = state.families[name]?.series.first(where: { $1.handler === handler }) else {
                    continue
                }
                state.families[name]?.series[found.key] = nil
            }
        }
    }
}

extension AppMetrics.State {
    fileprivate mutating func drop<Handler>() -> Handler? {
        dropped += 1
        return nil
    }
}

// What swift-metrics asks for.
extension AppMetrics {
    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        handler(label, .counter, ending: "_total", dimensions, AppCounter.init) ?? NOOPMetricsHandler.instance
    }

    public func makeFloatingPointCounter(
        label: String, dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        handler(label, .counter, ending: "_total", dimensions, AppFloatingPointCounter.init)
            ?? NOOPMetricsHandler.instance
    }

    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        handler(label, .gauge, dimensions, AppGauge.init) ?? NOOPMetricsHandler.instance
    }

    public func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
        guard aggregate else { return handler(label, .gauge, dimensions, AppGauge.init) ?? NOOPMetricsHandler.instance }
        return handler(label, .summary, dimensions, AppSummary.init) ?? NOOPMetricsHandler.instance
    }

    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        handler(label, .histogram, ending: "_seconds", dimensions, AppTimer.init) ?? NOOPMetricsHandler.instance
    }

    public func destroyCounter(_ handler: any CounterHandler) { remove(handler) }
    public func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) { remove(handler) }
    public func destroyMeter(_ handler: any MeterHandler) { remove(handler) }
    public func destroyRecorder(_ handler: any RecorderHandler) { remove(handler) }
    public func destroyTimer(_ handler: any TimerHandler) { remove(handler) }
}
