import Coordinators
import Foundation
import JSONCoding
import Testing
import TestSupport

/// Items with links, an editor over them, and an event that fails because the app is too busy.
struct ItemCoordinator: Coordinator {
    static let links: [LinkPattern] = ["/items/{id:integer}?page={page:integer}", "/closed"]

    enum Event: NavigationEvent {
        case edit, busy
        static let examples: [Event] = [.edit, .busy]
    }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("items")) }

    func handle(_ event: Event, _ navigator: inout Navigator) throws {
        switch event {
        case .edit: navigator.present(NoteCoordinator())
        case .busy: throw Overloaded(retryAfter: 7)
        }
    }

    func open(_ link: Link, _ navigator: inout Navigator) -> LinkDecision {
        guard link.pattern.text != "/closed" else { return .passedOn }
        navigator.popToRoot()
        navigator.push(Screen("item", params: link.params, link: link.pattern))
        return .taken
    }
}

/// Asks before it is left.
struct NoteCoordinator: Coordinator {
    func start(_ navigator: inout Navigator) { navigator.push(Screen("note")) }

    func shouldLeave(_ screen: Screen, in context: NavigationContext) -> Alert? {
        Alert("Discard?", buttons: [.leave("yes", title: "Yes"), .cancel])
    }
}

@Suite struct FlowTests {
    static func client() async throws -> Client {
        try await Client(
            App(
                "items", root: { ItemCoordinator() }, coordinators: [NoteCoordinator.self],
                origins: ["https://items.example.com"]))
    }

    static func json(_ answer: Answer) throws -> JSON { try JSON(parsing: Array(answer.body)) }

    @Test func `a state contains a presented flow with its key, its style and its stack`() async throws {
        let client = try await FlowTests.client()

        let state = try FlowTests.json(try await client.post(#"{"type":"edit"}"#))

        #expect(
            state["presented"] == [
                [
                    "key": "p2", "style": "sheet", "asks": true,
                    "stack": [["key": "k3", "name": "note", "coordinator": "note"]],
                ]
            ])
        #expect(state["back"] == ["effect": "dismiss", "to": "k1", "asks": true])
        #expect(
            state["transition"]?["operations"] == [
                ["op": "present", "key": "p2", "style": "sheet"], ["op": "push", "key": "k3", "stack": "p2"],
            ])
    }

    @Test func `an alert asks before leaving, and its answer leaves`() async throws {
        let client = try await FlowTests.client()
        _ = try await client.post(#"{"type":"edit"}"#)

        let asked = try FlowTests.json(try await client.post(#"{"type":"dismiss"}"#))

        #expect(asked["alert"]?["title"] == "Discard?")
        #expect(asked["presented"]?.array?.count == 1 && asked["presented"]?.array?[0]["asks"] == nil)
        let left = try FlowTests.json(try await client.post(#"{"type":"answer","payload":{"button":"yes"}}"#))
        #expect(left["presented"] == nil && left["alert"] == nil)
        #expect(left["visible"]?["name"] == "items")
    }

    @Test func `a session can begin at a link`() async throws {
        let client = try await FlowTests.client()
        let json = ["Content-Type": "application/json"]

        let answer = try await client.connection.request(
            "POST", "/v1/sessions", headers: json,
            body: Data(#"{"link":"https://items.example.com/items/42/?page=2&x=1#top"}"#.utf8))

        #expect(answer.status == 201)
        let state = try FlowTests.json(answer)
        #expect(state["visible"]?["link"] == "/items/42?page=2")
        #expect(state["stack"]?.array?.map { $0["name"]?.string } == ["items", "item"])
        #expect(state["session"]?["version"] == 1)
    }

    @Test(arguments: [("/nowhere", 422, "unknown-link"), ("/closed", 409, "link-not-taken")])
    func `a link that leads nowhere is refused, on creation too`(path: String, status: Int, problem: String)
        async throws
    {
        let client = try await FlowTests.client()

        try await client.expect(try await FlowTests.open(path, client), status, problem)
        try await client.expect(try await FlowTests.create(path, client), status, problem)
    }

    @Test(arguments: [
        ("/nowhere", "No link of the app begins like this one."),
        (
            "/items/42?page=x",
            """
            The link's path fits “/items/{id:integer}?page={page:integer}”, but its query parameter “page” is not an \
            integer.
            """
        ),
        ("https://nowhere.example.com/items/42", "The link's origin is none of the app's."),
    ])
    func `an unknown link is refused with its place and what does not fit`(link: String, reason: String) async throws {
        let client = try await FlowTests.client()

        let opened = try FlowTests.json(try await FlowTests.open(link, client))
        let created = try FlowTests.json(try await FlowTests.create(link, client))

        #expect(opened["pointer"] == "/payload/path")
        #expect(created["pointer"] == "/link")
        for problem in [opened, created] {
            #expect(problem["detail"]?.string == "\(reason) GET /v1/apps/{app} lists the app's links.")
        }
    }

    @Test func `an app lists its links and their origins`() async throws {
        let client = try await FlowTests.client()

        let app = try FlowTests.json(try await client.call("GET", "/v1/apps/items"))

        #expect(app["links"] == ["/items/{id:integer}?page={page:integer}", "/closed"])
        #expect(app["origins"] == ["https://items.example.com"])
    }

    static func open(_ link: String, _ client: Client) async throws -> Answer {
        try await client.post(#"{"type":"open","payload":{"path":"\#(link)"}}"#)
    }

    private static func create(_ link: String, _ client: Client) async throws -> Answer {
        try await client.connection.request(
            "POST", "/v1/sessions", headers: ["Content-Type": "application/json"],
            body: Data(#"{"link":"\#(link)"}"#.utf8))
    }

    @Test func `an overloaded app says when to try again`() async throws {
        let client = try await FlowTests.client()

        let answer = try await client.post(#"{"type":"busy"}"#)

        try await client.expect(answer, 429, "overloaded")
        #expect(answer.headers["retry-after"] == "7")
    }

    @Test func `a dry run answers what would happen, and nothing changes`() async throws {
        let client = try await FlowTests.client()
        let before = try await client.call("GET", client.path)
        let headers = ["Authorization": "Bearer \(client.token)", "Content-Type": "application/json"]

        let answer = try await client.connection.request(
            "POST", "\(client.path)/events?dryRun=true", headers: headers, body: Data(#"{"type":"edit"}"#.utf8))

        #expect(answer.status == 200)
        #expect(answer.headers["etag"] == nil)
        let state = try FlowTests.json(answer)
        #expect(state["presented"]?.array?.count == 1)
        #expect(state["session"] == (try FlowTests.json(before))["session"])
        #expect(try await client.call("GET", client.path).body == before.body)
    }

}

@Suite struct ControlsTests {
    @Test func `every answer with a state has controls if they are asked for`() async throws {
        let client = try await FlowTests.client()
        let headers = ["Authorization": "Bearer \(client.token)", "Content-Type": "application/json"]
        let key = headers.merging(["Idempotency-Key": "k-1"]) { $1 }
        let edit = Data(#"{"type":"edit"}"#.utf8)

        let answers = [
            try await client.connection.request("POST", "/v1/sessions?include=controls"),
            try await client.call("GET", "\(client.path)?include=controls"),
            try await client.connection.request(
                "POST", "\(client.path)/events?dryRun=true&include=controls", headers: headers, body: edit),
            try await client.connection.request(
                "POST", "\(client.path)/events?include=controls", headers: key, body: edit),
        ]

        for answer in answers {
            let state = try FlowTests.json(answer)
            let controls = try #require(state["controls"]?.array)
            #expect(controls.map { $0["type"] } == state["events"]?.array)
            #expect(controls.allSatisfy { $0["title"] != nil && $0["role"] != nil && $0["place"] != nil })
        }
        let conflict = try await client.connection.request(
            "POST", "\(client.path)/events?include=controls", headers: headers,
            body: Data(#"{"type":"edit","screen":"k9"}"#.utf8))
        try conflict.expect(409, "stale-screen")
        #expect(try FlowTests.json(conflict)["state"]?["controls"]?.array?.isEmpty == false)
        // A replay is the first answer, whatever is asked for now.
        let again = try await client.connection.request("POST", "\(client.path)/events", headers: key, body: edit)
        #expect(again.body == answers[3].body)
        #expect(try FlowTests.json(try await client.call("GET", client.path))["controls"] == nil)
        try await client.call("GET", "\(client.path)?include=everything").expect(400, "invalid-request")
        try await client.call("GET", "\(client.path)/coordinators?include=controls").expect(400, "invalid-request")
    }

    @Test func `a client posts what a button or a row carries, and nothing else`() async throws {
        struct Seats: Coordinator {
            enum Event: NavigationEvent {
                case toggle(passenger: Int)
                case sort(String)
                static let examples: [Event] = [.toggle(passenger: 9), .sort("x")]
            }
            func start(_ navigator: inout Navigator) {
                navigator.push(
                    Screen(
                        "seats", events: [Control("By name", sends: Event.sort("name"))],
                        rows: [Row("Ann Lee", detail: "12A", sends: Event.toggle(passenger: 1)), Row("1 passenger")]))
            }
            func handle(_ event: Event, _ navigator: inout Navigator) { navigator.push(Screen("seats", events: [])) }
        }
        let client = try await Client(App("seats", root: { Seats() }))
        let state = try FlowTests.json(try await client.call("GET", "\(client.path)?include=controls"))
        let button: JSON = ["type": "sort", "payload": "name", "title": "By name"]
        let row: JSON = [
            "title": "Ann Lee", "detail": "12A", "type": "toggle", "payload": ["passenger": 1], "role": "navigation",
        ]

        #expect(state["visible"]?["buttons"] == [button])
        #expect(state["visible"]?["rows"] == [row, ["title": "1 passenger"]])
        #expect(state["events"]?.array?.prefix(2) == ["toggle", "sort"])
        #expect(
            state["controls"]?.array?.first == [
                "type": "sort", "payload": "name", "coordinator": "seats", "title": "By name", "role": "secondary",
                "place": "screen",
            ])
        let forged = try await client.post(#"{"type":"toggle","payload":{"passenger":2}}"#)
        try await client.expect(forged, 409, "event-not-accepted")
        #expect(try FlowTests.json(forged)["state"]?["visible"]?["rows"]?.array?.first == row)
        #expect(try await client.post(#"{"type":"toggle","payload":{"passenger":1}}"#).status == 200)
    }

    @Test func `what a client says about itself is checked, and may be replaced`() async throws {
        let client = try await FlowTests.client()
        for (body, pointer) in [
            (#"{"client":7}"#, "/client"), (#"{"client":{"locale":7}}"#, "/client/locale"),
            (#"{"client":{"x":"\#(String(repeating: "x", count: 4096))"}}"#, "/client"),
        ] {
            let answer = try await client.create(body, [:])
            try answer.expect(400, "invalid-request")
            #expect(try FlowTests.json(answer)["pointer"] == .string(pointer))
        }
        #expect(try await client.create(#"{"client":{"locale":"de","x":[1]}}"#, [:]).status == 201)

        let described = try await client.post(#"{"type":"describeClient","payload":{"locale":"de"}}"#)
        #expect(described.status == 200 && described.headers["etag"] == #""2""#)
        #expect(
            try await client.post(#"{"type":"describeClient","payload":{"locale":"de"}}"#).headers["etag"] == #""2""#)
        let refused = try await client.post(#"{"type":"describeClient","payload":{"version":1}}"#)
        try await client.expect(refused, 422, "invalid-event", version: 2)
        #expect(try FlowTests.json(refused)["pointer"] == "/payload/version")
    }
}
