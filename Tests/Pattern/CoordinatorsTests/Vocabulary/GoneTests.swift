import Coordinators
import CoordinatorsTesting
import Testing

/// What was removed hears nothing and does nothing, and its parent is told exactly once.
@Suite struct GoneTests {
    @Test(arguments: [HostCoordinator.Event.popAndGreet, .popAndAskForGreeting])
    func `a child whose last screen was popped hears no message`(event: HostCoordinator.Event) async throws {
        var app = try await CoordinatorTester(HostApp.app)
        try await app.send(HostCoordinator.Event.start(1))

        try await app.send(event)

        #expect(app.stack == "host")
        #expect(app.coordinators == ["host"])
        #expect(app.host.told == ["guest 1 dismissed"])
        #expect(app.transition.dismissed == ["guest"])
    }

    @Test func `the user leaves a flow and its child at once, and neither comes back`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.start("b"))
        try await app.b(.push("sticky"), .start("c"))

        try await app.backToRoot()

        #expect(app.stack == "a")
        #expect(app.told(ACoordinator.self) == ["b dismissed"])
        #expect(app.transition.dismissed == ["c", "b"])
    }

    @Test func `a coordinator that pops its own last screen may show another one`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.start("b"))

        try await app.b(.pop, .push("x"))

        #expect(app.stack == "a, x")
        #expect(app.coordinators == ["a", "b"])
    }

    @Test func `the parent of a flow hears that it went with the flow below it`() async throws {
        var app = try await CoordinatorTester(HostApp.app)
        try await app.send(HostCoordinator.Event.present(1))
        try await app.send(HostCoordinator.Event.present(2))

        try await app.send(HostCoordinator.Event.end(1))

        #expect(app.stack == "host")
        #expect(app.host.told == ["guest 1 finished", "guest 2 dismissed"])
    }

    @Test func `a protected flow is not lost with the one below it, unless the user agrees`() async throws {
        var app = try await CoordinatorTester(HostApp.app)
        try await app.send(HostCoordinator.Event.presentRoom)
        try await app.send(HostCoordinator.Event.present(protectedGuest))

        try await app.send(HostCoordinator.Event.end(1))
        #expect(app.alert?.title == "Leave?")
        #expect(app.stack == "host + sheet[guest1] + sheet[guest9]")
        try await app.answer("leave")
        try await app.send(HostCoordinator.Event.end(1))

        #expect(app.stack == "host")
        #expect(app.host.told.sorted() == ["guest 9 dismissed", "room dismissed"])
    }
}

private let protectedGuest = 9

private enum HostApp {
    static let app = App(
        "host", root: { HostCoordinator() }, coordinators: [GuestCoordinator.self, RoomCoordinator.self])
}

struct HostCoordinator: Coordinator {
    static let everywhere = Event.examples
    var told: [String] = []

    enum Event: NavigationEvent {
        case start(Int), present(Int), presentRoom, end(Int), popAndGreet, popAndAskForGreeting
        static let examples: [Event] = [
            .start(1), .present(1), .presentRoom, .end(1), .popAndGreet, .popAndAskForGreeting,
        ]
    }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("host")) }

    func handle(_ event: Event, _ navigator: inout Navigator) {
        switch event {
        case .start(let number): navigator.start(GuestCoordinator(number: number))
        case .present(let number): navigator.present(GuestCoordinator(number: number))
        case .presentRoom: navigator.present(RoomCoordinator())
        case .end(let number):
            navigator.tellChildren(GuestCoordinator.self) { if $0.number == number { $1.finish() } }
        case .popAndGreet:
            navigator.popToRoot()
            greet(&navigator)
        case .popAndAskForGreeting:
            navigator.popToRoot()
            navigator.tellChildren(GuestCoordinator.self) { $1.tell(HostCoordinator.self) { $0.greet(&$1) } }
            greet(&navigator)
        }
    }

    func greet(_ navigator: inout Navigator) {
        navigator.tellChildren(GuestCoordinator.self) { $1.push(Screen("hello")) }
    }

    mutating func childDidFinish(_ child: any Coordinator, _ navigator: inout Navigator) { note(child, "finished") }
    mutating func childWasDismissed(_ child: any Coordinator, _ navigator: inout Navigator) { note(child, "dismissed") }

    private mutating func note(_ child: any Coordinator, _ end: String) {
        told.append((child as? GuestCoordinator).map { "guest \($0.number) \(end)" } ?? "room \(end)")
    }
}

struct GuestCoordinator: Coordinator {
    let number: Int

    func start(_ navigator: inout Navigator) { navigator.push(Screen("guest\(number)")) }

    func shouldLeave(_ screen: Screen, in context: NavigationContext) -> Alert? {
        number == protectedGuest ? Alert("Leave?", buttons: [.cancel, .leave("leave", title: "Leave")]) : nil
    }
}

/// Shows nothing itself.
struct RoomCoordinator: Coordinator {
    func start(_ navigator: inout Navigator) { navigator.start(GuestCoordinator(number: 1)) }
}

extension CoordinatorTester {
    fileprivate var host: HostCoordinator {
        state.coordinators[0].coordinator as? HostCoordinator ?? HostCoordinator()
    }
}
