import Coordinators
import CoordinatorsTesting
import JSONCoding
import Testing

@Suite struct TransitionTests {
    @Test func `a session starts with what the root shows`() async throws {
        let app = try await CoordinatorTester(TestApps.app)

        #expect(app.stack == "login")
        #expect(app.coordinators == ["root"])
        #expect(app.transition == Transition(event: nil, operations: [.push(key: "k1")], finished: []))
    }

    @Test func `back removes the coordinator whose screen is gone, and notifies its parent`() async throws {
        var app = try await CoordinatorTester(TestApps.app)
        try await app.send("login")
        #expect(app.coordinators == ["root", "home"])

        try await app.back()

        #expect(app.stack == "login")
        #expect(app.coordinators == ["root"])
        #expect(app.told == ["dismissed"])
        #expect(app.transition.operations == [.pop(key: "k2")])
        #expect(app.transition.finished == [])
    }

    @Test func `a child that finishes is handed to its parent with its state`() async throws {
        var app = try await CoordinatorTester(TestApps.app)
        try await app.send("login")
        try await app.send("visit")

        try await app.send("logout")

        #expect(app.stack == "login")
        #expect(app.coordinators == ["root"])
        #expect(app.told == ["finished 1"])
        #expect(app.transition.finished == ["home"])
    }

    @Test func `an event that the screen's coordinator lacks goes to its parent`() async throws {
        var app = try await CoordinatorTester(TestApps.app)
        try await app.send("login")

        try await app.send("push", 7)

        #expect(app.stack == "login, home, number")
        #expect(app.state.visible?.screen.params == ["value": 7])
        #expect(app.coordinators == ["root", "home"])
    }

    @Test func `keys are never used again`() async throws {
        var app = try await CoordinatorTester(TestApps.app)
        var keys: Set<String> = []

        for number in 0..<10 {
            try await app.send("push", .integer(number))
            keys.insert(try #require(app.state.visible?.key))
            try await app.back()
        }

        #expect(keys.count == 10)
    }

    @Test func `a handler that throws changes nothing`() async throws {
        var app = try await CoordinatorTester(TestApps.app)
        let before = app.state

        await #expect(
            throws: CoordinatorTester.Failure(
                .handlerFailed(coordinator: "root", call: "handle(fail)", error: .init(type: "TestError")))
        ) {
            try await app.send("fail")
        }

        #expect(app.state == before)
        #expect(app.told == [])
    }

    @Test func `a handler that requests nothing leaves an equal state`() async throws {
        var app = try await CoordinatorTester(TestApps.app)
        let before = app.state

        try await app.send("nothing")

        #expect(app.state == before)
    }

    @Test(
        arguments: [
            ("confirmed", nil, ["payload", "count"]), ("confirmed", ["count": "x"], ["payload", "count"]),
            ("confirmed", [:], ["payload", "count"]), ("push", "x", ["payload"]), ("push", nil, ["payload"]),
            ("login", 5, ["payload"]), ("misuse", "unheard of", ["payload"]), ("back", 5, ["payload"]),
            ("relaunch", "x", ["payload"]),
        ] as [(String, JSON?, [String])])
    func `a payload that does not fit is reported with its path`(
        type: String, payload: JSON?, path: [String]
    ) async throws {
        var app = try await CoordinatorTester(TestApps.app)
        try await app.send("push", 1)
        let before = app.state

        let error = await #expect(throws: CoordinatorTester.Failure.self) { try await app.send(type, payload) }

        guard case .invalidEvent(let event)? = error?.reason else { throw error! }
        #expect(event.faults.map(\.path) == [path])
        #expect(app.state == before)
    }

    @Test func `an event on a screen that is not visible any more is stale`() async throws {
        var app = try await CoordinatorTester(TestApps.app)
        try await app.send("push", 1, screen: "k1")

        await #expect(throws: CoordinatorTester.Failure(.staleScreen)) { try await app.send("push", 2, screen: "k1") }
        #expect(app.stack == "login, number")
    }

    @Test func `defaults survive a relaunch, coordinators do not`() async throws {
        var app = try await CoordinatorTester(TestApps.app)
        try await app.send("remember", "kept")
        try await app.send("login")

        try await app.send("relaunch")

        #expect(app.stack == "login")
        #expect(app.coordinators == ["root"])
        #expect(app.state.defaults["text"] == "kept")
    }

    @Test func `backToRoot pops the stack to its first screen`() async throws {
        var app = try await CoordinatorTester(TestApps.app)
        try await app.send("login")
        try await app.send("push", 1)
        #expect(app.events.contains("backToRoot"))

        try await app.send("backToRoot")

        #expect(app.stack == "login")
        #expect(app.coordinators == ["root"])
        #expect(app.transition.operations == [.pop(key: "k3"), .pop(key: "k2")])
        await #expect(throws: CoordinatorTester.Failure(.nothingToGoBack)) { try await app.send("backToRoot") }
        await #expect(throws: CoordinatorTester.Failure(.nothingToGoBack)) { try await app.back() }
    }

    @Test func `the listed events are accepted, and no others`() async throws {
        var app = try await CoordinatorTester(TestApps.app)

        #expect(
            app.events == [
                "login", "push", "ask", "confirmed", "nothing", "remember", "fail", "misuse", "relaunch",
                "describeClient",
            ])
        for type in ["visit", "selectTab", "answer"] {
            await #expect(throws: CoordinatorTester.Failure(.eventNotAccepted)) { try await app.send(type) }
        }
        await #expect(throws: CoordinatorTester.Failure(.unknownEvent)) { try await app.send("unheard of") }
    }

    @Test func `no request by an author can lead to an impossible state`() async throws {
        for misuse in RootCoordinator.Misuse.allCases {
            var app = try await CoordinatorTester(TestApps.app)
            let before = app.state

            let error = await #expect(throws: CoordinatorTester.Failure.self, "\(misuse)") {
                try await app.send("misuse", .string(misuse.rawValue))

            }

            if misuse != .tooLarge { #expect(app.state == before, "\(misuse)") }
            switch (misuse, error?.reason) {
            case (.popToNowhere, .impossibleRequest("root", "popTo(nowhere)", _)?),
                (.finishRoot, .impossibleRequest("root", "finish()", _)?),
                (.unlisted, .impossibleRequest("root", "start(unlisted)", _)?),
                (.unknownOffer, .impossibleRequest("root", "push(x)", _)?),
                (.noTabs, .impossibleRequest("root", "push(x), tabs:", _)?),
                (.noTabs, .impossibleRequest("root", "push(x, tabs:)", _)?),
                (.twoTabs, .impossibleRequest("root", _, _)?),
                (.unknownTab, .impossibleRequest("root", "selectTab(x)", _)?),
                (.noButton, .impossibleRequest("root", "alert()", _)?),
                (.idleChild, .invariantViolated(.idleCoordinator("silent"))?), (.endless, .runawayTransition?),
                (.deep, .runawayTransition("deep")?), (.tooMany, .stackLimit("root")?),
                (.tooLarge, .stateLimit(bytes: 65536)?),
                (.emptyTab, .invariantViolated(.emptyTab("x", "a"))?):
                break
            default: Issue.record("\(misuse) gave \(String(describing: error?.reason))")
            }
        }
    }

    @Test func `nothing can be requested after finish`() async throws {
        var app = try await CoordinatorTester(TestApps.app)
        try await app.send("login")

        let error = await #expect(throws: CoordinatorTester.Failure.self) { try await app.send("logoutTwice") }

        #expect(
            error?.reason
                == .impossibleRequest(
                    coordinator: "home", request: "push(late)", reason: "it has already asked to finish"))
    }
}

extension CoordinatorTester {
    /// What the root of `TestApps.app` has noted about its children and its alert.
    var told: [String] { (state.coordinators[0].coordinator as? RootCoordinator)?.told ?? [] }
}
