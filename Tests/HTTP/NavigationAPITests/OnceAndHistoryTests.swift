import Foundation
import JSONCoding
import Sessions
import Testing
import TestSupport

extension Client {
    func post(_ body: String, _ headers: [String: String]) async throws -> Answer {
        let all = ["Authorization": "Bearer \(token)", "Content-Type": "application/json"].merging(headers) { $1 }
        return try await connection.request("POST", "\(path)/events", headers: all, body: Data(body.utf8))
    }

    func create(_ body: String, _ headers: [String: String]) async throws -> Answer {
        try await connection.request(
            "POST", "/v1/sessions", headers: ["Content-Type": "application/json"].merging(headers) { $1 },
            body: Data(body.utf8))
    }
}

@Suite struct OnceTests {
    static let add = #"{"type":"add","payload":1}"#

    @Test func `a repeat under a key gets the same bytes, with or without quotes around the key`() async throws {
        let client = try await Client()

        let first = try await client.post(OnceTests.add, ["Idempotency-Key": "k-1"])
        let again = try await client.post(OnceTests.add, ["Idempotency-Key": "\"k-1\""])

        #expect(first.status == 200 && first.headers["idempotency-replayed"] == nil)
        #expect(again.status == 200 && again.headers["idempotency-replayed"] == "true")
        #expect(again.body == first.body && again.headers["etag"] == first.headers["etag"])
        #expect(try await client.version() == 2)
        try await client.expect(
            try await client.post(#"{"type":"nothing"}"#, ["Idempotency-Key": "k-1"]), 422, "key-reused", version: 2)
    }

    @Test func `two bodies that mean the same are the same request`() async throws {
        let client = try await Client()
        let key = ["Idempotency-Key": "k-1"]
        let first = try await client.post(#"{"type":"rename","payload":{"title":"a","count":10}}"#, key)
        #expect(first.status == 200)

        for body in [
            #"{ "payload" : {"count":1e1, "title":"\u0061"}, "screen":null, "type":"rename" }"#,
            #"{"type":"rename","payload":{"count":10.0,"title":"a"}}"#,
        ] {
            let again = try await client.post(body, key)
            #expect(again.headers["idempotency-replayed"] == "true" && again.body == first.body)
        }
        for body in [
            #"{"type":"rename","payload":{"title":"a","count":11}}"#, #"{"type":"rename","payload":{"title":"a"}}"#,
        ] { try await client.expect(try await client.post(body, key), 422, "key-reused") }
    }

    @Test func `a replay tells the session's version now`() async throws {
        let client = try await Client()
        let key = ["Idempotency-Key": UUID().uuidString]
        let created = try await client.create("{}", key)
        let first = try await client.post(OnceTests.add, ["Idempotency-Key": "k-1"])
        _ = try await client.post(OnceTests.add)

        let again = try await client.post(OnceTests.add, ["Idempotency-Key": "k-1"])

        #expect(first.headers["session-version"] == nil && created.headers["session-version"] == nil)
        #expect(again.headers["session-version"] == "3" && again.headers["etag"] == #""2""#)
        #expect(try await client.create("{}", key).headers["session-version"] == "1")
    }

    @Test(arguments: [
        "", "two words", "\"open", "a\"b", "\"a\\n\"", "\"\"", "ключ", String(repeating: "k", count: 256), "a,b",
    ])
    func `a malformed key is a bad request`(key: String) async throws {
        let client = try await Client()
        try await client.expect(
            try await client.post(OnceTests.add, ["Idempotency-Key": key]), 400, "invalid-request")
    }

    @Test(arguments: ["k", "\"two words\"", "\"a \\\"quoted\\\" \\\\ key\"", String(repeating: "k", count: 255)])
    func `a key may be any string of up to 255 characters`(key: String) async throws {
        let client = try await Client()
        #expect(try await client.post(OnceTests.add, ["Idempotency-Key": key]).status == 200)
    }

    @Test func `a repeated creation under a key creates one session`() async throws {
        let client = try await Client()
        let key = ["Idempotency-Key": UUID().uuidString]

        let first = try await client.create("{}", key)
        let again = try await client.create("{}", key)

        #expect(first.status == 201 && again.status == 201)
        #expect(again.body == first.body && again.headers["location"] == first.headers["location"])
        #expect(again.headers["idempotency-replayed"] == "true")
        try await client.expect(try await client.create(#"{"app":"counter"}"#, key), 422, "key-reused")
        try await client.expect(
            try await client.create("{}", ["Idempotency-Key": "guessable"]), 400, "invalid-request")
        let other = try await client.create("{}", ["Idempotency-Key": UUID().uuidString])
        #expect(other.headers["location"] != first.headers["location"])
    }
}

/// Asking for the outcome of an event whose answer was lost, and giving an event up.
@Suite struct OutcomeTests {
    @Test func `the outcome of an event is its first answer, as a repetition of it would get it`() async throws {
        let client = try await Client()
        let key = ["Idempotency-Key": "\"k 1\""]
        let first = try await client.post(OnceTests.add, key)
        _ = try await client.post(OnceTests.add)

        let outcome = try await client.call("GET", "\(client.path)/outcomes/k%201")

        let again = try await client.post(OnceTests.add, key)
        #expect(outcome.status == 200 && outcome.body == first.body)
        #expect(outcome.headers["etag"] == #""2""# && outcome.headers["session-version"] == "3")
        #expect(outcome.headers["idempotency-replayed"] == "true")
        #expect(try outcome.withoutRequestID() == again.withoutRequestID())
        #expect(try await client.version() == 3)
    }

    @Test func `an event that was refused, or never arrived, was not carried out`() async throws {
        let client = try await Client()
        _ = try await client.post(#"{"type":"add","payload":"x"}"#, ["Idempotency-Key": "refused"])

        for key in ["refused", "unknown"] {
            let outcome = try await client.call("GET", "\(client.path)/outcomes/\(key)")
            try await client.expect(outcome, 404, "not-carried-out")
        }
        #expect(try await client.post(OnceTests.add, ["Idempotency-Key": "refused"]).status == 200)
    }

    @Test func `of an expired session there are no outcomes, and nothing is repeated`() async throws {
        let client = try await Client { $0.absoluteLifetime = 6 }
        let key = ["Idempotency-Key": "k-1"]
        #expect(try await client.post(OnceTests.add, key).status == 200)
        client.clock.advance(6)

        for method in ["GET", "DELETE"] {
            let outcome = try await client.call(method, "\(client.path)/outcomes/k-1")
            #expect(outcome.status == 410 && outcome.text.contains("session-expired"), "\(outcome.text)")
        }
        #expect(try await client.post(OnceTests.add, key).status == 410)
    }

    @Test func `nothing is carried out under a key that was withdrawn`() async throws {
        let client = try await Client()

        for _ in 0..<2 {
            let withdrawn = try await client.call("DELETE", "\(client.path)/outcomes/k-1")
            #expect(withdrawn.status == 204 && withdrawn.body.isEmpty)
        }

        try await client.expect(
            try await client.post(OnceTests.add, ["Idempotency-Key": "k-1"]), 409, "key-withdrawn")
        try await client.expect(
            try await client.call("GET", "\(client.path)/outcomes/k-1"), 404, "not-carried-out")
        #expect(try await client.post(OnceTests.add, ["Idempotency-Key": "k-2"]).status == 200)
    }

    @Test func `the key of an event that was carried out cannot be withdrawn, and its outcome is the answer`()
        async throws
    {
        let client = try await Client()
        let first = try await client.post(OnceTests.add, ["Idempotency-Key": "k-1"])

        let outcome = try await client.call("DELETE", "\(client.path)/outcomes/k-1")

        #expect(outcome.status == 200 && outcome.body == first.body)
        let again = try await client.post(OnceTests.add, ["Idempotency-Key": "k-1"])
        #expect(again.headers["idempotency-replayed"] == "true" && again.body == first.body)
    }

    @Test(arguments: ["GET", "DELETE"])
    func `a key that no request can have is a bad request, and nobody learns it without the token`(
        method: String
    ) async throws {
        let client = try await Client()
        let wrong = try await client.call("GET", client.path, token: "wrong").withoutRequestID()

        for key in [String(repeating: "k", count: 256), "%D0%BA", "a%0Ab"] {
            let path = "\(client.path)/outcomes/\(key)"
            try await client.expect(try await client.call(method, path), 400, "invalid-request")
            #expect(try await client.call(method, path, token: "wrong").withoutRequestID() == wrong)
        }
    }
}

@Suite struct ConditionTests {
    @Test(arguments: [#""1""#, "*", #""9", "1""#, #"W/"1""#, #"W/"9", W/"1-gzip""#, #""1-51c0ffee""#])
    func `an event is applied if its condition matches the current version`(condition: String) async throws {
        let client = try await Client()
        let answer = try await client.post(OnceTests.add, ["If-Match": condition])
        #expect(answer.status == 200 && answer.headers["etag"] == #""2""#)
    }

    @Test(arguments: [#""2""#, #"W/"2""#, #""01x""#, #""0", "-1""#, #""01""#, #""+1""#, #""1-0""#, #""1-""#])
    func `an event is refused if its condition does not match the current version`(condition: String) async throws {
        let client = try await Client()
        let answer = try await client.post(OnceTests.add, ["If-Match": condition])

        try await client.expect(answer, 412, "version-mismatch")
        #expect(answer.headers["etag"] == #""1""#)
        #expect(try JSON(parsing: Array(answer.body))["state"]?["session"]?["version"] == 1)
    }

    @Test(arguments: ["1", "", #""1"#, "1,2", #""1",,"2""#, #"*, "1""#])
    func `a malformed condition is a bad request`(condition: String) async throws {
        let client = try await Client()
        try await client.expect(
            try await client.post(OnceTests.add, ["If-Match": condition]), 400, "invalid-request")
    }

    @Test func `reading and ending a session may have conditions, too`() async throws {
        let client = try await Client()
        try await client.expect(
            try await client.call("GET", client.path, headers: ["If-Match": #""7""#]), 412, "version-mismatch")
        try await client.expect(
            try await client.call("DELETE", client.path, headers: ["If-Match": #""7""#]), 412, "version-mismatch")
        #expect(try await client.call("GET", client.path, headers: ["If-Match": #""1""#]).status == 200)
        #expect(try await client.call("DELETE", client.path, headers: ["If-Match": #""1""#]).status == 204)
    }
}

@Suite struct HistoryTests {
    func history(_ client: Client, _ query: String = "") async throws -> JSON {
        let answer = try await client.call("GET", "\(client.path)/history\(query)")
        #expect(answer.status == 200)
        return try JSON(parsing: Array(answer.body))
    }

    func versions(_ history: JSON) -> [Int] { history["history"]?.array?.compactMap { $0["version"]?.integer } ?? [] }

    @Test func `the history lists what happened, newest first, without payloads`() async throws {
        let client = try await Client()
        _ = try await client.post(#"{"type":"add","payload":4711}"#)
        _ = try await client.post(#"{"type":"ask"}"#)

        let answer = try await client.call("GET", "\(client.path)/history")
        let entries = try #require(try JSON(parsing: Array(answer.body))["history"]?.array)

        #expect(entries.map { $0["event"]?.string } == ["ask", "add", nil])
        #expect(entries[1]["operations"] == [["op": "push", "key": "k2", "stack": "main"]])
        #expect(entries[1]["visible"]?["name"] == "counter")
        #expect(entries[1]["time"]?.string?.isEmpty == false)
        #expect(!answer.text.contains("4711"))
    }

    @Test func `the history comes in pages`() async throws {
        let client = try await Client()
        for _ in 1...6 { _ = try await client.post(OnceTests.add) }

        let first = try await history(client, "?limit=3")
        #expect(versions(first) == [7, 6, 5])
        let next = try #require(first["next"]?.string)
        let second = try JSON(parsing: Array(try await client.call("GET", next).body))
        #expect(versions(second) == [4, 3, 2])
        let last = try await history(client, "?limit=3&before=2")
        #expect(versions(last) == [1] && last["next"] == nil)
        #expect(versions(try await history(client, "?before=1")) == [])
        for query in ["?limit=0", "?limit=101", "?limit=x", "?before=0", "?after=1", "?limit=1&limit=2"] {
            try await client.expect(
                try await client.call("GET", "\(client.path)/history\(query)"), 400, "invalid-request", version: 7)
        }
    }

    @Test func `a past state can be read, and a session forked from it`() async throws {
        let client = try await Client()
        let before = try await client.call("GET", client.path)
        for _ in 1...2 { _ = try await client.post(OnceTests.add) }

        let past = try await client.call("GET", "\(client.path)/history/1")
        #expect(past.status == 200 && past.body == before.body && past.headers["etag"] == nil)
        for version in ["0", "4", "x", "01", "99999999999999999999"] {
            try await client.expect(
                try await client.call("GET", "\(client.path)/history/\(version)"), 404, "unknown-version", version: 3)
        }

        let right = ["Authorization": "Bearer \(client.token)"]
        let fork = try await client.create(#"{"forkOf":"\#(client.id)","version":2}"#, right)
        let body = try JSON(parsing: Array(fork.body))
        #expect(fork.status == 201 && body["session"]?["version"] == 1)
        #expect(body["stack"]?.array?.count == 2)
        #expect(body["session"]?["id"]?.string != client.id && body["token"]?.string != client.token)
        try await client.expect(
            try await client.create(#"{"forkOf":"\#(client.id)"}"#, [:]), 401, "unauthorized", version: 3)
        try await client.expect(
            try await client.create(#"{"forkOf":"\#(client.id)","version":9}"#, right), 404, "unknown-version",
            version: 3)
        for body in [#"{"version":1}"#, #"{"forkOf":"x","app":"counter"}"#, #"{"forkOf":"x","version":0}"#] {
            try await client.expect(try await client.create(body, right), 400, "invalid-request", version: 3)
        }
    }

    @Test func `only the owner can read the past`() async throws {
        let client = try await Client()
        for path in ["\(client.path)/history", "\(client.path)/history/1"] {
            try await client.expect(try await client.call("GET", path, token: "x"), 401, "unauthorized")
            try await client.expect(try await client.call("PUT", path), 405, "method-not-allowed")
        }
    }
}
