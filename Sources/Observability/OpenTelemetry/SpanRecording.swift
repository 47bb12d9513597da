internal import Synchronization
internal import Tracing

/// What a span has recorded until it ends.
final class SpanRecording: Sendable {
    struct Contents {
        var name: String
        var attributes: SpanAttributes = [:]
        var events: [SpanEvent] = []
        var links: [SpanLink] = []
        var status: SpanStatus?
        fileprivate var hasEnded = false
    }

    let context: TraceContext
    let parent: TraceContext?
    let kind: SpanKind
    /// Nanoseconds since 1970.
    let start: UInt64
    private let exporter: SpanExporter
    private let state: Mutex<Contents>

    init(
        _ name: String, _ context: TraceContext, parent: TraceContext?, _ kind: SpanKind, at start: UInt64,
        _ exporter: SpanExporter
    ) {
        self.context = context
        self.parent = parent
        self.kind = kind
        self.start = start
        self.exporter = exporter
        state = Mutex(Contents(name: name))
    }

    var contents: Contents { state.withLock { $0 } }

    /// Does nothing after the end.
    func change(_ change: (inout Contents) -> Void) {
        state.withLock { if !$0.hasEnded { change(&$0) } }
    }

    /// The first end counts.
    ///
    /// - Parameter end: nanoseconds since 1970. A clock that was set back makes no span end before it began.
    func end(at end: UInt64) {
        let contents: Contents? = state.withLock { contents in
            guard !contents.hasEnded else { return nil }
            contents.hasEnded = true
            return contents
        }
        if let contents { exporter.add(text(contents, end: max(start, end))) }
    }
}
