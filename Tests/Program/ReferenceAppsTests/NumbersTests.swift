import Coordinators
import CoordinatorsTesting
import ReferenceApps
import Testing

@Suite struct NumbersTests {
    static func values(_ app: CoordinatorTester) -> [Int] {
        app.state.screens.compactMap { $0.screen.params["value"]?.integer }
    }

    @Test func `the app can do everything that the vocabulary offers`() async throws {
        var app = try await CoordinatorTester(Numbers.app)

        try await app.send("push", 1)
        try await app.send("replace", 2)
        #expect(NumbersTests.values(app) == [0, 2])
        try await app.send("setStack", [3, 4])
        #expect(NumbersTests.values(app) == [3, 4])
        try await app.send("sheet", 5)
        try await app.send("push", 6)
        try await app.send("cover", 7)
        #expect(app.stack == "number, number + sheet[number, number] + fullScreen[number]")
        try await app.send("finish")
        try await app.send("dismiss")
        #expect(app.stack == "number, number")
        try await app.send("pushFlow", 8)
        try await app.send("update", 9)
        #expect(NumbersTests.values(app) == [3, 4, 9])
        #expect(app.coordinators == ["number", "number"])
        try await app.send("toSheet")
        #expect(app.stack == "number, number + sheet[number]" && NumbersTests.values(app) == [3, 4, 9])
        try await app.send("deliver", 10)
        #expect(NumbersTests.values(app) == [3, 10, 9])
        try await app.send("toStack")
        #expect(app.stack == "number, number, number" && app.coordinators == ["number", "number"])
        try await app.send("finish")
        try await app.send("wait", ["milliseconds": 1])
        #expect(NumbersTests.values(app) == [3, 10, 1])
        try await app.send("alert", "Hello")
        #expect(app.alert?.title == "Hello")
    }

    @Test func `a handler that throws changes nothing, and is named`() async throws {
        var app = try await CoordinatorTester(Numbers.app)
        let before = app.state

        let error = await #expect(throws: (any Error).self) { try await app.send("fail") }

        #expect(String(describing: error).contains("handle(fail)"))
        #expect(app.state == before)
    }

    @Test func `the sixty-fifth screen is refused`() async throws {
        var app = try await CoordinatorTester(Numbers.app)
        for value in 1..<64 { try await app.send("push", .integer(value)) }
        let before = app.state

        await #expect(throws: (any Error).self) { try await app.send("push", 64) }

        #expect(app.state == before)
    }

    @Test func `an alert counts towards the size of a session`() async throws {
        var app = try await CoordinatorTester(Numbers.app)
        try await app.send("alert", .string(String(repeating: "x", count: 60_000)))
        try await app.answer("ok")
        let before = app.state

        await #expect(throws: (any Error).self) {
            try await app.send("alert", .string(String(repeating: "x", count: 70_000)))
        }

        #expect(app.state == before)
    }
}
