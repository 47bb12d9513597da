import Foundation
import JSONCoding
import Sessions
import Testing
import TestSupport

/// Answers that are too old or too large to be kept.
@Suite struct ForgottenAnswerTests {
    @Test func `an event whose answer is not kept any more is not applied again`() async throws {
        let retention = Retention(answerBytes: 1)
        let client = try await Client(store: MemoryStore(retention: retention), retention: retention)
        for number in 1...3 {
            let answer = try await client.post(OnceTests.add, ["Idempotency-Key": "key-\(number)"])
            #expect(answer.headers["etag"] == "\"\(number + 1)\"")
        }

        let again = try await client.post(OnceTests.add, ["Idempotency-Key": "key-1"])

        try await client.expect(again, 409, "answer-forgotten", version: 4)
        #expect(again.headers["etag"] == #""4""#)
        #expect(try JSON(parsing: Array(again.body))["state"]?["session"]?["version"] == 4)
        let other = try await client.post(#"{"type":"nothing"}"#, ["Idempotency-Key": "key-1"])
        try await client.expect(other, 422, "key-reused", version: 4)
        let newest = try await client.post(OnceTests.add, ["Idempotency-Key": "key-3"])
        #expect(newest.status == 200 && newest.headers["idempotency-replayed"] == "true")
    }

    @Test func `a full memory store refuses events, but the session can be read and ended`() async throws {
        let client = try await Client(store: MemoryStore(limitBytes: 20_000))
        var last = try await client.post(OnceTests.add)
        while last.status == 200 { last = try await client.post(OnceTests.add) }

        try last.expect(503, "storage-full")
        try await client.create("{}", [:]).expect(503, "storage-full")
        #expect(try await client.call("GET", client.path).status == 200)
        #expect(try await client.call("DELETE", client.path).status == 204)
        #expect(try await client.create("{}", [:]).status == 201)
    }
}
