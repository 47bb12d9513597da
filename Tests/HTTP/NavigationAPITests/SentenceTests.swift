import Coordinators
import JSONCoding
import Testing
import TestSupport

/// Has every kind of event, tabs, an alert and flows.
private struct WordyCoordinator: Coordinator {
    enum Event: NavigationEvent {
        case plain
        case number(Int)
        case named(email: String)
        case map([String: Int])
        case ask, sheet
        static let examples: [Event] = [.plain, .number(1), .named(email: "x"), .map(["x": 1]), .ask, .sheet]
    }

    static let links: [LinkPattern] = ["/x"]

    func start(_ navigator: inout Navigator) {
        navigator.push(Screen("tabs"), tabs: [Tab("a", Screen("a")), Tab("b", Screen("b"))])
    }

    func handle(_ event: Event, _ navigator: inout Navigator) {
        switch event {
        case .ask: navigator.alert(Alert("Sure?"))
        case .sheet: navigator.present(SheetCoordinator())
        default: navigator.push(Screen("next"))
        }
    }
}

private struct SheetCoordinator: Coordinator {
    func start(_ navigator: inout Navigator) { navigator.push(Screen("sheet")) }
}

/// The details of problems are put together from parts; these are the whole sentences.
@Suite struct SentenceTests {
    private static let app = App("wordy", root: { WordyCoordinator() }, coordinators: [SheetCoordinator.self])

    static let bodies: [(before: String?, body: String, detail: String)] = [
        (nil, "", "The body ends too early, at byte 0."),
        (nil, "x", "The body is not JSON, at byte 0."),
        (nil, "{} {}", "The body goes on after its JSON value, at byte 3."),
        (nil, #"{"a":1,"a":1}"#, "The body has a name twice in one object, at byte 7."),
        (nil, "[1e999]", "The body has a number that is malformed or out of range, at byte 1."),
        (nil, "[]", "The body must be an object."),
        (nil, "{}", "The body lacks “type”."),
        (nil, #"{"type":7}"#, "The value at /type must be a string."),
        (nil, #"{"typ":7}"#, "The body has a member that is not one of “type”, “payload”, “screen”."),
        (
            nil, #"{"type":"plain","payload":1}"#,
            "The value at /payload must be left out, because “plain” takes no payload."
        ),
        (nil, #"{"type":"number"}"#, "The value at /payload is missing."),
        (nil, #"{"type":"number","payload":"x"}"#, "The value at /payload must be an integer in range."),
        (nil, #"{"type":"named","payload":[]}"#, "The value at /payload must be an object."),
        (nil, #"{"type":"named","payload":{}}"#, "The value at /payload/email is missing."),
        (nil, #"{"type":"named","payload":{"email":7}}"#, "The value at /payload/email must be a string."),
        (nil, #"{"type":"map","payload":{"":"x"}}"#, "The value at /payload/ must be an integer in range."),
        (
            nil, #"{"type":"relaunch","payload":1}"#,
            "The value at /payload must be left out, because “relaunch” takes no payload."
        ),
        (
            nil, #"{"type":"selectTab"}"#,
            "The value at /payload must have either “tab”, a string, or “index”, an integer, and nothing else."
        ),
        (nil, #"{"type":"selectTab","payload":{"tab":"c"}}"#, "The value at /payload/tab names no tab."),
        (nil, #"{"type":"open"}"#, "The value at /payload must have “path”, a string, and nothing else."),
        (
            "plain", #"{"type":"back","payload":1}"#,
            "The value at /payload must be left out, because “back” takes no payload."
        ),
        (
            "plain", #"{"type":"backTo","payload":{}}"#,
            "The value at /payload must have either “key” or “name”, a string, and nothing else."
        ),
        (
            "plain", #"{"type":"backTo","payload":{"key":"k9"}}"#,
            "The value at /payload/key names no screen to go back to."
        ),
        (
            "sheet", #"{"type":"dismiss","payload":7}"#,
            "The value at /payload must have “key”, a string, and nothing else, or be left out."
        ),
        (
            "sheet", #"{"type":"dismiss","payload":{"key":"p9"}}"#,
            "The value at /payload/key names no presented flow."
        ),
        (
            "ask", #"{"type":"answer"}"#,
            "The value at /payload must have “button”, a string, may have “alert”, a string, and nothing else."
        ),
        ("ask", #"{"type":"answer","payload":{"button":"x"}}"#, "The value at /payload/button names no button."),
    ]

    @Test(arguments: bodies) func `what does not fit is described in a sentence`(
        before: String?, body: String, detail: String
    ) async throws {
        let client = try await Client(SentenceTests.app)
        if let before {
            let payload = before == "plain" ? #","payload":{}"# : ""
            #expect(try await client.post(#"{"type":"\#(before)"\#(payload)}"#).status == 200)
        }

        let answer = try await client.post(body)

        #expect(try JSON(parsing: Array(answer.body))["detail"]?.string == detail)
    }

    @Test func `every answer forbids clients to guess its type`() async throws {
        let client = try await Client(SentenceTests.app)

        for (path, tag) in [("/openapi.yaml", ""), ("/livez", ""), (client.path, ""), (client.path, "\"1\"")] {
            let answer = try await client.call("GET", path, headers: ["If-None-Match": tag])
            #expect(answer.headers["x-content-type-options"] == "nosniff", "\(path) \(tag)")
        }
    }
}
