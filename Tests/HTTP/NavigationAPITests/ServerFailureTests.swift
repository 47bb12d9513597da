import Coordinators
import Foundation
import JSONCoding
import MicroHTTP
import NavigationAPI
import Sessions
import Synchronization
import Testing
import TestSupport

/// What is reported to the operator about answers of 5xx, but not to clients.
@Suite struct ServerFailureTests {
    /// What was reported.
    final class Reports: Sendable {
        private let failures = Mutex<[ServerFailure]>([])
        var all: [ServerFailure] { failures.withLock { $0 } }
        func add(_ failure: ServerFailure) { failures.withLock { $0.append(failure) } }
    }

    let reports = Reports()

    /// The only failure that was reported, which is that of the answer.
    func failure(of answer: Answer) throws -> ServerFailure {
        #expect(reports.all.count == 1)
        let failure = try #require(reports.all.first)
        #expect(failure.status == answer.status)
        #expect(failure.request.text == answer.headers["x-request-id"])
        return failure
    }

    @Test(arguments: [
        (StoreError.unavailable(reason: "disk I/O error"), "not-applied", "disk I/O error"),
        (.unknownOutcome(reason: "the flush failed"), "unknown", "the flush failed"),
        (.full, "storage-full", "The storage is full"),
    ])
    func `a store that fails is reported with its reason`(error: StoreError, problem: String, cause: String)
        async throws
    {
        let store = FailingStore()
        let client = try await Client(store: store, reports: reports)
        store.failure.withLock { $0 = error }

        let answer = try await client.post(#"{"type":"add","payload":1}"#)

        let failure = try failure(of: answer)
        #expect(answer.status == 503 && failure.problem == problem && failure.session?.text == client.id)
        #expect(failure.details == ["cause": cause])
        #expect(cause == "The storage is full" || !answer.text.contains(cause))
    }

    @Test func `a session that cannot be read is reported with the reason`() async throws {
        let store = FailingStore()
        let first = try await Client(store: store)
        let second = try await Client(store: store, reports: reports)
        store.readFailure.withLock { $0 = .unavailable(reason: "row 7 is damaged") }

        let answer = try await second.call("GET", first.path, token: first.token)

        let failure = try failure(of: answer)
        #expect(answer.status == 503 && failure.session?.text == first.id)
        #expect(failure.details == ["cause": "row 7 is damaged"])
    }

    @Test(arguments: ["", "?dryRun=true"])
    func `a handler that fails is reported with app, coordinator, event and error`(query: String) async throws {
        let client = try await Client(reports: reports)

        let answer = try await client.connection.request(
            "POST", "\(client.path)/events\(query)",
            headers: ["Authorization": "Bearer \(client.token)", "Content-Type": "application/json"],
            body: Data(#"{"type":"fail"}"#.utf8))

        let failure = try failure(of: answer)
        #expect(answer.status == 500 && failure.problem == "handler-failed" && failure.session?.text == client.id)
        #expect(
            failure.details == [
                "app": "counter", "coordinator": "counter", "call": "handle(fail)", "event": "fail",
                "error": "Failure",
            ])
    }

    @Test func `a handler that takes too long is reported with its limit`() async throws {
        let client = try await Client(reports: reports)

        let answer = try await client.postLate()

        let failure = try failure(of: answer)
        #expect(answer.status == 504 && failure.problem == "handler-deadline")
        #expect(
            failure.details == [
                "app": "counter", "coordinator": "counter", "call": "handle(stall)", "event": "stall",
                "limit": "3600.0 seconds",
            ])
    }

    @Test func `what the HTTP server itself refuses is reported, too`() async throws {
        let client = try await Client(reports: reports)
        let connection = try Connection(port: client.server.port)

        try await connection.send("FETCH /livez HTTP/1.1\r\nHost: x\r\n\r\n")
        let answer = try await connection.receive()

        #expect(try failure(of: answer).problem == "unknown-method")
    }

    @Test func `an event that is still under way when the server stops is reported`() async throws {
        let client = try await Client(reports: reports)
        let headers = ["Authorization": "Bearer \(client.token)", "Content-Type": "application/json"]
        try await client.connection.send(
            Connection.bytes("POST", "\(client.path)/events", headers: headers, body: Data(Client.stall.utf8)))

        let failure = try failure(of: try await client.answerAtStop())
        #expect(failure.status == 503 && failure.problem == "unknown" && failure.session?.text == client.id)
    }

    @Test func `a mistake of a client is not reported`() async throws {
        let client = try await Client(reports: reports)

        for body in [#"{"type":"none"}"#, #"{"type":"add","payload":"x"}"#, "{"] {
            #expect((400..<500).contains(try await client.post(body).status))
        }

        #expect(reports.all.isEmpty)
    }
}
