import Coordinators
import Foundation
import JSONCoding
import NavigationAPI
import Sessions
import Testing
import TestSupport

/// A shelf whose books are fetched apart from the state, by what is in the store then.
private struct ShelfCoordinator: Coordinator {
    enum Event: NavigationEvent {
        case show(String), renew(String)
        static let examples: [Event] = [.show("books"), .renew("shelf")]
    }

    enum Signal: NavigationSignal {
        case restocked
        static let external: [Signal] = [.restocked]
    }

    struct Failure: Error {}

    func start(_ navigator: inout Navigator) { navigator.push(Screen("shelf", params: ["x": 1], hasContent: true)) }

    func handle(_ event: Event, _ navigator: inout Navigator) {
        switch event {
        case .show(let name): navigator.push(Screen(name, hasContent: name != "plain"))
        case .renew(let name): navigator.invalidateContent(of: name)
        }
    }

    func receive(_ signal: Signal, _ navigator: inout Navigator) { navigator.invalidateContent(of: "shelf") }

    func content(of screen: Screen, in context: ContentContext) async throws -> JSONObject {
        switch screen.name {
        case "failing": throw Failure()
        case "slow": try await Task.sleep(for: .seconds(3600))
        case "busy": throw Overloaded(retryAfter: 7)
        case "huge": return ["text": .string(String(repeating: "x", count: 1 << 20))]
        default: break
        }
        let books = try context.resolve(Books.self)
        return [
            "books": .array(books.titles().map { .string($0) }), "session": .string(context.session.id),
            "language": context.client.language.map { .string($0) } ?? .null,
        ]
    }
}

private final class Books: Sendable {
    private let file: URL
    init(_ file: URL) { self.file = file }
    func titles() -> [String] {
        (try? String(contentsOf: file, encoding: .utf8))?.split(separator: "\n").map(String.init) ?? []
    }
}

@Suite struct ContentTests {
    private let file = FileManager.default.temporaryDirectory.appending(path: "content-\(UUID())")

    private func client() async throws -> Client {
        var dependencies = Dependencies()
        dependencies.register(Books.self) { [file] _ in Books(file) }
        var settings = NavigationHandler.Settings()
        settings.serviceKeys = KeyTable(["stock-key": "stock"])
        let app = App("shelf", root: { ShelfCoordinator() }, dependencies: dependencies)
        return try await Client(app, handler: settings)
    }

    @Test
    func `an invalidated content is a change of the screen, also below others, and without content it is refused`()
        async throws
    {
        let client = try await client()
        let renew = #"{"type":"renew","payload":"shelf"}"#

        let first = try FlowTests.json(try await client.post(renew))
        _ = try await client.post(#"{"type":"show","payload":"plain"}"#)
        let second = try FlowTests.json(try await client.post(renew))
        let refused = try await client.post(#"{"type":"renew","payload":"plain"}"#)

        #expect(first["visible"]?["contentVersion"] == 1)
        let key = first["visible"]?["key"] ?? .null
        #expect(first["transition"]?["operations"] == [["op": "update", "key": key]])
        #expect(second["stack"]?.array?[0]["contentVersion"] == 2, "\(second)")
        #expect(second["visible"]?["contentVersion"] == nil)
        #expect(refused.status == 500)
    }

    @Test func `a service's signal that a content has changed is a version of the session`() async throws {
        let client = try await client()

        let answer = try await client.connection.request(
            "POST", "\(client.path)/signals",
            headers: [
                "Authorization": "Bearer stock-key", "Idempotency-Key": "s-1", "Content-Type": "application/json",
            ], body: Data(#"{"type":"restocked"}"#.utf8))

        #expect(answer.status == 200)
        let change = ["If-None-Match": "\"1\"", "Prefer": "wait=3600"]
        let state = try FlowTests.json(try await client.call("GET", client.path, headers: change))
        #expect(state["session"]?["version"] == 2 && state["visible"]?["contentVersion"] == 1, "\(state)")
    }

    private func open(_ name: String, _ client: Client) async throws -> String {
        let state = try FlowTests.json(try await client.post(#"{"type":"show","payload":"\#(name)"}"#))
        return "\(client.path)/screens/\(state["visible"]?["key"]?.string ?? "")/content"
    }

    @Test func `content is fresh, has a tag of its own, and is not part of the state`() async throws {
        defer { try? FileManager.default.removeItem(at: file) }
        try Data("Emma\n".utf8).write(to: file)
        let client = try await client()
        let path = "\(client.path)/screens/k1/content"
        let state = try await client.call("GET", client.path)
        #expect(try FlowTests.json(state)["visible"]?["hasContent"] == true)
        #expect(!state.text.contains("Emma"))

        let first = try await client.call("GET", path)
        #expect(first.status == 200 && first.headers["content-type"] == "application/json")
        #expect(first.headers["cache-control"] == "private, no-cache")
        let body = try FlowTests.json(first)
        #expect(body["books"] == ["Emma"] && body["session"]?.string == client.id)

        let tag = try #require(first.headers["etag"])
        let same = try await client.call("GET", path, headers: ["If-None-Match": tag])
        #expect(same.status == 304 && same.body.isEmpty)
        try Data("Emma\nUlysses\n".utf8).write(to: file)
        let changed = try await client.call("GET", path, headers: ["If-None-Match": tag])
        #expect(try FlowTests.json(changed)["books"] == ["Emma", "Ulysses"])
        #expect(try await client.version() == 1)
        #expect(try await client.call("HEAD", path).status == 200)
    }

    @Test func `a covered screen has content, too, and what has none is not found`() async throws {
        let client = try await client()
        let plain = try await open("plain", client)

        #expect(try await client.call("GET", "\(client.path)/screens/k1/content").status == 200)
        for path in [plain, "\(client.path)/screens/k9/content", "\(client.path)/screens/x%20y/content"] {
            try await client.call("GET", path).expect(404, "unknown-screen")
        }
        try await client.call("GET", plain, token: "wrong").expect(401, "unauthorized")
    }

    @Test(arguments: [
        ("failing", 500, "handler-failed"), ("slow", 504, "handler-deadline"), ("busy", 429, "overloaded"),
        ("huge", 500, "impossible-request"),
    ])
    func `content that cannot be made is a problem, and changes nothing`(
        name: String, status: Int, problem: String
    ) async throws {
        let client = try await client()
        let path = try await open(name, client)

        let answer =
            if status == 504 { try await client.late { try await client.call("GET", path) } } else {
                try await client.call("GET", path)
            }

        try await client.expect(answer, status, problem, version: 2)
    }

    @Test func `a session may be larger if its app allows it`() async throws {
        let text = String(repeating: "x", count: 50_000)
        func status(sizeLimit: Int) async throws -> Int {
            let client = try await Client(App("note", root: { NoteCoordinator() }, sizeLimit: sizeLimit))
            var last = 0
            for _ in 0..<3 { last = try await client.post(#"{"type":"add","payload":"\#(text)"}"#).status }
            return last
        }
        #expect(try await status(sizeLimit: 64 * 1024) == 409)
        #expect(try await status(sizeLimit: 1024 * 1024) == 200)
        let app = App("note", root: { NoteCoordinator() }, sizeLimit: 2 << 20)
        #expect(app.problems == ["app “note”: its sizeLimit must be from 1 KiB to 1 MiB"])
    }

    private struct NoteCoordinator: Coordinator {
        var notes: [String] = []

        enum Event: NavigationEvent {
            case add(String)
            static let examples: [Event] = [.add("x")]
        }

        func start(_ navigator: inout Navigator) { navigator.push(Screen("notes")) }

        mutating func handle(_ event: Event, _ navigator: inout Navigator) {
            if case .add(let note) = event { notes.append(note) }
        }
    }
}
