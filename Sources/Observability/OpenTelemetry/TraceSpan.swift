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

/// The value of `tracestate`, which is passed on as it came.
///
/// Source: W3C Trace Context, section 3.3. Its members are `key=value`, separated by commas.
public struct TraceState: Sendable, Equatable {
    public let text: String

    /// - Returns: `nil` if the text is empty, malformed, or longer than the 512 bytes that must be passed on.
    init?(_ text: String) {
        guard text.utf8.count <= TraceState.longest else { return nil }
        // A member may be empty.
        let members = text.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: true)
            .map(TraceState.trimmed).filter { !$0.isEmpty }
        guard (1...TraceState.mostMembers).contains(members.count), members.allSatisfy(TraceState.isMember) else {
            return nil
        }
        self.text = members.map { String(Substring($0)) }.joined(separator: ",")
    }

    private static let longest = 512
    private static let mostMembers = 32

    private static func trimmed(_ member: Substring.UTF8View) -> Substring.UTF8View {
        var member = member
        while let first = member.first, isWhiteSpace(first) { member.removeFirst() }
        while let last = member.last, isWhiteSpace(last) { member.removeLast() }
        return member
    }

    private static func isWhiteSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

    private static func isMember(_ member: Substring.UTF8View) -> Bool {
        let parts = member.split(separator: UInt8(ascii: "="), omittingEmptySubsequences: false)
        guard parts.count == 2, (1...256).contains(parts[0].count), (1...256).contains(parts[1].count),
            let first = parts[0].first, isLetterOrDigit(first)
        else { return false }
        return parts[0].allSatisfy { isLetterOrDigit($0) || "_-*/@".utf8.contains($0) }
            && parts[1].allSatisfy { (0x20...0x7E).contains($0) }
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
