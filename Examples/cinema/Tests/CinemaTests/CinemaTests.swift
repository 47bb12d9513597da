import Cinema1
import Cinema2
import CinemaServices
import Coordinators
import CoordinatorsTesting
import Testing

let old = Cinema1.cinema(films: FilmsInMemory(), members: DemoMembers())

/// Each test has seats of its own.
func new() -> App { Cinema2.cinema(films: FilmsInMemory(), members: DemoMembers()) }

@Suite struct CinemaTests {
    @Test func `a booking continues after the sign-in`() async throws {
        var app = try await CoordinatorTester(new())
        try await app.send("film", ["id": 2])
        try await app.send("book")
        #expect(app.presented == ["sheet[signIn]"])

        try await app.send("submit", ["name": "ann", "pin": "1234"])
        #expect(app.transition.rotatesToken)
        #expect(app.presented == ["fullScreen[seats]"])
        try await app.send("choose", ["seat": 12])
        try await app.send("confirm")

        #expect(app.stack == "cinema[films*: films, film | tickets: tickets | account: account]")
        try await app.selectTab("tickets")
        #expect(app.state.visible?.screen.params["bookings"] == [["film": 2, "seat": 12]])
    }

    @Test func `whoever leaves the sign-in books nothing`() async throws {
        var app = try await CoordinatorTester(new(), link: "/films/1")
        try await app.send("book")
        try await app.dismiss()
        try await app.selectTab("account")
        try await app.send("signIn")

        try await app.send("submit", ["name": "ann", "pin": "1234"])

        #expect(app.presented == [])
    }

    @Test func `a seat is sold once`() async throws {
        let films = FilmsInMemory()
        #expect(await films.sell(seat: 7, of: 1, purchase: "another"))
        var app = try await CoordinatorTester(Cinema2.cinema(films: films, members: DemoMembers()), link: "/films/1")
        try await app.send("book")
        try await app.send("submit", ["name": "ann", "pin": "1234"])
        try await app.send("choose", ["seat": 7])

        try await app.send("confirm")

        #expect(app.alert?.title == "Seat 7 is taken")
        #expect(app.presented == ["fullScreen[seats]"])
    }

    @Test func `a booking can be cancelled`() async throws {
        var app = try await booked(in: new(), by: "book")

        try await app.send("cancel", ["film": 1, "seat": 7])
        try await app.answer("yes")

        #expect(app.state.visible?.screen.params["bookings"] == [])
    }

    @Test(arguments: [("ann", false), ("bob", true)])
    func `only the staff sees the sales`(name: String, isStaff: Bool) async throws {
        var app = try await CoordinatorTester(new())
        try await app.selectTab("account")
        #expect(!app.events.contains("sales"))
        try await app.send("signIn")
        try await app.send("submit", ["name": .string(name), "pin": "1234"])

        #expect(app.events.contains("sales") == isStaff)
        try await app.open("/sales")
        #expect((app.visible == "sales") == isStaff)
        #expect((app.alert == nil) == isStaff)
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `no sequence of events breaks either version`(seed: UInt64) async throws {
        let old = Cinema1.cinema(films: FilmsInMemory(), members: DemoMembers())
        for app in [old, new()] { try await RandomWalk(app, seed: seed, links: ["/films/1", "/sales"]).run() }
    }
}

/// What version 2 makes of a session of version 1.
@Suite struct ChangeTests {
    @Test func `the list gets a property that version 1 did not have`() async throws {
        let saved = try await CoordinatorTester(old).saved

        var app = try await CoordinatorTester(new(), restoring: saved)
        #expect(app.losses == [])
        #expect(app.state.visible?.screen.params["recent"] == [])
        try await app.send("film", ["id": 3])
        try await app.back()

        #expect(app.state.visible?.screen.params["recent"] == [3])
    }

    @Test func `the screen of a film has another name, and its button another event`() async throws {
        var before = try await CoordinatorTester(old)
        try await before.send("film", ["id": 3])

        var app = try await CoordinatorTester(new(), restoring: before.saved)

        #expect(app.losses == [])
        #expect(app.visible == "film" && app.events.first == "book")
        #expect(app.state.visible?.key == before.state.visible?.key)
        try await app.send("book")
        #expect(app.presented == ["sheet[signIn]"])
    }

    @Test func `a booking in progress continues`() async throws {
        var before = try await CoordinatorTester(old, link: "/films/3")
        try await before.send("buy")

        var app = try await CoordinatorTester(new(), restoring: before.saved)
        try await app.send("submit", ["name": "ann", "pin": "1234"])

        #expect(app.losses == [])
        #expect(app.presented == ["fullScreen[seats]"])
    }

    @Test func `the offers are removed, and what was collected there is kept`() async throws {
        var before = try await CoordinatorTester(old)
        try await before.selectTab("tickets")
        try await before.send("offers")
        try await before.send("collect")

        let app = try await CoordinatorTester(new(), restoring: before.saved)

        #expect(
            app.losses == [
                .coordinator(name: "offers", reason: "there is no such coordinator"), .screen(name: "offers"),
            ])
        #expect(app.visible == "tickets" && app.events.first == "cancel")
        #expect(app.state.visible?.screen.params["vouchers"] == 1)
    }

    @Test func `an alert whose button has another event is dismissed`() async throws {
        var before = try await booked(in: old, by: "buy")
        try await before.send("cancel", ["film": 1, "seat": 7])

        var app = try await CoordinatorTester(new(), restoring: before.saved)

        #expect(app.losses == [.alert(lacking: "cancelBooking")])
        try await app.send("cancel", ["film": 1, "seat": 7])
        #expect(app.alert?.title == "Cancel this booking?")
    }

    @Test func `version 1 leaves a session of version 2 alone`() async throws {
        let saved = try await CoordinatorTester(new()).saved

        await #expect(throws: RestoreError.newer(version: 2)) { try await CoordinatorTester(old, restoring: saved) }
    }
}

/// A session that has a booking, and shows the tickets.
private func booked(in app: App, by event: String) async throws -> CoordinatorTester {
    var tester = try await CoordinatorTester(app, link: "/films/1")
    try await tester.send(event)
    try await tester.send("submit", ["name": "ann", "pin": "1234"])
    try await tester.send("choose", ["seat": 7])
    try await tester.send("confirm")
    try await tester.selectTab("tickets")
    return tester
}
