import Coordinators
import CoordinatorsTesting
import JSONCoding
import Testing

extension DeviceRole {
    fileprivate static let customer = DeviceRole("customer", gives: ["display"])
    fileprivate static let agent = DeviceRole("agent")
    fileprivate static let display = DeviceRole("display", mayAct: false)
}

/// Only an agent agrees.
private struct AgreementCoordinator: Coordinator {
    static let links: [LinkPattern] = ["/agreement"]

    enum Event: String, NavigationEvent, CaseIterable {
        case ask, agree
        var roles: [DeviceRole] { self == .agree ? [.agent] : [] }
    }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("agreement")) }

    func handle(_ event: Event, _ navigator: inout Navigator) {
        guard event == .ask else { return }
        navigator.alert(
            Alert("Agree?", buttons: [AlertButton("yes", title: "Yes", role: .cancel, sends: Event.agree)]))
    }
}

/// A delivery that a customer, an agent and a display see, each in another language.
private struct DeliveryCoordinator: Coordinator {
    enum Event: NavigationEvent {
        case order, refund, desk, ask, leave, swap, invite, more
        case tip(cents: Int)
        static let examples: [Event] = [.order, .refund, .desk, .ask, .leave, .swap, .invite, .more, .tip(cents: 100)]

        var roles: [DeviceRole] {
            switch self {
            case .order, .invite: [.customer]
            case .refund, .desk, .leave: [.agent]
            default: []
            }
        }
    }

    enum Signal: NavigationSignal {
        case closed
        static let external: [Signal] = [.closed]
    }

    static let everywhere: [Event] = [.leave]
    private(set) var seen: [String] = []

    func start(_ navigator: inout Navigator) {
        #expect(navigator.role != nil)
        navigator.push(Screen("delivery"))
    }

    func render(_ screen: inout Screen, in context: NavigationContext) {
        let word = ["de": "Lieferung", "ko": "배달"][context.client.language ?? ""] ?? "Delivery"
        screen.title = "\(word) (\(context.role?.name ?? ""))"
        screen.rows = [Row("tip", sends: Event.tip(cents: 5)), Row("more", sends: Event.more)]
    }

    func isEnabled(_ event: Event, in context: NavigationContext) -> Bool {
        // A payload for some roles only.
        if case .tip(let cents) = event { cents > 10 || context.role == .agent } else { true }
    }

    mutating func handle(_ event: Event, _ navigator: inout Navigator) {
        seen.append("\(navigator.device?.role?.name ?? "") \(navigator.device?.number ?? 0)")
        switch event {
        case .desk: navigator.push(Screen("desk", roles: [.agent]))
        case .ask:
            navigator.alert(
                Alert(
                    "Refund?",
                    buttons: [AlertButton("yes", title: "Yes", sends: Event.refund), AlertButton("no", title: "No")]))
        case .leave: if let device = navigator.device { navigator.revokeDevice(device.number) }
        case .swap: navigator.rotateToken()
        case .invite: navigator.requestPairingCode(role: .agent)
        default: break
        }
    }

    func receive(_ signal: Signal, _ navigator: inout Navigator) {
        #expect(navigator.device == nil)
        for device in navigator.devices where device.role == .agent { navigator.revokeDevice(device.number) }
    }

    mutating func deviceDidPair(_ device: PairedDevice, _ navigator: inout Navigator) {
        seen.append("joined \(device.role?.name ?? "") \(device.number)")
    }
}

@Suite struct RoleTests {
    private static let app = App("delivery", root: { DeliveryCoordinator() }, roles: [.customer, .agent, .display])

    private static func tester() async throws -> CoordinatorTester {
        try await CoordinatorTester(
            app, client: ClientInfo(locale: "en"),
            devices: [
                Device(2, label: "desk", role: .agent, ClientInfo(locale: "de")),
                Device(3, label: "TV", role: .display, ClientInfo(locale: "ko")),
            ])
    }

    private func root(_ app: CoordinatorTester) -> DeliveryCoordinator? {
        app.state.coordinators[0].coordinator as? DeliveryCoordinator
    }

    @Test func `each sees and may do its own, and the handler knows who acts`() async throws {
        var app = try await RoleTests.tester()
        #expect(app.state.visible?.screen.title == "Delivery (customer)")
        #expect(app.events == ["order", "ask", "swap", "invite", "more", "relaunch", "describeClient"])
        try await app.send("order")
        for event in ["refund", "leave"] {
            await app.expectRefusal(.notForRole("customer")) { try await $0.send(event) }
        }

        try app.use(device: "desk")
        #expect(app.state.visible?.screen.title == "Lieferung (agent)")
        #expect(app.events == ["refund", "desk", "ask", "leave", "swap", "more", "tip", "relaunch", "describeClient"])
        try await app.send("refund")
        await app.expectRefusal(.notForRole("agent")) { try await $0.send("order") }

        try app.use(device: "TV")
        #expect(app.state.visible?.screen.title == "배달 (display)")
        #expect(app.events == ["describeClient"] && app.backPlan == nil)
        #expect(app.state.visible?.screen.rows.allSatisfy { $0.control?.isEnabled == false } == true)
        for event in ["order", "refund", "relaunch", "back", "more"] {
            await app.expectRefusal(.notForRole("display")) { try await $0.send(event) }
        }
        await app.expectRefusal(.unknownEvent) { try await $0.send("never") }
        try await app.send("describeClient", ["locale": "de"])
        #expect(app.state.visible?.screen.title == "Lieferung (display)")
        #expect(root(app)?.seen == ["joined agent 2", "joined display 3", "customer 1", "agent 2"])
    }

    @Test func `a row is for who may send its payload`() async throws {
        var app = try await RoleTests.tester()
        await app.expectRefusal(.eventNotAccepted) { try await $0.send("tip", ["cents": 5]) }
        try app.use(device: "desk")
        try await app.send("tip", ["cents": 5])
    }

    @Test func `the others may only look at a screen for a role, whatever they post`() async throws {
        var app = try await RoleTests.tester()
        try app.use(device: "desk")
        try await app.send("desk")
        #expect(app.events.contains("refund") && app.events.contains("back"))
        try app.use(device: nil)
        #expect(app.events == ["describeClient"] && app.backPlan == nil)
        for event in ["back", "order", "relaunch"] {
            await app.expectRefusal(.notForRole("customer")) { try await $0.send(event) }
        }
        let restored = try await CoordinatorTester(RoleTests.app, restoring: app.saved)
        #expect(restored.state == app.state)
        #expect(restored.events == ["describeClient"])
        try app.use(device: "desk")
        try await app.back()
    }

    @Test func `a button of an alert is for the roles of its event`() async throws {
        var app = try await RoleTests.tester()
        try await app.send("ask")
        await app.expectRefusal(.notForRole("customer")) { try await $0.send("answer", ["button": "yes"]) }
        try app.use(device: "TV")
        #expect(app.events.isEmpty)
        await app.expectRefusal(.notForRole("display")) { try await $0.send("answer", ["button": "no"]) }
        try app.use(device: "desk")
        try await app.send("answer", ["button": "yes"])
        #expect(root(app)?.seen.last == "agent 2")
    }

    @Test func `an alert that only another role may answer offers no answer`() async throws {
        let roles: [DeviceRole] = [.customer, .agent, .display]
        var app = try await CoordinatorTester(
            App("agreement", root: { AgreementCoordinator() }, roles: roles),
            devices: [Device(2, label: "desk", role: .agent, ClientInfo(locale: "de"))])
        try await app.send("ask")
        #expect(app.events == ["open"] && app.state.backPlan == nil)
        await app.expectRefusal(.notForRole("customer")) { try await $0.send("answer", ["button": "yes"]) }
        await app.expectRefusal(.notForRole("customer")) { try await $0.back() }
        try app.use(device: "desk")
        #expect(app.events == ["back", "answer", "open"])
        try await app.back()
        #expect(app.state.alert == nil)
    }

    @Test func `who leaves is gone alone, and a signal may end others`() async throws {
        var app = try await RoleTests.tester()
        try app.use(device: "desk")
        try await app.send("leave")
        #expect(app.devices.map(\.number) == [1, 3])
        await #expect(throws: CoordinatorTester.Failure.self) { try await app.send("refund") }
        try app.use(device: nil)
        try await app.send("swap")
        #expect(app.devices.map(\.number) == [1, 3] && app.transition.tokenRotation == .keepingOthers)

        try await app.pair(label: "another", role: .agent)
        try await app.send(signal: "closed")
        #expect(app.devices.map(\.number) == [1, 3])
        try await app.send("invite")
        #expect(app.pairingRequest?.role == "agent")
    }

    @Test func `a role that the app no longer declares may only look`() async throws {
        var app = try await RoleTests.tester()
        try app.use(device: "desk")
        let without = App("delivery", root: { DeliveryCoordinator() }, roles: [.customer, .display])
        // Its events are for a role that is gone: that is a mistake, which is found before a server starts.
        #expect(without.problems.contains { $0.contains("“refund” is for “agent”, which is no role") })
        let state = try without.restore(app.saved).state
        #expect(state.role?.name == "agent" && state.acceptedEvents == ["describeClient"])
    }

    @Test func `mistakes in roles are found`() throws {
        let roles = [DeviceRole("a b"), DeviceRole("x", mayAct: false, gives: ["y"]), DeviceRole("x")]
        let problems = App("delivery", root: { DeliveryCoordinator() }, roles: roles).problems
        for words in ["“a b” must have", "two roles are named “x”", "“x” gives “y”", "“order” is for “customer”"] {
            #expect(problems.contains { $0.contains(words) }, "\(words)")
        }
        let silent = App("delivery", root: { DeliveryCoordinator() }, roles: [.display, .customer, .agent]).problems
        #expect(silent == ["app “delivery”: the first role must be one that may act"])
    }

    @Test func `random walks act as each role, and find what one of them cannot see`() async throws {
        let coverage = try await RandomWalk.cover(RoleTests.app, seeds: 0..<6, count: 60)
        #expect(coverage.missed.isEmpty)
        #expect(coverage.warnings.contains { $0.contains("screen “desk”") } == false, "it has no title")
    }
}
