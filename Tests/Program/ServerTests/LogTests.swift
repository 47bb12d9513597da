import Foundation
import JSONCoding
import Logging
import Testing
import TestSupport

@testable import CoordinatorServer

/// How the log is written, and what is in it.
@Suite struct LogTests {
    private let handler = "handler-failed"

    /// What a server logs while an event of a session fails and it is asked to stop.
    static func log(_ flags: [String] = []) async throws -> (lines: [Substring], session: String) {
        let storage = try StorageTests()
        let (program, connection) = try await storage.serve("memory", flags)
        let session = try await storage.open(connection)
        let failed = try await connection.request(
            "POST", "\(session.path)/events",
            headers: session.headers.merging(["X-Request-Id": "trace-4711"]) { $1 },
            body: Data(#"{"type":"fail"}"#.utf8))
        #expect(failed.status == 500)
        program.signal(SIGTERM)
        return (try await program.exit().errors.split(separator: "\n"), session.id)
    }

    /// The same, read as JSON.
    private func entries(_ flags: String...) async throws -> [JSON] {
        try await LogTests.log(flags).lines.map { try JSON(parsing: Array($0.utf8)) }
    }

    @Test func `where nobody looks at it, each line is a JSON object`() async throws {
        let entries = try await entries()

        let failure = try #require(entries.first { $0["message"]?.string == handler })
        #expect(failure["time"]?.string?.hasSuffix("Z") == true)
        #expect(failure["level"] == "error" && failure["logger"] == "requests")
        #expect(failure["request"] == "trace-4711" && failure["status"] == 500 && failure["event"] == "fail")
        #expect(failure["session"]?.string?.hasPrefix("s_") == true)
        #expect(entries.contains { $0["logger"] == "server" && $0["message"]?.string?.hasPrefix("draining") == true })
    }

    @Test(arguments: [
        (["--log-level", "error"], true, false), (["--log-level", "critical"], false, false),
        (["--log-level", "critical,requests=error"], true, false), (["--log-level", "requests=critical"], false, true),
    ])
    func `levels hold for all parts or for some`(flags: [String], hasFailure: Bool, hasDrain: Bool) async throws {
        let errors = try await LogTests.log(flags).lines.joined()
        #expect(errors.contains(handler) == hasFailure && errors.contains("draining") == hasDrain)
    }

    @Test(arguments: [
        ("loud", "“loud” is no level; levels are trace, debug, info, notice, warning, error or critical."),
        ("", "--log-level: It is empty."), ("info,", "“” is no level"),
        ("info,debug", "Give one level, and others to parts only."),
        ("store=info,store=debug", "Give one level to each part"), ("=info", "Give one level to each part"),
    ])
    func `a wrong level is refused`(text: String, reason: String) throws {
        let refused = try #require(SettingTests.failure(["--log-level", text]))
        #expect(refused.code == 64 && refused.reasons.joined().contains(reason), "\(refused.reasons)")
    }

    @Test(.enabled(if: isComplete))
    func `at the lowest level, nothing shows the token that was made for the console`() async throws {
        let (program, port, _) = try await ServerTests.start("--development", "--log-level", "trace")
        _ = try await Connection(port: port).request("GET", "/livez")
        program.signal(SIGTERM)
        let result = try await program.exit()
        let token = try #require(result.output.firstMatch(of: /operator's token: ([^)]+)\)/)?.output.1)
        #expect(!result.errors.contains(token) && !result.errors.contains("Logging.Logger"))
    }

    @Test func `each request has a line if that is wanted, without what its client has sent`() async throws {
        let start = ContinuousClock.now
        let entries = try await entries("--access-log", "all", "--log-format", "json")
            .filter { $0["logger"] == "access" }

        #expect(entries.count == 2)
        #expect(entries.first?["route"] == "/v1/sessions" && entries.first?["status"] == 201)
        let failed = try #require(entries.last)
        #expect(failed["method"] == "POST" && failed["route"] == "/v1/sessions/{id}/events" && failed["status"] == 500)
        #expect(failed["request"] == "trace-4711" && failed["session"]?.string?.hasPrefix("s_") == true)
        #expect(failed["bytes"] != nil && failed["level"] == "info" && failed["message"] == "answered")
        guard case .number(let seconds) = failed["duration"] ?? .null else { throw TestFailure("no duration") }
        #expect(seconds > 0 && Duration.seconds(seconds) < ContinuousClock.now - start)
    }

    @Test(arguments: ["0.5", "101%", "-1%", "some", "%"])
    func `a wrong share of requests is refused`(text: String) throws {
        let refused = try #require(SettingTests.failure(["--access-log=\(text)"]))
        #expect(refused.code == 64)
        #expect(
            refused.reasons.joined().contains("--access-log: “\(text)” is not off, all, or a share such as 1%."))
    }

    @Test func `of a share, about as many requests have a line`() async throws {
        let (program, port, _) = try await ServerTests.start("--access-log", "10%", "--log-format", "text")
        let connection = try Connection(port: port)
        #expect(try await connection.statuses(of: 1000, "GET", "/livez").count == 1000)
        program.signal(SIGTERM)
        let lines = try await program.exit().errors.split(separator: "\n").count { $0.contains("info: answered") }
        #expect((40...180).contains(lines), "\(lines)")
    }

    @Test func `a level of a part holds for what is below it`() throws {
        let levels = try LogLevels.parse("warning,shop=debug,shop.carts=error")
        #expect(levels.level(of: "server") == .warning && levels.level(of: "shops") == .warning)
        #expect(levels.level(of: "shop") == .debug && levels.level(of: "shop.stock.old") == .debug)
        #expect(levels.level(of: "shop.carts.new") == .error)
    }

    @Test func `metadata of authors keeps its form, and replaces no member of the entry`() throws {
        let metadata: Logger.Metadata = [
            "count": .stringConvertible(3), "share": .stringConvertible(0.5), "none": .stringConvertible(Double.nan),
            "isNew": .stringConvertible(true), "list": ["a", ["b": "c"]], "text": "say \"hi\"\n\u{1b}[2J\u{202e}",
            "level": "none", "time": "never",
        ]
        let line = LineLogHandler.line(.notice, "line\nline", metadata, by: "shop", .json)
        #expect(!line.contains("\n") && !line.contains("\u{1b}") && !line.contains("\u{202e}"))
        let entry = try JSON(parsing: Array(line.utf8))
        #expect(entry["level"] == "notice" && entry["message"] == "line\nline" && entry["logger"] == "shop")
        #expect(entry["count"] == 3 && entry["share"] == 0.5 && entry["none"] == "nan" && entry["isNew"] == true)
        #expect(entry["list"] == ["a", ["b": "c"]] && entry["text"] == "say \"hi\"\n\u{1b}[2J\u{202e}")
    }

    @Test func `a value in a line of text cannot end itself`() {
        let metadata: Logger.Metadata = ["user": "\"\u{301} level=error", "way": "a\\\u{301}\"b"]

        let line = LineLogHandler.line(.notice, "x", metadata, by: "shop", .text)

        #expect(line.utf8.firstRange(of: "user=\"\\\"\u{301} level=error\" way=\"a\\\\\u{301}\\\"b\"".utf8) != nil)
    }

    @Test func `what was escaped in a line of text differs from what looks so`() {
        let metadata: Logger.Metadata = ["one": "a\nb", "other": #"a\u000ab"#]

        let line = LineLogHandler.line(.notice, "x", metadata, by: "shop", .text)

        #expect(line.hasSuffix(##" one=a\u000ab other="a\\u000ab""##), "\(line)")
    }

    @Test func `a log that cannot be written ends nothing, and is counted`() async throws {
        let descriptor = open("/dev/full", O_WRONLY)
        let output = LineOutput(descriptor)
        for number in 1...5 { output.write("\(number)") }
        try await blocking { output.flush(milliseconds: 1000 * hangLimit) }
        #expect(output.dropped == 5)
    }
}
