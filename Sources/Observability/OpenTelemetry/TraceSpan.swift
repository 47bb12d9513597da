public import Tracing

/// A span. If its trace is not sampled, the span has a context and records nothing.
public struct TraceSpan: Tracing.Span {
    public let context: InstrumentationContext
    let recording: SpanRecording?

    public var isRecording: Bool { recording != nil }

    public var operationName: String {
        get { recording?.contents.name ?? "" }
        nonmutating set { recording?.change { $0.name = newValue } }
    }

    public var attributes: SpanAttributes {
        get { recording?.contents.attributes ?? [:] }
        nonmutating set { recording?.change { $0.attributes = newValue } }
    }

    public func setStatus(_ status: SpanStatus) { recording?.change { $0.status = status } }

    public func addEvent(_ event: SpanEvent) { recording?.change { $0.events.append(event) } }

    public func addLink(_ link: SpanLink) { recording?.change { $0.links.append(link) } }

    /// Records the error's type only: its text may contain a user's data.
    public func recordError<Instant: TracerInstant>(
        _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
    ) {
        guard let recording else { return }
        var all: SpanAttributes = ["exception.type": .string(String(describing: type(of: error)))]
        all.merge(attributes)
        let event = SpanEvent(name: "exception", at: instant(), attributes: all)
        recording.change { $0.events.append(event) }
    }

    public func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
        recording?.end(at: instant().nanosecondsSinceEpoch)
    }
}
