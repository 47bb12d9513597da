import Coordinators
import CoordinatorsTesting
import JSONCoding
import Testing

@Suite struct AlertTests {
    @Test func `while an alert is shown, only answer and back are accepted`() async throws {
        var app = try await CoordinatorTester(TestApps.app)

        try await app.send("ask")

        #expect(app.alert?.title == "Sure?")
        #expect(app.events == ["back", "answer"])
        #expect(app.state.backPlan == .dismissAlert)
        await #expect(throws: CoordinatorTester.Failure(.eventNotAccepted)) { try await app.send("push", 1) }
        await #expect(throws: CoordinatorTester.Failure(.eventNotAccepted)) { try await app.send("relaunch") }
    }

    @Test func `a button sends its event to the coordinator that asked`() async throws {
        var app = try await CoordinatorTester(TestApps.app)
        try await app.send("ask")

        try await app.send("answer", ["button": "yes"])

        #expect(app.alert == nil)
        #expect(app.told == ["confirmed 3"])
        #expect(app.transition.operations == [.dismissAlert(key: "a2")])
    }

    @Test func `back presses the cancel button`() async throws {
        var app = try await CoordinatorTester(TestApps.app)
        try await app.send("ask")

        try await app.back()

        #expect(app.alert == nil)
        #expect(app.told == [])
    }

    @Test func `an answer to an earlier alert does not answer the one that is shown`() async throws {
        var app = try await CoordinatorTester(TestApps.app)
        try await app.send("ask")
        let first = try #require(app.state.alert?.key)
        try await app.back()
        try await app.send("ask")
        let second = try #require(app.state.alert?.key)
        #expect(first != second)

        await #expect(throws: CoordinatorTester.Failure(.staleScreen)) {
            try await app.send("answer", ["button": "yes", "alert": .string(first)])
        }
        #expect(app.state.alert?.key == second)

        try await app.send("answer", ["button": "yes", "alert": .string(second)])
        #expect(app.alert == nil)
    }

    @Test(
        arguments: [
            ["button": "no such"], ["button": 1], [:], ["button": "yes", "alert": 1], ["button": "yes", "key": "a1"],
            ["alert": "a1"], nil,
        ] as [JSON?])
    func `an answer must name a button`(payload: JSON?) async throws {
        var app = try await CoordinatorTester(TestApps.app)
        try await app.send("ask")

        await #expect(throws: CoordinatorTester.Failure.self) { try await app.send("answer", payload) }
        #expect(app.alert != nil)
    }
}

@Suite struct TabTests {
    @Test func `a tab holds a screen of the coordinator itself or of a child`() async throws {
        let app = try await CoordinatorTester(TestApps.shelf)

        #expect(app.stack == "list, shelf[own*: first | home: home]")
        #expect(app.coordinators == ["shelf", "home"])
        #expect(app.visible == "first")
    }

    @Test func `a push goes onto the stack of the coordinator's screen, and tabs keep their stacks`() async throws {
        var app = try await CoordinatorTester(TestApps.shelf)
        try await app.send("more")
        #expect(app.stack == "list, shelf[own*: first, more | home: home]")

        try await app.send("selectTab", ["tab": "home"])
        try await app.send("selectTab", ["index": 0])

        #expect(app.stack == "list, shelf[own*: first, more | home: home]")
    }

    @Test func `selecting the selected tab pops it to its root`() async throws {
        var app = try await CoordinatorTester(TestApps.shelf)
        try await app.send("more")

        try await app.send("selectTab", ["tab": "own"])

        #expect(app.stack == "list, shelf[own*: first | home: home]")
    }

    @Test func `back pops the innermost stack first, then the outer one`() async throws {
        var app = try await CoordinatorTester(TestApps.shelf)
        try await app.send("more")
        #expect(app.state.backPlan == .pop(key: "k5", revealed: "k3"))

        try await app.back()
        #expect(app.stack == "list, shelf[own*: first | home: home]")
        #expect(app.state.backPlan == .pop(key: "k2", revealed: "k1"))

        try await app.back()
        #expect(app.stack == "list")
        #expect(app.coordinators == ["shelf"], "the child went with its tab")
        #expect(app.state.backPlan == nil)
    }

    @Test func `a coordinator accepts only the events that its visible screen offers`() async throws {
        var app = try await CoordinatorTester(TestApps.shelf)
        try await app.send("more")

        #expect(app.events == ["cover", "back", "backTo", "backToRoot", "selectTab", "relaunch", "describeClient"])
        await #expect(throws: CoordinatorTester.Failure(.eventNotAccepted)) { try await app.send("more") }
        try await app.send("cover")
        #expect(app.visible == "first")
    }

    @Test(
        arguments: [
            ["tab": "no such"], ["index": 2], ["index": -1], [:], ["tab": "own", "index": 0], ["tab": 0],
            ["tab": "own", "x": 1],
        ]
            as [JSON])
    func `an event that does not name one existing tab is refused`(payload: JSON) async throws {
        var app = try await CoordinatorTester(TestApps.shelf)
        let before = app.state

        await #expect(throws: CoordinatorTester.Failure.self) { try await app.send("selectTab", payload) }
        #expect(app.state == before)
    }
}
