import Glibc
import JSONCoding
import MicroHTTP
import Synchronization
import Testing
import TestSupport
import Tracing

@testable import OpenTelemetry

/// Spans on their way to a collector, with pauses that suit a test: short ones, but an hour for an answer.
@Suite struct SpanTests {
    private final class Reports: Sendable {
        let all = Mutex<[String]>([])
        func add(_ text: String) { all.withLock { $0.append(text) } }
        var text: String { all.withLock { $0.joined(separator: "\n") } }
    }

    private struct Fields: Extractor, Injector {
        func extract(key: String, from fields: [String: String]) -> String? { fields[key] }
        func inject(_ value: String, forKey key: String, into fields: inout [String: String]) { fields[key] = value }
    }

    private struct Failure: Error {
        let secret = "hunter2"
    }

    private let reports = Reports()

    private func exporter(to port: Int, path: String = "", limit: Int = 1 << 20) -> SpanExporter {
        var pauses = SpanExporter.Pauses()
        (pauses.gathering, pauses.retry, pauses.longestRetry, pauses.answer) = (0.01, 0.01, 0.02, 3600)
        let resource = SpanResource(service: "shop", version: "1.2", instance: "i", library: "0.1")
        return SpanExporter(
            to: SpanCollector(authority: HTTPAuthority(host: "127.0.0.1", port: port), basePath: path), from: resource,
            limit: limit, pauses: pauses, report: reports.add)
    }

    @Test func `a span has all that was recorded, and no text of an error`() async throws {
        let collector = try TestCollector()
        let tracer = SpanTracer(exporter(to: collector.port), share: 1)

        let other = tracer.startSpan("other")
        let span = tracer.startSpan("first", ofKind: .client)
        span.operationName = "a \"name\""
        span.attributes = [
            "text": "é\n", "number": 9_007_199_254_740_993, "share": 0.5, "none": .double(.infinity), "is": true,
            "texts": .stringArray(["a", "b"]), "numbers": .int32Array([1, -2]), "any": .stringConvertible(7),
        ]
        span.addEvent(SpanEvent(name: "event", attributes: ["a": "b"]))
        span.recordError(Failure())
        span.addLink(SpanLink(context: other.context, attributes: ["why": "test"]))
        span.setStatus(SpanStatus(code: .error, message: "failed"))
        span.end()
        span.operationName = "too late"
        span.end()

        let received = try #require(try await collector.spans(1).first)
        #expect(collector.spans.count == 1 && received.name == #"a "name""# && received.kind == 3)
        #expect(received.trace == span.context.trace?.trace.description && received.parent == nil)
        #expect(received.start > 1_600_000_000_000_000_000 && received.start <= received.end)
        let attributes = received.attributes
        #expect(attributes.count == 8)
        #expect(attributes["text"] == ["stringValue": "é\n"] && attributes["is"] == ["boolValue": true])
        #expect(attributes["number"] == ["intValue": "9007199254740993"] && attributes["share"] == ["doubleValue": 0.5])
        #expect(attributes["none"] == ["doubleValue": "Infinity"] && attributes["any"] == ["stringValue": "7"])
        #expect(attributes["texts"] == ["arrayValue": ["values": [["stringValue": "a"], ["stringValue": "b"]]]])
        #expect(attributes["numbers"] == ["arrayValue": ["values": [["intValue": "1"], ["intValue": "-2"]]]])
        let events = received.json["events"]?.array ?? []
        #expect(events.map { $0["name"] } == ["event", "exception"])
        #expect(ReceivedSpan.attributes(events.last?["attributes"]) == ["exception.type": ["stringValue": "Failure"]])
        #expect(!received.json.description.contains("hunter2"))
        #expect(received.json["links"]?.array?.first?["spanId"]?.string == other.context.trace?.span.description)
        #expect(received.json["status"] == ["code": 2, "message": "failed"])
        let resource = ReceivedSpan.attributes(
            collector.requests.first?["resourceSpans"]?.array?.first?["resource"]?["attributes"])
        #expect(resource["service.name"] == ["stringValue": "shop"] && resource.count == 6)
    }

    @Test func `a caller's trace goes on, with its state, into requests of one's own`() async throws {
        let collector = try TestCollector()
        let tracer = SpanTracer(exporter(to: collector.port), share: 0)
        let (trace, caller) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7")
        var context = InstrumentationContext.topLevel
        tracer.extract(
            ["traceparent": "00-\(trace)-\(caller)-01", "tracestate": "a=1, b=2"], into: &context, using: Fields())

        let span = tracer.startSpan("outer", context: context, ofKind: .server)
        let inner = tracer.startSpan("inner", context: span.context)
        var fields: [String: String] = [:]
        tracer.inject(inner.context, into: &fields, using: Fields())
        inner.end()
        span.end()

        let spans = try await collector.spans(2)
        let (received, child) = (try #require(spans.last), try #require(spans.first))
        #expect(received.trace == trace && received.parent == caller && received["traceState"] == "a=1,b=2")
        #expect(child.trace == trace && child.parent == received.id && received.encloses(child))
        // Sampled; it is known whether the parent is remote; it is.
        #expect(received.json["flags"] == 0x301 && child.json["flags"] == 0x101)
        #expect(fields == ["traceparent": "00-\(trace)-\(child.id)-01", "tracestate": "a=1,b=2"])
    }

    @Test func `a caller that does not sample is followed, and a malformed one begins a trace`() {
        let tracer = SpanTracer(exporter(to: 1), share: 1)
        let id = "4bf92f3577b34da6a3ce929d0e0e4736"
        func span(_ parent: String) -> TraceSpan {
            var context = InstrumentationContext.topLevel
            tracer.extract(["traceparent": parent], into: &context, using: Fields())
            return tracer.startSpan("x", context: context)
        }

        let silent = span("00-\(id)-00f067aa0ba902b7-00")
        #expect(!silent.isRecording && silent.context.trace?.trace.description == id)
        let new = span("ff-\(id)-00f067aa0ba902b7-00")
        #expect(new.isRecording && new.context.trace?.trace.description != id)
    }

    @Test(arguments: [(0.0, 0...0), (0.1, 700...1300), (0.5, 4700...5300), (1.0, 10_000...10_000)])
    func `about the wanted share of new traces is sampled`(share: Double, expected: ClosedRange<Int>) {
        let tracer = SpanTracer(exporter(to: 1), share: share)
        let sampled = (0..<10_000).count { _ in tracer.startSpan("x").context.trace?.isSampled == true }
        #expect(expected.contains(sampled), "\(sampled)")
    }

    @Test func `what a busy collector has not accepted is sent again, in order`() async throws {
        let collector = try TestCollector(503, 429, 200)
        let exporter = exporter(to: collector.port)
        let tracer = SpanTracer(exporter, share: 1)

        for number in 0..<100 { tracer.startSpan("\(number)").end() }

        #expect(try await collector.spans(100).map(\.name) == (0..<100).map { "\($0)" })
        #expect(collector.refusals == 2)
        try await eventually { exporter.counts == (100, 0) }
        #expect(reports.text.contains("spans wait to be sent") && reports.text.contains("it answers 503"))
        try await eventually { reports.text.contains("accepts spans again") }
    }

    @Test func `what a collector refuses for good is dropped and counted`() async throws {
        let collector = try TestCollector(400)
        let exporter = exporter(to: collector.port)

        SpanTracer(exporter, share: 1).startSpan("x").end()

        try await eventually { exporter.counts == (0, 1) && !reports.text.isEmpty }
        #expect(reports.text == "1 spans were dropped: \(collector.url) does not accept spans, it answers 400")
    }

    @Test func `a collector that stalls costs bounded memory, and what does not fit is counted`() async throws {
        // It never accepts a connection, and so never answers.
        let stalled = try StalledServer()
        defer { withExtendedLifetime(stalled) {} }
        let exporter = exporter(to: stalled.port, limit: 10_000)
        let tracer = SpanTracer(exporter, share: 1)

        // Would not come to its end if a span waited for the collector.
        for _ in 0..<10_000 { tracer.startSpan("x").end() }

        // 10,000 bytes are some 40 spans.
        #expect((9900...9990).contains(exporter.counts.dropped), "\(exporter.counts)")
        try await blocking { exporter.finish(within: 0.1) }
        #expect(reports.text.contains("has not accepted them before the end"), "\(reports.text)")
    }

    @Test func `a collector that comes later gets what was kept`() async throws {
        let closed = try ClosedPort()
        let link = try NetworkLink(to: closed.number)
        defer { withExtendedLifetime(closed, link.close) }
        let exporter = exporter(to: link.port)
        SpanTracer(exporter, share: 1).startSpan("x").end()

        try await eventually { reports.text.contains("spans wait to be sent") }
        #expect(exporter.counts == (0, 0))
        let later = try TestCollector()
        link.lead(to: later.port)

        #expect(try await later.spans(1).map(\.name) == ["x"])
    }

    @Test func `at the end, nothing is kept for a collector that cannot be reached`() async throws {
        let closed = try ClosedPort()
        defer { withExtendedLifetime(closed) {} }
        let exporter = exporter(to: closed.number)
        SpanTracer(exporter, share: 1).startSpan("x").end()
        try await eventually { reports.text.contains("connection refused") }

        try await blocking { exporter.finish(within: 3600) }

        #expect(exporter.counts == (0, 1) && reports.text.contains("1 spans were dropped"), "\(reports.text)")
    }

    @Test func `at the end the rest is sent at once, and later spans are dropped`() async throws {
        let collector = try TestCollector()
        let exporter = exporter(to: collector.port)
        let tracer = SpanTracer(exporter, share: 1)
        for _ in 0..<50 { tracer.startSpan("x").end() }

        try await blocking { exporter.finish(within: 3600) }
        tracer.startSpan("y").end()

        #expect(exporter.counts == (50, 1) && collector.spans.count == 50)
    }
}

/// A port that refuses connections, and that nobody else gets meanwhile: it is bound, and does not listen.
private final class ClosedPort {
    let number: Int
    private let socket: Int32

    init() throws {
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let socket = socket
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(socket, address, length) == 0 && getsockname(socket, address, &length) == 0
            }
        }
        guard isBound else { throw TestFailure("cannot bind: errno \(errno)") }
        number = Int(UInt16(bigEndian: address.sin_port))
    }

    deinit { close(socket) }
}
