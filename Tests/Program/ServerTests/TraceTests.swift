#if Complete
import Foundation
import JSONCoding
import Testing
import TestSupport

@testable import CoordinatorServer

/// Traces as an operator gets them: from a whole server, at a collector.
@Suite struct TraceTests {
    private let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private let caller = "00f067aa0ba902b7"

    /// - Parameter url: the collector's.
    private func server(_ url: String, _ flags: String...) async throws -> MeteredServer {
        try await MeteredServer(["--trace-endpoint", url] + flags, with: Program.oddServer)
    }

    private func traceparent(_ flags: String) -> [String: String] {
        ["traceparent": "00-\(trace)-\(caller)-\(flags)", "tracestate": "shop=7"]
    }

    @Test func `an event is a tree of spans: the request, the coordinators' functions, the commit`() async throws {
        let collector = try TestCollector()
        let server = try await server(collector.url, "--access-log", "all")
        let session = try await server.open("traced")

        let answer = try await server.connection.request(
            "POST", "\(session.path)/events",
            headers: session.headers.merging(traceparent("01")) { $1 }.merging(["X-Request-Id": "r-1"]) { $1 },
            body: Data(#"{"type":"work"}"#.utf8))
        // At its end, the server gives the collector only half a second.
        try await eventually { collector.spans.count { $0.trace == trace } >= 6 }
        try await server.stop()

        #expect(answer.status == 200)
        let spans = collector.spans.filter { $0.trace == trace }
        func only(_ name: String) throws -> ReceivedSpan {
            let found = spans.filter { $0.name == name }
            #expect(found.count == 1, "\(name): \(spans.map(\.name))")
            return try #require(found.first)
        }
        let request = try only("POST /v1/sessions/{id}/events")
        #expect(request.parent == caller && request["traceState"] == "shop=7" && request.kind == 2)
        #expect(request.status == nil && request.json["flags"] == 0x301)
        #expect(
            request.attributes == [
                "http.request.method": ["stringValue": "POST"],
                "http.route": ["stringValue": "/v1/sessions/{id}/events"],
                "http.response.status_code": ["intValue": "200"], "session.id": ["stringValue": .string(session.id)],
                "coordinatord.request": ["stringValue": "r-1"],
            ])
        let handler = try only("traced.handle(work)")
        #expect(handler.parent == request.id && handler.kind == 1 && request.encloses(handler))
        #expect(
            handler.attributes == [
                "coordinatord.app": ["stringValue": "traced"], "coordinatord.coordinator": ["stringValue": "traced"],
                "coordinatord.function": ["stringValue": "handle(work)"],
                "session.id": ["stringValue": .string(session.id)],
            ])
        let own = try only("look up")
        #expect(own.parent == handler.id && own.kind == 3 && handler.encloses(own))
        #expect(own.attributes == ["items": ["intValue": "3"]])
        let (start, finish) = (try only("tracedChild.start"), try only("traced.childDidFinish"))
        #expect(start.parent == request.id && finish.parent == request.id)
        #expect(handler.end <= start.start && start.end <= finish.start)
        let commit = try only("commit")
        #expect(commit.parent == request.id && commit.kind == 1 && request.encloses(commit))
        #expect(commit.attributes["coordinatord.store"] == ["stringValue": "sqlite"] && finish.end <= commit.start)
        #expect(spans.count == 6 && Set(spans.map(\.id)).count == 6)
        #expect(answer.headers["traceresponse"] == "00-\(trace)-\(request.id)-01")

        let entries = try await server.program.exit().errors.split(separator: "\n")
            .map { try JSON(parsing: Array($0.utf8)) }
        #expect(entries.first { $0["message"] == "looked up" }?["trace"]?.string == trace)
        #expect(entries.first { $0["request"] == "r-1" }?["trace"]?.string == trace)
        #expect(entries.allSatisfy { $0["logger"] != "server" || $0["trace"] == nil })
    }

    @Test func `a request without a trace begins one, as does a malformed one`() async throws {
        let collector = try TestCollector()
        let server = try await server(collector.url)

        for headers in [[:], ["traceparent": "ff-\(trace)-\(caller)-01"]] {
            let answer = try await server.connection.request("GET", "/v1/apps/traced", headers: headers)
            let text = try #require(answer.headers["traceresponse"])
            #expect(text.wholeMatch(of: /00-[0-9a-f]{32}-[0-9a-f]{16}-01/) != nil && !text.contains(trace))
        }
        let twice =
            "GET /v1/apps HTTP/1.1\r\nHost: x\r\n"
            + String(repeating: "traceparent: 00-\(trace)-\(caller)-01\r\n", count: 2) + "\r\n"
        try await server.connection.send(twice)
        #expect(try await server.connection.receive().headers["traceresponse"]?.contains(trace) == false)
        // Of health checks nobody wants traces.
        #expect(try await server.connection.request("GET", "/readyz").headers["traceresponse"] == nil)
        _ = try await collector.spans(3)
        try await server.stop()

        #expect(collector.spans.map(\.name) == ["GET /v1/apps/{name}", "GET /v1/apps/{name}", "GET /v1/apps"])
        #expect(Set(collector.spans.map(\.trace)).count == 3 && collector.spans.allSatisfy { $0.parent == nil })
    }

    @Test func `failures are marked, and nothing that a client has sent is in a span`() async throws {
        let collector = try TestCollector()
        let server = try await server(collector.url)
        let session = try await server.open("traced")

        #expect(try await server.post(#"{"type":"failInWork"}"#, session) == 500)
        #expect(try await server.post(#"{"type":"keep","payload":"hunter2"}"#, session) == 200)
        #expect(try await server.post(#"{"type":"hunter3"}"#, session) == 422)
        let lost = try await server.connection.request("GET", "/hunter4?hunter5", headers: ["X-Test": "hunter6"])
        #expect(lost.status == 404)
        try await server.connection.send("HUNTER /v1/apps HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try await server.connection.receive().status == 501)
        try await eventually {
            let statuses = collector.spans.map { $0.attributes["http.response.status_code"] }
            return ["500", "422", "404", "501"].allSatisfy { statuses.contains(["intValue": .string($0)]) }
        }
        try await server.stop()

        let spans = collector.spans
        let failed = try #require(spans.first { $0.attributes["http.response.status_code"] == ["intValue": "500"] })
        #expect(failed.status == 2 && failed.attributes["error.type"] == ["stringValue": "500"])
        let function = try #require(spans.first { $0.name == "traced.handle(failInWork)" })
        #expect(function.status == 2 && function.parent == failed.id)
        let own = try #require(spans.first { $0.name == "fail" })
        #expect(own.status == 2 && own.parent == function.id)
        #expect(own.json["events"]?.array?.first?["name"] == "exception")
        let unknown = try #require(spans.first { $0.attributes["http.response.status_code"] == ["intValue": "404"] })
        #expect(unknown.name == "GET" && unknown.status == nil && unknown.attributes["http.route"] == nil)
        #expect(spans.contains { $0.attributes["http.request.method"] == ["stringValue": "_OTHER"] })
        let text = collector.requests.map(\.description).joined()
        let token = try #require(session.headers["Authorization"]?.split(separator: " ").last)
        #expect(!text.lowercased().contains("hunter") && !text.contains(token))
    }

    @Test func `of traces that begin here a share is recorded, of others what their callers say`() async throws {
        let collector = try TestCollector()
        let server = try await server(collector.url, "--trace-sample", "off", "--trace-service", "shop")

        let own = try await server.connection.request("GET", "/v1/apps")
        let silent = try await server.connection.request("GET", "/v1/apps", headers: traceparent("00"))
        let sampled = try await server.connection.request("GET", "/v1/apps", headers: traceparent("01"))
        _ = try await collector.spans(1)
        try await server.stop()

        #expect(own.headers["traceresponse"]?.hasSuffix("-00") == true)
        #expect(silent.headers["traceresponse"]?.hasPrefix("00-\(trace)-") == true)
        #expect(sampled.headers["traceresponse"]?.hasSuffix("-01") == true)
        #expect(collector.spans.count == 1 && collector.spans.first?.trace == trace)
        let resource = ReceivedSpan.attributes(
            collector.requests.first?["resourceSpans"]?.array?.first?["resource"]?["attributes"])
        #expect(resource["service.name"] == ["stringValue": "shop"])
        #expect(resource["service.version"] == ["stringValue": "7.1"])
        #expect(resource["telemetry.sdk.version"] == ["stringValue": .string(Release.version)])
    }

    @Test(arguments: ["stalled", "503", "missing"])
    func `a collector that takes no spans holds up nothing, and what is lost is counted`(kind: String) async throws {
        let (stalled, busy) = (try StalledServer(), try TestCollector(503))
        defer { withExtendedLifetime(stalled) {} }
        let urls = ["stalled": "http://127.0.0.1:\(stalled.port)", "503": busy.url]
        let url = urls[kind, default: "http://127.0.0.1:1"]
        let server = try await server(url)

        // With this state of the caller, 1 MiB is some 1,200 spans.
        let state = ["tracestate": "a=\(String(repeating: "x", count: 250)),b=\(String(repeating: "y", count: 250))"]
        let headers = traceparent("01").merging(state) { $1 }
        let statuses = try await server.connection.statuses(of: 2000, "GET", "/v1/apps/traced", headers: headers)
        #expect(statuses == Array(repeating: 200, count: 2000))

        try await eventually { try await server.scrape()["coordinatord_trace_spans_dropped_total"] > 100 }
        #expect(try await server.scrape()["coordinatord_trace_spans_sent_total"] == 0)
        server.program.signal(SIGTERM)
        let ended = try await server.program.exit()
        #expect(ended.code == 0)
        let lost = ended.errors.split(separator: "\n").filter { $0.contains("spans were dropped") }
        #expect(!lost.isEmpty && lost.allSatisfy { $0.contains(#""logger":"traces""#) && $0.contains(url) })
    }

    @Test func `without a collector, nothing is traced`() async throws {
        let server = try await MeteredServer(["--access-log", "all"], with: Program.oddServer)
        let session = try await server.open("traced")

        #expect(try await server.post(#"{"type":"work"}"#, session) == 200)
        let answer = try await server.connection.request("GET", "/v1/apps", headers: traceparent("01"))
        #expect(answer.headers["traceresponse"] == nil)
        #expect(try await !server.scrape().text.contains("trace_spans_dropped_total "))
        server.program.signal(SIGTERM)

        #expect(try await !server.program.exit().errors.contains(#""trace":"#))
    }

    @Test(arguments: [
        ("http://localhost:4318", "http://localhost:4318"), ("http://[::1]:4318/", "http://[::1]:4318"),
        ("HTTP://collector", "http://collector:80"), ("http://10.0.0.1:1/otlp/a%20b/", "http://10.0.0.1:1/otlp/a%20b"),
    ])
    func `a collector is named by a URL`(text: String, meant: String) throws {
        #expect(try "\(TraceEndpoint.parse(text))" == meant)
    }

    @Test(arguments: [
        ("https://localhost:4318", "does not speak TLS"), ("http://localhost:4318/v1/traces", "it is added"),
        ("localhost:4318", "is not a URL such as"), ("http://", "is not"), ("http://a:0", "is not"),
        ("http://ann:secret@a", "is not"), ("http://a?b", "is not"), ("http://a#b", "is not"), ("http://a b", "is not"),
        ("http://a:99999", "is not"), ("http://a/\r\nX: y", "is not"),
    ])
    func `a wrong collector is refused`(text: String, reason: String) throws {
        let refused = try #require(SettingTests.failure(["--trace-endpoint", text]))
        let error = try #require(refused.reasons.first)
        #expect(refused.code == 64 && error.hasPrefix("--trace-endpoint: ") && error.contains(reason), "\(error)")
    }

    @Test func `settings of traces without a collector are refused`() {
        #expect(
            SettingTests.failure(["--trace-sample=1%", "--trace-service=shop"])?.reasons
                == ["--trace-sample is for --trace-endpoint.", "--trace-service is for --trace-endpoint."])
    }
}
#endif
