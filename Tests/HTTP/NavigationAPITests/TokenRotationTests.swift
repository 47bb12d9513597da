import Coordinators
import JSONCoding
import Testing
import TestSupport

/// Gives the session another token when its user enters.
private struct DoorCoordinator: Coordinator {
    enum Event: String, NavigationEvent, CaseIterable { case enter }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("door")) }

    func handle(_ event: Event, _ navigator: inout Navigator) { navigator.rotateToken(endingOthers: true) }
}

@Suite struct TokenRotationTests {
    static let app = App("door", root: { DoorCoordinator() })
    static let enter = #"{"type":"enter"}"#

    @Test func `the answer contains the new token, and the old one is refused like any wrong one`() async throws {
        let client = try await Client(TokenRotationTests.app)
        let wrong = try await client.call("GET", client.path, token: "wrong").withoutRequestID()

        let entered = try await client.post(TokenRotationTests.enter)

        let token = try #require(try JSON(parsing: Array(entered.body))["token"]?.string)
        #expect(entered.status == 200 && entered.headers["etag"] == #""2""#)
        #expect(try await client.call("GET", client.path, token: token).status == 200)
        let old = try await client.call("GET", client.path)
        #expect(try old.status == 401 && old.withoutRequestID() == wrong)
        let keyed = try await client.post(TokenRotationTests.enter, ["Idempotency-Key": "never used"])
        #expect(try keyed.status == 401 && keyed.withoutRequestID() == wrong)
    }

    @Test func `an answer from before the new token is sealed with the past`() async throws {
        let client = try await Client(TokenRotationTests.app)
        let look = #"{"type":"relaunch"}"#
        #expect(try await client.post(look, ["Idempotency-Key": "tap-1"]).status == 200)
        let entered = try await client.post(TokenRotationTests.enter)
        let token = try #require(try JSON(parsing: Array(entered.body))["token"]?.string)

        let again = try await client.post(
            look, ["Idempotency-Key": "tap-1", "Authorization": "Bearer \(token)"])

        try again.expect(409, "answer-forgotten")
        #expect(try JSON(parsing: Array(again.body))["state"]?["session"]?["version"] == 3)
    }

    @Test func `an answer that was lost is returned again under its key`() async throws {
        let client = try await Client(TokenRotationTests.app)

        let first = try await client.post(TokenRotationTests.enter, ["Idempotency-Key": "8e03978e-40d5-991c"])
        let again = try await client.post(TokenRotationTests.enter, ["Idempotency-Key": "8e03978e-40d5-991c"])

        #expect(first.status == 200 && again.status == 200 && again.body == first.body)
        #expect(again.headers["idempotency-replayed"] == "true")
        let other = try await client.post(#"{"type":"back"}"#, ["Idempotency-Key": "8e03978e-40d5-991c"])
        #expect(other.status == 401)
    }

    @Test(arguments: ["GET", "DELETE"])
    func `the outcome has the new token, for the client with the old one and the client with the new one`(
        method: String
    ) async throws {
        let client = try await Client(TokenRotationTests.app)
        let wrong = try await client.call("GET", client.path, token: "wrong").withoutRequestID()
        let key = "8e03978e-40d5-991c"
        let first = try await client.post(TokenRotationTests.enter, ["Idempotency-Key": key])
        let token = try #require(try JSON(parsing: Array(first.body))["token"]?.string)

        for token in [client.token, token] {
            let outcome = try await client.call(method, "\(client.path)/outcomes/\(key)", token: token)
            #expect(outcome.status == 200 && outcome.body == first.body)
            #expect(outcome.headers["idempotency-replayed"] == "true" && outcome.headers["session-version"] == "2")
        }
        for (path, token) in [
            ("\(client.path)/outcomes/\(key)", "wrong"), ("\(client.path)/outcomes/8e03978e-40d5-991d", client.token),
            ("/v1/sessions/s_vGNoFnEWTqnck/outcomes/\(key)", client.token),
        ] {
            let refused = try await client.call(method, path, token: token)
            #expect(try refused.status == 401 && refused.withoutRequestID() == wrong)
        }
    }
}
