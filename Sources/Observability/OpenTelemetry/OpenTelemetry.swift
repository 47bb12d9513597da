// OpenTelemetry: records the spans that are made through swift-distributed-tracing, and sends them to a collector.
//
// It takes up and passes on the trace context of the W3C, decides which traces are recorded, and sends OTLP as JSON over
// HTTP. It does not know what the spans are about. Start reading at `SpanTracer.startSpan`; an ended span goes to
// `SpanExporter.add`.
