import Coordinators
import Foundation
import JSONCoding
import Testing
import TestSupport

/// Shows a note over a desk, which an event with a payload clears.
private struct DeskCoordinator: Coordinator {
    static let links: [LinkPattern] = ["/notes"]
    static let everywhere = Event.examples

    enum Event: NavigationEvent {
        case clear(reason: String)
        case warn
        static let examples: [Event] = [.clear(reason: "tidy"), .warn]
    }

    func start(_ navigator: inout Navigator) {
        navigator.push(Screen("desk"))
        navigator.present(NoteCoordinator())
    }

    func handle(_ event: Event, _ navigator: inout Navigator) {
        switch event {
        case .clear: navigator.endChildren()
        case .warn: navigator.alert(Alert("Careful"))
        }
    }

    func open(_ link: Link, _ navigator: inout Navigator) -> LinkDecision {
        navigator.endChildren()
        return .taken
    }
}

@Suite struct AnswerFirstTests {
    private static func client() async throws -> Client {
        try await Client(App("desk", root: { DeskCoordinator() }, coordinators: [NoteCoordinator.self]))
    }

    private static let clear = #"{"type":"clear","payload":{"reason":"private"}}"#

    private static func post(_ body: String, key: String, to client: Client) async throws -> Answer {
        let headers = [
            "Authorization": "Bearer \(client.token)", "Content-Type": "application/json", "Idempotency-Key": key,
        ]
        return try await client.connection.request(
            "POST", "\(client.path)/events", headers: headers, body: Data(body.utf8))
    }

    @Test func `an event with a payload is refused with the alert, and accepted after the answer`() async throws {
        let client = try await AnswerFirstTests.client()

        let refused = try await client.post(AnswerFirstTests.clear)
        try await client.expect(refused, 409, "answer-first", version: 2)
        let state = try FlowTests.json(refused)["state"]
        #expect(state?["alert"]?["title"] == "Discard?")
        #expect(state?["session"]?["version"] == 2)
        #expect(try FlowTests.json(refused)["events"] == ["back", "answer", "open"])
        try await client.expect(try await client.post(AnswerFirstTests.clear), 409, "answer-first", version: 2)

        let answered = try FlowTests.json(try await client.post(#"{"type":"answer","payload":{"button":"yes"}}"#))
        #expect(answered["visible"]?["name"] == "note")
        let cleared = try FlowTests.json(try await client.post(AnswerFirstTests.clear))
        #expect(cleared["visible"]?["name"] == "desk")
        let history = try await client.call("GET", "\(client.path)/history")
        #expect(!String(decoding: history.body, as: UTF8.self).contains("private"))
    }

    @Test func `the event may be posted again under its key`() async throws {
        let client = try await AnswerFirstTests.client()
        try await client.expect(
            try await AnswerFirstTests.post(AnswerFirstTests.clear, key: "1", to: client), 409, "answer-first",
            version: 2)
        _ = try await client.post(#"{"type":"answer","payload":{"button":"yes"}}"#)

        let done = try await AnswerFirstTests.post(AnswerFirstTests.clear, key: "1", to: client)
        #expect(done.status == 200)
        let repeated = try await AnswerFirstTests.post(AnswerFirstTests.clear, key: "1", to: client)

        #expect(repeated.body == done.body)
        #expect(repeated.headers["idempotency-replayed"] == "true")
    }

    @Test func `a dry run shows what would be asked, and asks nothing`() async throws {
        let client = try await AnswerFirstTests.client()
        let headers = ["Authorization": "Bearer \(client.token)", "Content-Type": "application/json"]

        let tried = try await client.connection.request(
            "POST", "\(client.path)/events?dryRun=true", headers: headers, body: Data(AnswerFirstTests.clear.utf8))

        try await client.expect(tried, 409, "answer-first", version: 1)
        #expect(try FlowTests.json(tried)["state"]?["alert"]?["title"] == "Discard?")
    }

    @Test func `a link that arrives during an alert is opened after the answer`() async throws {
        let client = try await AnswerFirstTests.client()
        _ = try await client.post(#"{"type":"warn"}"#)

        #expect(try await FlowTests.open("/nowhere", client).status == 422, "not worth keeping")
        let kept = try await FlowTests.open("/notes", client)

        #expect(kept.status == 200)
        #expect(try FlowTests.json(kept)["session"]?["version"] == 3)
        #expect(try FlowTests.json(kept)["alert"]?["title"] == "Careful")
        let opened = try FlowTests.json(try await client.post(#"{"type":"back"}"#))
        #expect(opened["alert"]?["title"] == "Discard?")
        let left = try FlowTests.json(try await client.post(#"{"type":"answer","payload":{"button":"yes"}}"#))
        #expect(left["visible"]?["name"] == "desk" && left["alert"] == nil)
    }

    @Test func `a dry run keeps no link`() async throws {
        let client = try await AnswerFirstTests.client()
        _ = try await client.post(#"{"type":"warn"}"#)
        let headers = ["Authorization": "Bearer \(client.token)", "Content-Type": "application/json"]

        let tried = try await client.connection.request(
            "POST", "\(client.path)/events?dryRun=true", headers: headers,
            body: Data(#"{"type":"open","payload":{"path":"/notes"}}"#.utf8))

        #expect(tried.status == 200)
        let answered = try FlowTests.json(try await client.post(#"{"type":"back"}"#))
        #expect(answered["alert"] == nil && answered["visible"]?["name"] == "note")
    }
}
