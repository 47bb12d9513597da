import Coordinators
import Foundation
import JSONCoding
import NavigationAPI
import Testing
import TestSupport

@Suite struct CompressionTests {
    private static func client(_ app: App = App("counter", root: { CounterCoordinator() })) async throws -> Client {
        var settings = NavigationHandler.Settings()
        settings.compresses = true
        return try await Client(app, handler: settings)
    }

    private static let gzip = ["Accept-Encoding": "gzip"]

    @Test func `a client that accepts gzip gets the same answer in fewer bytes`() async throws {
        let client = try await Self.client()
        let path = client.path + "?include=controls"
        let plain = try await client.call("GET", path)

        let answer = try await client.call("GET", path, headers: Self.gzip)
        let head = try await client.call("HEAD", path, headers: Self.gzip)

        #expect(answer.headers["content-encoding"] == "gzip" && answer.body.count < plain.body.count / 2)
        #expect(try answer.body.gunzipped() == plain.body)
        for answer in [plain, answer, head] { #expect(answer.headers["vary"] == "Accept-Encoding") }
        #expect(plain.headers["content-encoding"] == nil)
        #expect(head.headers["content-encoding"] == "gzip" && head.headers["etag"] == #""1-gzip""#)
        #expect(head.headers["content-length"] == String(answer.body.count))
    }

    @Test(arguments: [
        ("gzip", true), ("x-gzip", true), ("GZIP", true), ("br, gzip", true), ("gzip;q=0.001", true), ("*", true),
        ("gzip ; Q=0.5", true), ("*;q=0, gzip", true), ("identity;q=0.5, gzip", true), ("identity;q=0, *", true),
        ("", false), ("br", false), ("gzip;q=0", false), ("gzip;q=0.000", false), ("*;q=0", false),
        ("gzip;q=0, *", false), ("identity, gzip;q=0.5", false), ("gzip;q=x", false), ("identity", false),
        ("gzipped", false),
    ])
    func `what a client accepts and prefers decides`(accepted: String, isCompressed: Bool) async throws {
        let client = try await Self.client()

        let answer = try await client.call(
            "GET", client.path + "?include=controls", headers: ["Accept-Encoding": accepted])

        #expect(answer.headers["content-encoding"] == (isCompressed ? "gzip" : nil))
    }

    @Test func `conditions hold with the tag of either representation`() async throws {
        let client = try await Self.client()
        let path = client.path + "?include=controls"
        let tag = try #require(try await client.call("GET", path, headers: Self.gzip).headers["etag"])
        #expect(tag == #""1-gzip""#)

        for (known, answered) in [(tag, tag), (#""1""#, #""1""#), (#"W/"1""#, #""1""#), (#""7", "1-gzip""#, tag)] {
            let answer = try await client.call(
                "GET", path, headers: Self.gzip.merging(["If-None-Match": known]) { $1 })
            #expect(answer.status == 304 && answer.body.isEmpty && answer.headers["etag"] == answered)
            #expect(answer.headers["vary"] == "Accept-Encoding" && answer.headers["content-encoding"] == nil)
        }
        for condition in [tag, #"W/"1-gzip""#] {
            #expect(try await client.call("GET", client.path, headers: ["If-Match": condition]).status == 200)
        }
        for (condition, status) in [(#""2-gzip""#, 412), (#"W/"2""#, 412), (tag, 204)] {
            let answer = try await client.call("DELETE", client.path, headers: ["If-Match": condition])
            #expect(answer.status == status)
        }
    }

    @Test func `problems are compressed, and what is short is not`() async throws {
        let client = try await Self.client()
        let headers = Self.gzip.merging(["If-Match": #""9""#]) { $1 }

        let problem = try await client.call("GET", client.path + "?include=controls", headers: headers)
        let short = try await client.call("GET", client.path + "/coordinators", headers: Self.gzip)

        #expect(problem.status == 412 && problem.headers["content-encoding"] == "gzip")
        #expect(try JSON(parsing: Array(problem.body.gunzipped()))["state"] != nil)
        #expect(short.status == 200 && short.headers["content-encoding"] == nil)
    }

    @Test func `an answer with a token or a code is sent as it is, and nobody on the way may compress it`() async throws
    {
        let client = try await Self.client()
        let json = Self.gzip.merging(["Content-Type": "application/json"]) { $1 }
        let created = try await client.connection.request("POST", "/v1/sessions?include=controls", headers: Self.gzip)
        let own = ["Authorization": "Bearer \(client.token)"].merging(json) { $1 }
        let code = try await client.connection.request(
            "POST", client.path + "/pairings", headers: own, body: Data("{}".utf8))
        let text = try #require(try JSON(parsing: Array(code.body))["code"]?.string)
        let paired = try await client.connection.request(
            "POST", "/v1/pairings?include=controls", headers: json, body: Data(#"{"code": "\#(text)"}"#.utf8))

        for answer in [created, code, paired] {
            #expect(answer.status == 201 && answer.headers["content-encoding"] == nil)
            #expect(answer.headers["cache-control"] == "no-store, no-transform")
        }
    }

    @Test func `a stream is sent as it is`() async throws {
        let client = try await Self.client()

        try await client.connection.send(
            Connection.bytes(
                "GET", client.path + "/updates?include=controls",
                headers: ["Authorization": "Bearer \(client.token)", "Accept-Encoding": "gzip"]))
        let head = try await client.connection.receive(bodyless: true)

        #expect(head.status == 200 && head.headers["content-encoding"] == nil)
    }

    @Test func `by default nothing is compressed`() async throws {
        let client = try await Client()

        let answer = try await client.call("GET", client.path + "?include=controls", headers: Self.gzip)

        #expect(answer.headers["content-encoding"] == nil && answer.headers["vary"] == nil)
        #expect(answer.headers["etag"] == #""1""#)
    }
}
