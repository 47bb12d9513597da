import Coordinators
import Foundation
import JSONCoding
import Sessions
import Testing
import TestSupport

/// Version 1: a form over a list, with a help screen of its own flow.
private struct List: Coordinator {
    static let name = "list"

    enum Event: NavigationEvent, CaseIterable { case add, help }

    func start(_ navigator: inout Navigator) {
        navigator.push(Screen("list", title: "List", events: [Event.add, .help]))
    }

    func handle(_ event: Event, _ navigator: inout Navigator) {
        switch event {
        case .add: navigator.present(Form())
        case .help: navigator.start(Help())
        }
    }
}

private struct Form: Coordinator {
    static let name = "form"
    func start(_ navigator: inout Navigator) { navigator.push(Screen("form")) }
}

private struct Help: Coordinator {
    static let name = "help"
    func start(_ navigator: inout Navigator) { navigator.push(Screen("help")) }
}

/// Version 2: the list has another title and remembers what was added; there is no help any more.
private struct NewList: Coordinator {
    static let name = "list"
    static let blank = Self()
    var added = 0
    var notes: [String] = []

    enum Event: NavigationEvent, CaseIterable { case add }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("list")) }

    func render(_ screen: inout Screen, in context: NavigationContext) {
        screen.title = (["\(added) things"] + notes).joined(separator: ", ")
        screen.events = [Control(sends: Event.add)]
    }

    mutating func handle(_ event: Event, _ navigator: inout Navigator) { added += 1 }

    mutating func childWasDismissed(_ child: any Coordinator, _ navigator: inout Navigator) {
        if let removed = child as? RemovedCoordinator { notes.append(removed.name) }
    }
}

/// Version 2 with a list that fails when it is told that the help is gone.
private struct FailingList<Failure: Error>: Coordinator {
    static var name: String { "list" }

    enum Event: NavigationEvent, CaseIterable { case add }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("list")) }
    func handle(_ event: Event, _ navigator: inout Navigator) {}

    func render(_ screen: inout Screen, in context: NavigationContext) { screen.events = [Control(sends: Event.add)] }

    func childWasDismissed(_ child: any Coordinator, _ navigator: inout Navigator) throws {
        if Failure.self == Overloaded.self { throw Overloaded() }
        throw TestFailure("no")
    }
}

/// A session over HTTP, in the hands of one version of the app after the other.
@Suite struct ChangedAppTests {
    private static let old = App("list", root: { List() }, coordinators: [Form.self, Help.self])
    private static let new = App("list", version: 2, root: { NewList() }, coordinators: [Form.self])

    /// A client of another server on the same store, with the same session.
    private func client(of app: App, _ store: MemoryStore, after client: Client) async throws -> Client {
        var next = try await Client(app, store: store)
        (next.id, next.token) = (client.id, client.token)
        return next
    }

    private func state(_ client: Client) async throws -> JSON {
        let answer = try await client.call("GET", client.path)
        #expect(answer.status == 200)
        return try JSON(parsing: Array(answer.body))
    }

    @Test func `a changed screen is drawn anew, as another version, and the session continues`() async throws {
        let store = MemoryStore()
        let before = try await Client(ChangedAppTests.old, store: store)
        _ = try await before.post(#"{"type":"add"}"#)

        let after = try await client(of: ChangedAppTests.new, store, after: before)
        let drawn = try await state(after)

        #expect(drawn["session"]?["version"] == 3)
        #expect(drawn["stack"]?.array?[0]["title"] == "0 things")
        #expect(drawn["visible"]?["name"] == "form")
        let history = try JSON(parsing: Array(try await after.call("GET", "\(after.path)/history").body))
        #expect(history["history"]?.array?[0]["event"] == "migrate")
        #expect(history["history"]?.array?[0]["operations"] == [["op": "update", "key": "k1"]])
        _ = try await after.post(#"{"type":"back"}"#)
        let posted = try JSON(parsing: Array(try await after.post(#"{"type":"add"}"#).body))
        #expect(posted["visible"]?["title"] == "1 things" && posted["events"]?.array?.first == "add")
    }

    @Test func `a removed flow goes, its parent hears of it, and the past stays readable`() async throws {
        let store = MemoryStore()
        let before = try await Client(ChangedAppTests.old, store: store)
        _ = try await before.post(#"{"type":"help"}"#)

        let after = try await client(of: ChangedAppTests.new, store, after: before)
        let reduced = try await state(after)

        #expect(reduced["visible"]?["name"] == "list" && reduced["session"]?["version"] == 3)
        #expect(reduced["visible"]?["title"] == "0 things, help")
        let past = try await after.call("GET", "\(after.path)/history/1")
        #expect(past.status == 200)
    }

    @Test func `a fork of a version from before tells the parents, too`() async throws {
        let store = MemoryStore()
        let before = try await Client(ChangedAppTests.old, store: store)
        _ = try await before.post(#"{"type":"help"}"#)
        let after = try await client(of: ChangedAppTests.new, store, after: before)
        _ = try await state(after)

        let headers = ["Authorization": "Bearer \(after.token)", "Content-Type": "application/json"]
        let forked = try await after.connection.request(
            "POST", "/v1/sessions", headers: headers, body: Data(#"{"forkOf":"\#(after.id)","version":2}"#.utf8))

        #expect(try JSON(parsing: Array(forked.body))["visible"]?["title"] == "0 things, help")
    }

    @Test func `a parent that fails keeps no session from being restored, one without capacity may try again`()
        async throws
    {
        let store = MemoryStore()
        let before = try await Client(ChangedAppTests.old, store: store)
        _ = try await before.post(#"{"type":"help"}"#)

        let busy = App("list", version: 2, root: { FailingList<Overloaded>() }, coordinators: [Form.self])
        let waiting = try await client(of: busy, store, after: before)
        #expect(try await waiting.call("GET", waiting.path).status == 429)

        let failing = App("list", version: 2, root: { FailingList<TestFailure>() }) { _, _ in Alert("Oops") }
        let after = try await client(of: failing, store, after: before)
        let reduced = try await state(after)
        #expect(reduced["visible"]?["name"] == "list" && reduced["session"]?["version"] == 3)
        #expect(reduced["alert"] == nil)
        // It can be restored again.
        let again = try await client(of: failing, store, after: before)
        #expect(try await state(again) == reduced)
    }

    @Test func `an older version leaves the session as it is, and the newer one continues`() async throws {
        let store = MemoryStore()
        let before = try await Client(ChangedAppTests.old, store: store)
        let newer = try await client(of: ChangedAppTests.new, store, after: before)
        _ = try await newer.post(#"{"type":"add"}"#)
        let saved = try await state(newer)

        let older = try await client(of: ChangedAppTests.old, store, after: before)
        for answer in [
            try await older.call("GET", older.path), try await older.post(#"{"type":"add"}"#),
            try await older.call("DELETE", older.path),
        ] {
            try answer.expect(503, "newer-app")
            #expect(answer.headers["retry-after"] == "60")
        }

        #expect(try await state(client(of: ChangedAppTests.new, store, after: before)) == saved)
    }

    @Test func `nothing is removed before the app's version is raised`() async throws {
        let store = MemoryStore()
        let before = try await Client(ChangedAppTests.old, store: store)
        _ = try await before.post(#"{"type":"help"}"#)
        let saved = try await state(before)
        let careless = App("list", root: { NewList() }, coordinators: [Form.self])

        try await client(of: careless, store, after: before).call("GET", before.path).expect(503, "newer-app")

        #expect(try await state(client(of: ChangedAppTests.old, store, after: before)) == saved)
    }

    @Test func `a shorter life counts for sessions that were saved before`() async throws {
        let store = MemoryStore()
        let before = try await Client(ChangedAppTests.old, store: store)
        let brief = App(
            "list", root: { List() }, coordinators: [Form.self, Help.self], expiry: Expiry(idle: .seconds(0)))
        try await client(of: brief, store, after: before).call("GET", before.path).expect(410, "session-expired")
        #expect(try await state(client(of: ChangedAppTests.old, store, after: before))["session"]?["version"] == 1)
    }
}
