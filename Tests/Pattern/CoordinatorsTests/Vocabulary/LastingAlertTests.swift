import Coordinators
import CoordinatorsTesting
import Testing

/// Alerts in any order with what else a coordinator asks for.
@Suite struct LastingAlertTests {
    /// What `b` asks for beside an alert, and the stack afterwards.
    struct Order: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let after: String
        let asks: [Ask]

        init(_ after: String, _ asks: Ask...) {
            testDescription = "\(asks)"
            self.after = after
            self.asks = asks
        }
    }

    static let orders = [
        Order("a", .alert(["ok"]), .finish), Order("a", .finish, .alert(["ok"])),
        Order("a", .alert(["ok"]), .dismiss), Order("a", .dismiss, .alert(["ok"])),
        Order("a + sheet[b, x]", .alert(["ok"]), .push("x")), Order("a + sheet[b, x]", .push("x"), .alert(["ok"])),
        Order("a + sheet[x]", .alert(["ok"]), .replace("x")), Order("a + sheet[x]", .alert(["ok"]), .setStack(["x"])),
        Order("a + sheet[b] + sheet[c]", .alert(["ok"]), .present("c", .sheet)),
        Order("a + sheet[b] + sheet[c]", .present("c", .sheet), .alert(["ok"])),
        Order("a + sheet[b, tabs[x*: x]]", .alert(["ok"]), .pushTabs(["x"], selected: nil, back: .nothing)),
    ]

    @Test(arguments: orders)
    func `an alert is shown in whatever order it is asked for`(order: Order) async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.present("b", .sheet))

        try await app.send(BCoordinator.Event.b(order.asks))

        #expect(app.stack == order.after)
        let key = try #require(app.state.alert?.key)
        #expect(app.transition.operations.last == .alert(key: key))
        #expect(app.events == ["answer"])
        _ = try app.restored()
        try await app.answer("ok")
        #expect(app.alert == nil)
        #expect(app.stack == order.after)
    }

    @Test func `an alert of a child that has finished belongs to the parent`() async throws {
        var app = try await CoordinatorTester(ErrandApp.app)
        try await app.send(ErrandCoordinator.Event.deliver)
        #expect(app.alert?.title == "Delivered")
        #expect(app.coordinators == ["office"])

        try await app.answer("again")

        #expect(app.stack == "office, errand")
        #expect(app.errands == ["errand finished", "again"])
    }

    @Test func `what a button sends must be an event that somebody still has`() async throws {
        var app = try await CoordinatorTester(ErrandApp.app)

        await app.expectRefusal(
            .impossibleRequest(
                coordinator: "office", request: "alert()",
                reason: "a button of “Lost” sends an event that nobody has any longer, because the coordinator that "
                    + "showed the alert was removed")
        ) { try await $0.send(ErrandCoordinator.Event.lose) }
    }

    @Test(arguments: [ErrandCoordinator.Event.dismissAndTell, .finishAndTell])
    func `what concerns others is done although the coordinator has gone`(event: ErrandCoordinator.Event) async throws {
        var app = try await CoordinatorTester(ErrandApp.app)

        try await app.send(event)

        #expect(app.errands.contains("again"))
        #expect(app.transition.rotatesToken)
        #expect(app.user == "ann")
    }

    @Test func `a parent that removes its child keeps the alert that the child asks for afterwards`() async throws {
        var app = try await CoordinatorTester(ErrandApp.app)

        try await app.send(ErrandCoordinator.Event.tellAndAsk)

        #expect(app.coordinators == ["office"])
        #expect(app.alert?.title == "Gone")
    }

    @Test func `several alerts are shown one after the other`() async throws {
        var app = try await CoordinatorTester(ErrandApp.app)
        try await app.send(ErrandCoordinator.Event.warnTwice)
        #expect(app.alert?.title == "First")
        let restored = try app.restored()
        #expect(restored.alert?.alert.title == "First")

        let first = try #require(app.state.alert?.key)
        try await app.answer("ok")
        #expect(app.alert?.title == "Second")
        let second = try #require(app.state.alert?.key)
        #expect(app.transition.operations == [.dismissAlert(key: first), .alert(key: second)])
        await #expect(throws: CoordinatorTester.Failure(.staleScreen)) {
            try await app.send("answer", ["button": "again", "alert": .string(first)])
        }

        try await app.answer("again")
        #expect(app.errands == ["errand finished", "again"])
        #expect(app.transition.operations.first == .dismissAlert(key: second))
    }

    @Test func `more alerts than can wait are refused with a reason that names them`() async throws {
        var app = try await CoordinatorTester(ErrandApp.app)

        await app.expectRefusal(
            .impossibleRequest(
                coordinator: "errand", request: "alert()",
                reason: "“Alert 16” would be the 17th alert: “Alert 0” is shown, the others wait")
        ) { try await $0.send(ErrandCoordinator.Event.warnForEver) }
    }
}

/// Lets a child do errands, which end with an alert.
struct OfficeCoordinator: Coordinator {
    var told: [String] = []

    enum Event: NavigationEvent, CaseIterable { case again }

    func start(_ navigator: inout Navigator) {
        navigator.push(Screen("office"))
        navigator.present(ErrandCoordinator())
    }

    mutating func handle(_ event: Event, _ navigator: inout Navigator) {
        told.append("again")
        navigator.start(ErrandCoordinator())
    }

    mutating func childDidFinish(_ child: any Coordinator, _ navigator: inout Navigator) {
        told.append("errand finished")
    }
}

struct ErrandCoordinator: Coordinator {
    enum Event: NavigationEvent, CaseIterable {
        case deliver, lose, dismissAndTell, finishAndTell, tellAndAsk, warnTwice, warnForEver
    }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("errand")) }

    func handle(_ event: Event, _ navigator: inout Navigator) {
        let again = AlertButton("again", title: "Again", sends: OfficeCoordinator.Event.again)
        switch event {
        case .deliver:
            navigator.finish()
            navigator.alert(Alert("Delivered", buttons: [.ok, again]))
        case .lose:
            navigator.alert(Alert("Lost", buttons: [AlertButton("x", title: "X", sends: Event.deliver)]))
            navigator.finish()
        case .dismissAndTell:
            navigator.dismiss()
            tellOthers(&navigator)
        case .finishAndTell:
            navigator.finish()
            tellOthers(&navigator)
        case .tellAndAsk:
            navigator.tell(OfficeCoordinator.self) { _, navigator in navigator.endChildren() }
            navigator.alert(Alert("Gone"))
        case .warnTwice:
            navigator.alert(Alert("First"))
            navigator.alert(Alert("Second", buttons: [.ok, again]))
            navigator.finish()
        case .warnForEver: for number in 0..<20 { navigator.alert(Alert("Alert \(number)")) }
        }
    }

    private func tellOthers(_ navigator: inout Navigator) {
        navigator.tell(OfficeCoordinator.self) { office, _ in office.told.append("again") }
        navigator.rotateToken()
        navigator.signIn(user: "ann")
    }
}

enum ErrandApp {
    static let app = App("errand", root: { OfficeCoordinator() }, coordinators: [ErrandCoordinator.self])
}

extension CoordinatorTester {
    fileprivate var errands: [String] { (state.coordinators.first?.coordinator as? OfficeCoordinator)?.told ?? [] }
}
