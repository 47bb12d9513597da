internal import JSONCoding
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

// OTLP as JSON: https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding, where ids are hexadecimal digits and
// 64-bit integers are strings. The names are those of `opentelemetry/proto/trace/v1/trace.proto`.
extension SpanRecording {
    /// A `Span`.
    func text(_ contents: Contents, end: UInt64) -> [UInt8] {
        JSONWriter.bytes(capacity: 1024) { writer in
            writer.object { writer in
                writer.members(of: context, isRemote: parent?.isRemote ?? false)
                writer.member("parentSpanId", ifAny: parent?.span.description)
                writer.member("name", contents.name)
                writer.member("kind", kind.number)
                writer.member("startTimeUnixNano", String(start))
                writer.member("endTimeUnixNano", String(end))
                writer.attributes(contents.attributes)
                if !contents.events.isEmpty { writer.member("events", objects: contents.events) { $0.event($1) } }
                if !contents.links.isEmpty {
                    writer.member("links", objects: contents.links.filter { $0.context.trace != nil }) { $0.link($1) }
                }
                if let status = contents.status {
                    writer.name("status")
                    writer.object { writer in
                        writer.member("code", status.code == .ok ? 1 : 2)
                        writer.member("message", ifAny: status.message)
                    }
                }
            }
        }
    }
}

extension JSONWriter {
    /// - Parameter isRemote: whether the parent, or the other end of a link, is another process's.
    fileprivate mutating func members(of context: TraceContext, isRemote: Bool) {
        member("traceId", context.trace.description)
        member("spanId", context.span.description)
        member("traceState", ifAny: context.state?.text)
        // The W3C's flags; 0x100: it is known whether the other span is remote; 0x200: it is.
        member("flags", (context.isSampled ? 1 : 0) | 0x100 | (isRemote ? 0x200 : 0))
    }

    fileprivate mutating func event(_ event: SpanEvent) {
        member("timeUnixNano", String(event.nanosecondsSinceEpoch))
        member("name", event.name)
        attributes(event.attributes)
    }

    fileprivate mutating func link(_ link: SpanLink) {
        if let context = link.context.trace { members(of: context, isRemote: context.isRemote) }
        attributes(link.attributes)
    }

    fileprivate mutating func attributes(_ attributes: SpanAttributes) {
        name("attributes")
        array { writer in
            func write(_ key: String, _ value: SpanAttribute) { writer.object { $0.attribute(key, value) } }
            attributes.forEach(write)
        }
    }

    /// A `KeyValue`.
    mutating func attribute(_ key: String, _ value: SpanAttribute) {
        member("key", key)
        member("value", value.anyValue)
    }
}

extension SpanKind {
    fileprivate var number: Int {
        switch self {
        case .internal: 1
        case .server: 2
        case .client: 3
        case .producer: 4
        case .consumer: 5
        }
    }
}

extension SpanAttribute {
    /// An `AnyValue`.
    fileprivate var anyValue: JSON {
        switch self {
        case .string(let text): ["stringValue": .string(text)]
        case .bool(let value): ["boolValue": .bool(value)]
        case .int32(let number): SpanAttribute.int64(Int64(number)).anyValue
        case .int64(let number): ["intValue": .string(String(number))]
        case .double(let number): ["doubleValue": number.isFinite ? .number(number) : .string(number.protobufName)]
        case .stringConvertible(let value): ["stringValue": .string(value.description)]
        case .stringArray(let values): SpanAttribute.array(values.map { .string($0) })
        case .boolArray(let values): SpanAttribute.array(values.map { .bool($0) })
        case .int32Array(let values): SpanAttribute.array(values.map { .int32($0) })
        case .int64Array(let values): SpanAttribute.array(values.map { .int64($0) })
        case .doubleArray(let values): SpanAttribute.array(values.map { .double($0) })
        case .stringConvertibleArray(let values): SpanAttribute.array(values.map { .string($0.description) })
        default: [:]
        }
    }

    private static func array(_ values: [SpanAttribute]) -> JSON {
        ["arrayValue": ["values": .array(values.map(\.anyValue))]]
    }
}

extension Double {
    /// The name that protobuf's JSON has for a value which is no number in JSON.
    fileprivate var protobufName: String { isNaN ? "NaN" : self > 0 ? "Infinity" : "-Infinity" }
}
