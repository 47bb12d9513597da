// OpenTelemetry: records the spans that are made through swift-distributed-tracing, and sends them to a collector.
//
// It reads and passes on the W3C's trace context, decides which traces are recorded, and sends OTLP as JSON over HTTP.
// It does not know what the spans are about. Start reading at `SpanTracer.startSpan`; an ended span goes to
// `SpanExporter.add`.
