import Coordinators
import CoordinatorsTesting
import ReferenceApps
import Testing

@Suite struct MainTests {
    @Test(arguments: [(3, "a, c"), (4, "a, b"), (-1, "a, c")])
    func `the next screen depends on whether the number is even`(number: Int, stack: String) async throws {
        var app = try await CoordinatorTester(Main.app)

        try await app.send("button01Tapped", .integer(number))

        #expect(app.stack == stack)
        #expect(app.state.visible?.screen.params == ["number": .integer(number)])
    }

    @Test func `any screen leads to any other, and back to the first`() async throws {
        var app = try await CoordinatorTester(Main.app)
        try await app.send("button01Tapped", 3)

        try await app.send("button02Tapped", "hello")

        #expect(app.stack == "a, c, f")
        #expect(app.state.visible?.screen.params["text"] == "hello")
        try await app.send("backToRoot")
        #expect(app.stack == "a")
    }

    @Test func `a payload of the wrong type changes nothing`() async throws {
        var app = try await CoordinatorTester(Main.app)
        let before = app.state

        await #expect(throws: (any Error).self) { try await app.send("button01Tapped", "x") }

        #expect(app.state == before)
    }
}
