internal import OpenTelemetry
internal import Prometheus

/// The spans that end here.
enum TraceMetrics {
    static let all = [
        ServerMetric("coordinatord_trace_spans_sent_total", .counter, "Spans that the collector has accepted.") {
            $0.traces?.counts.sent
        },
        ServerMetric(
            "coordinatord_trace_spans_dropped_total", .counter,
            "Spans that are lost, because the collector was slow, refused them or could not be reached."
        ) { $0.traces?.counts.dropped },
    ]
}
