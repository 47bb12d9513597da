public import Tracing

/// Makes spans, and hands those of sampled traces to the exporter when they end.
public final class SpanTracer: Tracer {
    private let exporter: SpanExporter
    /// A new trace is sampled if its id is below this, as with OpenTelemetry's `TraceIdRatioBased`: systems with the
    /// same share decide alike.
    private let threshold: UInt64

    /// - Parameter share: how many of the traces that begin here are sampled, from 0 to 1. For a request that already
    ///   belongs to a trace, its caller decides.
    public init(_ exporter: SpanExporter, share: Double) {
        self.exporter = exporter
        threshold = UInt64(min(max(share, 0), 1) * Double(SpanTracer.range))
    }

    /// The range of the 63 bits of an id that decide.
    private static let range: UInt64 = 1 << 63

    public func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> InstrumentationContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> TraceSpan {
        var context = context()
        let parent = context.trace
        let trace = parent?.trace ?? TraceID()
        let own = TraceContext(
            trace: trace, span: SpanID(), isSampled: parent?.isSampled ?? isSampled(trace), state: parent?.state)
        context.trace = own
        guard own.isSampled else { return TraceSpan(context: context, recording: nil) }
        let recording = SpanRecording(
            operationName, own, parent: parent, kind, at: instant().nanosecondsSinceEpoch, exporter)
        return TraceSpan(context: context, recording: recording)
    }

    private func isSampled(_ trace: TraceID) -> Bool { trace.low & (SpanTracer.range - 1) < threshold }

    /// Ended spans are sent soon anyway.
    public func forceFlush() {}
}

// The fields of requests.
extension SpanTracer {
    private static let (parentField, stateField) = ("traceparent", "tracestate")

    public func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier, into context: inout InstrumentationContext, using extractor: Extract
    ) where Extract.Carrier == Carrier {
        guard let parent = extractor.extract(key: SpanTracer.parentField, from: carrier) else { return }
        let state = extractor.extract(key: SpanTracer.stateField, from: carrier)
        if let trace = TraceContext(parent: parent, state: state) { context.trace = trace }
    }

    public func inject<Carrier, Inject: Injector>(
        _ context: InstrumentationContext, into carrier: inout Carrier, using injector: Inject
    ) where Inject.Carrier == Carrier {
        guard let trace = context.trace else { return }
        injector.inject(trace.parent, forKey: SpanTracer.parentField, into: &carrier)
        if let state = trace.state { injector.inject(state.text, forKey: SpanTracer.stateField, into: &carrier) }
    }
}
