import Coordinators
import CoordinatorsTesting
import JSONCoding
import Testing

/// An event takes effect only on what its client shows: while an alert is shown, that is the alert.
@Suite struct StaleTests {
    @Test(arguments: ["back", "open", "close"])
    func `an event that names the screen under an alert is stale`(event: String) async throws {
        var app = try await CoordinatorTester(TheatreApp.app)
        try await app.send(TheatreCoordinator.Event.choose)
        let screen = app.state.visible?.key
        try await app.pair()

        await app.expectRefusal(.staleScreen) {
            try await $0.send(event, event == "open" ? ["path": "/hall"] : nil, screen: screen)
        }
    }

    @Test func `a second tap on back does not answer the question of the first`() async throws {
        var app = try await CoordinatorTester(TheatreApp.app)
        try await app.send(TheatreCoordinator.Event.choose)
        let screen = app.state.visible?.key
        try await app.send("back", screen: screen)

        await app.expectRefusal(.staleScreen) { try await $0.send("back", screen: screen) }
        #expect(app.alert?.title == "Give up seat 1?")
        try await app.send("back", screen: app.state.alert?.key)

        #expect(app.alert == nil)
        #expect(app.stack == "hall, seat")
    }

    @Test func `an answer by the alert's key may name the screen`() async throws {
        var app = try await CoordinatorTester(TheatreApp.app)
        try await app.send(TheatreCoordinator.Event.choose)
        let screen = app.state.visible?.key
        try await app.back()
        let payload: JSON = ["button": "leave", "alert": .string(app.state.alert?.key ?? "")]

        await app.expectRefusal(.staleScreen) {
            try await $0.send("answer", ["button": "leave"], screen: screen)
        }
        try await app.send("answer", payload, screen: screen)

        #expect(app.stack == "hall")
    }
}
