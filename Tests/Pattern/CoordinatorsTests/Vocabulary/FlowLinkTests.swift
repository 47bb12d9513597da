import Coordinators
import CoordinatorsTesting
import JSONCoding
import Testing

/// A vault behind a door, and terms behind that.
private struct BankCoordinator: Coordinator {
    static let links: [LinkPattern] = ["/vault", "/closed", "/nobody", "/later", "/{path...}"]
    var isSignedIn = false
    var hasAgreed = true
    var isOpen = false
    var door = DoorCoordinator()

    enum Event: NavigationEvent, CaseIterable { case signIn, askForTerms, look, unlock }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("bank")) }

    mutating func handle(_ event: Event, _ navigator: inout Navigator) {
        switch event {
        case .signIn: navigator.present(door)
        case .askForTerms: hasAgreed = false
        case .look: break
        case .unlock: isOpen = true
        }
    }

    mutating func childDidFinish(_ child: any Coordinator, _ navigator: inout Navigator) {
        switch child {
        case let door as DoorCoordinator: isSignedIn = door.isRight
        default: hasAgreed = true
        }
    }

    mutating func open(_ link: Link, _ navigator: inout Navigator) -> LinkDecision {
        switch link.pattern.text {
        case "/vault":
            guard isSignedIn else {
                if !navigator.isPresenting { navigator.present(door) }
                return .pending(until: DoorCoordinator.self)
            }
            guard hasAgreed else {
                navigator.present(TermsCoordinator())
                return .pending(until: TermsCoordinator.self)
            }
            navigator.push(Screen("vault", title: link.fragment))
            return .taken
        case "/closed":
            navigator.push(Screen("closed"))
            return .declined
        case "/nobody": return .pending(until: DoorCoordinator.self)
        case "/later":
            guard isOpen else { return .pending }
            navigator.push(Screen("excuse"))
            return .declined
        default:
            navigator.push(Screen("notFound"))
            return .taken
        }
    }
}

private struct DoorCoordinator: Coordinator {
    enum Conduct: String, Codable { case asks, opensAtOnce, staysShutAtOnce }

    var conduct = Conduct.asks
    var isRight = false

    enum Event: NavigationEvent, CaseIterable { case enter, giveUp, look }

    mutating func start(_ navigator: inout Navigator) {
        guard conduct != .asks else { return navigator.push(Screen("door")) }
        isRight = conduct == .opensAtOnce
        navigator.finish()
    }

    mutating func handle(_ event: Event, _ navigator: inout Navigator) {
        guard event != .look else { return navigator.push(Screen("hint")) }
        isRight = event == .enter
        navigator.finish()
    }
}

private struct TermsCoordinator: Coordinator {
    enum Event: NavigationEvent, CaseIterable { case agree }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("terms")) }
    func handle(_ event: Event, _ navigator: inout Navigator) { navigator.finish() }
}

/// Links that wait for the end of a flow, and links that are declined.
@Suite struct FlowLinkTests {
    private static func app(_ conduct: DoorCoordinator.Conduct = .asks) -> App {
        App(
            "bank", root: { BankCoordinator(door: DoorCoordinator(conduct: conduct)) },
            coordinators: [DoorCoordinator.self, TermsCoordinator.self])
    }

    @Test func `a link is opened when the flow for which it waits has ended, and not offered before`() async throws {
        var session = try await CoordinatorTester(FlowLinkTests.app())
        try await session.open("/vault#gold%20bars")
        #expect(session.visible == "door")
        #expect(
            try JSON(parsing: session.state.encoded)["pendingLink"]
                == ["path": "/vault#gold%20bars", "coordinator": 1, "until": "door"])

        // A coordinator that is offered the link while it waits gives the same answer, and the link would be dropped.
        try await session.send("look")
        let restored = try session.restored()
        try await session.send("enter")

        #expect(session.screens == ["bank", "vault"] && session.visible == "vault")
        #expect(session.state.visible?.screen.title == "gold bars")
        let next = try await session.app.apply(PostedEvent("enter"), to: restored, at: session.now)
        #expect(next.state == session.state)
    }

    @Test(arguments: ["giveUp", "dismiss"])
    func `a user who declines is not asked again, and a later sign-in opens nothing`(event: String) async throws {
        var session = try await CoordinatorTester(FlowLinkTests.app(), link: "/vault")
        #expect(session.visible == "door")

        try await session.send(event)
        #expect(session.visible == "bank")
        #expect(try JSON(parsing: session.state.encoded)["pendingLink"] == nil)
        try await session.send("signIn")
        try await session.send("enter")

        #expect(session.visible == "bank")
    }

    @Test func `a flow that was left, or is there for something else, swallows no link`() async throws {
        var session = try await CoordinatorTester(FlowLinkTests.app())
        try await session.send("signIn")
        try await session.send("dismiss")
        try await session.send("signIn")

        try await session.open("/vault")
        #expect(session.visible == "door")
        try await session.send("enter")

        #expect(session.screens == ["bank", "vault"] && session.visible == "vault")
    }

    @Test func `a link may wait for one flow after the other`() async throws {
        var session = try await CoordinatorTester(FlowLinkTests.app())
        try await session.send("askForTerms")
        try await session.open("/vault")

        try await session.send("enter")
        #expect(session.visible == "terms")
        try await session.send("agree")

        #expect(session.screens == ["bank", "vault"] && session.visible == "vault")
    }

    @Test func `a flow that ends at once opens the link in the same transition, or it is refused`() async throws {
        let session = try await CoordinatorTester(FlowLinkTests.app(.opensAtOnce), link: "/vault")
        #expect(session.screens == ["bank", "vault"] && session.visible == "vault")

        var other = try await CoordinatorTester(FlowLinkTests.app(.staysShutAtOnce))
        await other.expectRefusal(.linkNotTaken) { try await $0.open("/vault") }
        #expect(other.screens == ["bank"])
    }

    @Test func `a link that waits for a flow which nobody starts is refused`() async throws {
        var session = try await CoordinatorTester(FlowLinkTests.app())

        await session.expectRefusal(.linkNotTaken) { try await $0.open("/nobody") }
    }

    @Test func `a declined link is refused, and no catch-all is asked`() async throws {
        var session = try await CoordinatorTester(FlowLinkTests.app())

        await session.expectRefusal(.linkNotTaken) { try await $0.open("/closed") }

        #expect(session.visible == "bank")
    }

    @Test func `a kept link that is declined is dropped, and the rest counts`() async throws {
        var session = try await CoordinatorTester(FlowLinkTests.app())
        try await session.open("/later")
        try await session.send("look")
        #expect(session.visible == "bank")

        try await session.send("unlock")

        #expect(session.screens == ["bank", "excuse"])
        #expect(try JSON(parsing: session.state.encoded)["pendingLink"] == nil)
    }
}
