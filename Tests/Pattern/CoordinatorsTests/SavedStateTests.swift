import Coordinators
import CoordinatorsTesting
import JSONCoding
import Testing

@Suite struct SavedStateTests {
    @Test func `every restored state is equal, and continues like the original`() async throws {
        var app = try await CoordinatorTester(TestApps.app)
        let events: [(String, JSON?)] = [
            ("remember", "text \"quoted\""), ("login", nil), ("visit", nil), ("push", 1), ("ask", nil),
            ("answer", ["button": "yes"]), ("back", nil), ("logout", nil), ("relaunch", nil),
        ]
        for (type, payload) in events {
            let saved = app.state.encoded
            let restored = try app.app.restore(try JSON(parsing: saved, maximumDepth: 100)).state
            #expect(restored == app.state)
            #expect(restored.encoded == saved)

            let event = PostedEvent(type, payload: payload)
            let next = try await app.app.apply(event, to: restored, at: app.now)
            try await app.send(type, payload)

            #expect(next.state == app.state, "after \(type)")
        }
    }

    @Test func `restored tabs are equal`() async throws {
        var app = try await CoordinatorTester(TestApps.shelf)
        try await app.send("more")
        try await app.send("selectTab", ["tab": "home"])

        let restored = try app.app.restore(try JSON(parsing: app.state.encoded, maximumDepth: 100)).state

        #expect(restored == app.state)
        #expect(restored.visible?.screen.name == "home")
    }

    @Test func `a saved state is JSON with stable names`() async throws {
        var app = try await CoordinatorTester(TestApps.app)
        try await app.send("login")

        let saved = String(decoding: app.state.encoded, as: UTF8.self)

        #expect(
            saved == """
                {"version":1,"lastKey":2,"lastID":2,"defaults":{},"coordinators":[{"id":1,"home":0,"name":"root","state":{"told":[]}},\
                {"id":2,"parent":1,"home":0,"name":"home","state":{"visits":0}}],"stack":{"id":0,"screens":[\
                {"key":"k1","name":"login","title":"Login","coordinator":1},{"key":"k2","name":"home","title":"Home","coordinator":2}]}}
                """)
    }

    @Test func `a state that cannot be restored reports why`() async throws {
        var tester = try await CoordinatorTester(TestApps.app)
        try await tester.send("login")
        let saved = try JSON(parsing: tester.state.encoded)
        let text = saved.description
        func restore(_ text: String) throws -> NavigationState {
            try TestApps.app.restore(try JSON(parsing: Array(text.utf8))).state
        }

        let gone = Loss.coordinator(name: "gone", reason: "there is no such coordinator")
        #expect(throws: RestoreError.sameVersion([gone, .screen(name: "home")])) {
            try restore(text.replacing("\"home\",\"state\"", with: "\"gone\",\"state\""))
        }
        #expect(throws: RestoreError.self) { try restore(text.replacing("\"visits\":0", with: "\"visits\":\"x\"")) }
        #expect(throws: RestoreError.self) { try restore(text.replacing("\"parent\":1", with: "\"parent\":2")) }
        #expect(throws: RestoreError.self) {
            try restore(text.replacing("\"coordinator\":2", with: "\"coordinator\":9"))
        }
        #expect(throws: RestoreError.self) { try restore(text.replacing("\"k2\"", with: "\"k1\"")) }
        #expect(throws: RestoreError.self) { try restore("{}") }
    }

    @Test(arguments: [
        // Counters that would give out a key or an id again, and a key without a number.
        ("\"lastKey\":2", "\"lastKey\":1"), ("\"lastID\":2", "\"lastID\":1"), ("\"k2\"", "\"x\""),
        // Counters that cannot be incremented.
        ("\"lastKey\":2", "\"lastKey\":9223372036854775807"), ("\"lastID\":2", "\"lastID\":9223372036854775807"),
        // A coordinator that is its own descendant: a walk up its ancestors would never end.
        ("\"id\":1,\"home\"", "\"id\":1,\"parent\":2,\"home\""), ("\"id\":2,\"parent\"", "\"id\":1,\"parent\""),
        ("\"id\":1,\"home\":0", "\"id\":1,\"home\":7"),
        // A presented flow whose coordinator was not started in it.
        (
            ",{\"key\":\"k2\",\"name\":\"home\",\"title\":\"Home\",\"coordinator\":2}]}",
            "]},\"presented\":[{\"key\":\"p0\",\"style\":\"sheet\",\"coordinator\":1,\"stack\":{\"id\":2,\"screens\":["
                + "{\"key\":\"k2\",\"name\":\"home\",\"coordinator\":2}]}}]"
        ),
    ])
    func `a state that no session can reach is not restored`(text: String, replacement: String) async throws {
        var tester = try await CoordinatorTester(TestApps.app)
        try await tester.send("login")
        let saved = String(decoding: tester.state.encoded, as: UTF8.self)
        let forged = saved.replacing(text, with: replacement)

        #expect(saved != forged)
        #expect {
            try TestApps.app.restore(try JSON(parsing: Array(forged.utf8)))
        } throws: {
            if case RestoreError.damaged = $0 { true } else { false }
        }
    }

    @Test(arguments: [1 << 53, .max])
    func `a session whose counters have reached their limit goes no further`(lastKey: Int) async throws {
        let forged: JSON = ["lastKey": .integer(lastKey), "lastID": .integer(lastKey)]

        var run = try TestApps.app.beginRelaunch(of: forged, at: CoordinatorTester.someTime)

        await #expect(throws: NavigationError.stateLimit(bytes: 65536)) { try await run.result() }
    }
}

@Suite struct AppDeclarationTests {
    enum Reserved: NavigationEvent, CaseIterable { case fine, back, open }
    enum Untold: NavigationEvent { case a(Int), b; static let examples: [Untold] = [.a(1), .a(2)] }
    struct NoEnum: NavigationEvent { var x = 1; var y = 2; static let examples = [NoEnum()] }

    struct One: Coordinator {
        static let name = "same"
        func start(_ navigator: inout Navigator) {}
        func handle(_ event: Reserved, _ navigator: inout Navigator) {}
    }

    struct Two: Coordinator {
        static let name = "same"
        func start(_ navigator: inout Navigator) {}
        func handle(_ event: Untold, _ navigator: inout Navigator) {}
    }

    struct Three: Coordinator {
        func start(_ navigator: inout Navigator) {}
        func handle(_ event: NoEnum, _ navigator: inout Navigator) {}
    }

    final class Shared: Coordinator {
        func start(_ navigator: inout Navigator) {}
    }

    @Test func `mistakes in a declaration are reported before the start`() {
        let app = App("wrong", root: One.init, coordinators: [Two.self, Three.self, Shared.self])

        #expect(app.problems.count == 5)
        #expect(app.problems.contains { $0.contains("must be a struct or an enum") })
        #expect(app.problems.allSatisfy { $0.hasPrefix("app “wrong”: ") })
        #expect(TestApps.app.problems == [])
    }

    @Test func `a coordinator is named after its type unless it declares a name`() {
        #expect(HomeCoordinator.name == "home")
        #expect(DeepCoordinator.name == "deep")
        #expect(One.name == "same")
    }

    @Test func `events are derived from their examples`() throws {
        let events = try #require(TestApps.app.coordinators.first).events

        #expect(events.map(\.name) == ["login", "push", "ask", "confirmed", "nothing", "remember", "fail", "misuse"])
        #expect(events.map(\.payload) == [nil, 1, nil, ["count": 1], nil, "x", nil, "popToNowhere"])
    }
}
