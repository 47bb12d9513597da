import Coordinators
import CoordinatorsTesting
import ReferenceApps
import TestSupport
import Testing

@Suite struct ListDetailTests {
    @Test func `the detail shows an edited title`() async throws {
        var app = try await CoordinatorTester(ListDetail.app(ForgetfulItemStore(latency: .zero)))
        #expect(app.stack == "list")
        try await app.send("select", ["id": 2])
        #expect(app.stack == "list, detail")
        try await app.send("edit")
        #expect(app.stack == "list, detail + sheet[editor]")
        #expect(app.coordinators == ["list", "editor"])

        try await app.send("save", ["title": "New"])

        #expect(app.stack == "list, detail")
        #expect(app.state.visible?.screen.title == "New")
        #expect(app.state.visible?.screen.params["id"] == 2)
        #expect(app.coordinators == ["list"])
    }

    @Test func `the list shows an edited title, and so does the detail when it is opened again`() async throws {
        var app = try await CoordinatorTester(ListDetail.app(ForgetfulItemStore(latency: .zero)))
        try await app.send("select", ["id": 2])
        try await app.send("edit")
        try await app.send("save", ["title": "New"])

        try await app.back()

        #expect(
            app.state.visible?.screen.params["items"] == [
                ["id": 1, "title": "Item"], ["id": 2, "title": "New"], ["id": 3, "title": "Item"],
            ])
        try await app.send("select", ["id": 2])
        #expect(app.state.visible?.screen.title == "New")
        try await app.back()
        try await app.send("select", ["id": 3])
        #expect(app.state.visible?.screen.title == "Item")
    }

    /// A store that cannot be reached.
    struct Unreachable: ItemStore, Error {
        func save(_ title: String, of id: Int) throws { throw self }
    }

    @Test func `a title is stored while the user goes on`() async throws {
        var app = try await CoordinatorTester(ListDetail.app(Unreachable()))
        for title in ["Old", "New"] {
            try await app.send("select", ["id": 2])
            try await app.send("edit")
            try await app.send("save", ["title": .string(title)])
            try await app.back()
        }
        #expect(app.pending.map(\.id) == ["store 2"], "a later title replaces the one before")
        try await app.send("select", ["id": 3])

        try await app.performEffects()

        #expect(app.alert?.title == "“New” could not be saved")
        #expect(app.state.visible?.screen.params["id"] == 3 && app.pending.map(\.id) == [])
    }

    @Test func `an empty title is not saved`() async throws {
        var app = try await CoordinatorTester(ListDetail.app(ForgetfulItemStore(latency: .zero)))
        try await app.send("select", ["id": 2])
        try await app.send("edit")

        try await app.send("save", ["title": ""])

        #expect(app.alert == Alert("Enter a title"))
        #expect(app.stack == "list, detail + sheet[editor]")
        try await app.send("answer", ["button": "ok"])
        try await app.send("save", ["title": "New"])
        #expect(app.state.visible?.screen.title == "New")
    }

    @Test(arguments: ["dismiss", "cancel", "back"])
    func `leaving the editor removes its coordinator`(event: String) async throws {
        var app = try await CoordinatorTester(ListDetail.app(ForgetfulItemStore(latency: .zero)))
        try await app.send("select", ["id": 2])
        try await app.send("edit")

        try await app.send(event)

        #expect(app.stack == "list, detail")
        #expect(app.state.visible?.screen.title == "Item")
        #expect(app.coordinators == ["list"])
    }

    @Test func `selecting an unknown item shows an alert`() async throws {
        var app = try await CoordinatorTester(ListDetail.app(ForgetfulItemStore(latency: .zero)))

        try await app.send("select", ["id": 99])

        #expect(app.alert?.title == "Not found")
        #expect(app.stack == "list")
        #expect(app.events == ["back", "answer"])
    }

    @Test func `thousands of edits leave the session as large as it was`() async throws {
        var app = try await CoordinatorTester(ListDetail.app(ForgetfulItemStore(latency: .zero)))
        try await app.send("select", ["id": 2])
        let before = savedShape(app.state)

        for _ in 0..<Scale.rounds(1000, long: 10_000) {
            try await app.send("edit")
            try await app.send("dismiss")
            await Task.yield()
        }

        #expect(app.coordinators == ["list"])
        let after = savedShape(app.state)
        #expect(after == before)
    }
}
