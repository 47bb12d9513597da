import Coordinators
import CoordinatorsTesting
import JSONCoding
import Testing

/// A question whether to leave a screen, and what an answer to it allows.
@Suite struct AgreementTests {
    static let ways: [PostedEvent] = [
        PostedEvent("back"), PostedEvent("backTo", payload: ["name": "hall"]), PostedEvent("backToRoot"),
        PostedEvent("relaunch"), PostedEvent("close"),
    ]

    @Test(arguments: ways)
    func `an alert that comes behind a question leaves its answer possible`(way: PostedEvent) async throws {
        var app = try await CoordinatorTester(TheatreApp.app)
        try await app.send(TheatreCoordinator.Event.choose)
        try await app.send(way.type, way.payload)
        try await app.pair()
        #expect(app.alert?.title == "Give up seat 1?")

        try await app.answer("leave")

        #expect(app.stack == "hall")
        #expect(app.alert?.title == (way.type == "relaunch" ? nil : "A phone has joined"))
    }

    @Test func `a dismissal goes on although an alert has come behind its question`() async throws {
        var app = try await CoordinatorTester(TheatreApp.app)
        try await app.send(TheatreCoordinator.Event.present)
        try await app.dismiss()
        try await app.pair()

        try await app.answer("leave")

        #expect(app.stack == "hall")
        #expect(app.alert?.title == "A phone has joined")
    }

    @Test func `an answer whose event is no longer possible closes the question`() async throws {
        var app = try await CoordinatorTester(TheatreApp.app)
        try await app.send(TheatreCoordinator.Event.choose)
        try await app.backTo("hall")
        // As a session is that an operator has returned to an earlier version.
        var saved = app.saved
        saved["alert"]?["heldUp"] = ["type": "backTo", "payload": ["key": "k99"]]
        let state = try app.app.restore(saved).state

        let answer = PostedEvent("answer", payload: ["button": "leave"])
        let result = try await app.app.apply(answer, to: state, at: app.now)

        #expect(result.state.alert == nil)
        #expect(result.state.stack == state.stack)
    }

    @Test func `an agreement covers the event with its payload only`() async throws {
        var app = try await CoordinatorTester(TheatreApp.app)
        try await app.send(TheatreCoordinator.Event.choose)
        try await app.send(TheatreCoordinator.Event.order(seats: 2, pin: "1234"))
        try await app.answer("leave")
        #expect(!String(decoding: app.state.encoded, as: UTF8.self).contains("1234"))

        let other = try await app.after(TheatreCoordinator.Event.order(seats: 3, pin: "1234"))
        let same = try await app.after("order", ["pin": "4321", "seats": 2])

        #expect(other.alert?.title == "Give up seat 1?")
        #expect(same.alert == nil)
        #expect(same.stack == "hall")
    }

    @Test func `an agreement covers the device that was asked only`() async throws {
        var app = try await CoordinatorTester(TheatreApp.app)
        try await app.send(TheatreCoordinator.Event.choose)
        try await app.send(TheatreCoordinator.Event.order(seats: 2, pin: "1234"))
        try await app.answer("leave")
        let event = PostedEvent("order", payload: ["seats": 2, "pin": "1234"])

        for (number, isAsked) in [(1, false), (2, true)] {
            let device = Device(number, app.state.client)
            var run = try app.app.begin(event, on: app.state, at: app.now, by: device)
            let result = try await run.result()

            #expect((result.state.alert != nil) == isAsked)
        }
    }

    @Test func `each coordinator is asked about its own screens`() async throws {
        var app = try await CoordinatorTester(TheatreApp.app)
        try await app.send(TheatreCoordinator.Event.choose)
        try await app.send(TheatreCoordinator.Event.choose)
        try await app.backToRoot()
        #expect(app.alert?.title == "Give up seat 2?")

        try await app.answer("leave")
        #expect(app.alert?.title == "Give up seat 1?")
        #expect(app.stack == "hall, seat, seat")
        _ = try app.restored()
        try await app.answer("leave")

        #expect(app.stack == "hall")
    }

    @Test func `an answer to another alert is no agreement`() async throws {
        var app = try await CoordinatorTester(TheatreApp.app)
        try await app.send(TheatreCoordinator.Event.choose)
        try await app.send(TheatreCoordinator.Event.warn)

        try await app.answer("clear")
        #expect(app.alert?.title == "Give up seat 1?")
        try await app.answer("cancel")
        #expect(app.alert?.title == "Closing")
        #expect(app.stack == "hall, seat")
        try await app.answer("clear")
        _ = try app.restored()
        try await app.answer("leave")

        #expect(app.alert == nil)
        #expect(app.stack == "hall")
    }

    @Test func `an agreement that an older build has saved holds`() async throws {
        var app = try await CoordinatorTester(TheatreApp.app)
        try await app.send(TheatreCoordinator.Event.choose)
        var saved = app.saved
        saved["agreedEvent"] = "close"
        let state = try app.app.restore(saved).state

        let result = try await app.app.apply(PostedEvent("close"), to: state, at: app.now)

        #expect(result.state.alert == nil)
        #expect(result.state.coordinators.count == 1)
    }
}

enum TheatreApp {
    static let app = App("theatre", root: { TheatreCoordinator() }, coordinators: [PlaceCoordinator.self])
}

/// Has seats that are given up only if the user agrees.
struct TheatreCoordinator: Coordinator {
    static let everywhere = Event.examples
    static let links: [LinkPattern] = ["/hall"]
    var seats = 0

    enum Event: NavigationEvent {
        case choose, present, close, order(seats: Int, pin: Secret), warn, clear
        static let examples: [Event] = [.choose, .present, .close, .order(seats: 1, pin: "0000"), .warn, .clear]
    }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("hall")) }
    func open(_ link: Link, _ navigator: inout Navigator) -> LinkDecision { .passedOn }

    mutating func handle(_ event: Event, _ navigator: inout Navigator) {
        switch event {
        case .choose:
            seats += 1
            navigator.start(PlaceCoordinator(number: seats))
        case .present: navigator.present(PlaceCoordinator(number: 1))
        case .close, .order, .clear: navigator.popToRoot()
        case .warn:
            navigator.alert(
                Alert("Closing", buttons: [.cancel, AlertButton("clear", title: "Clear", sends: Event.clear)]))
        }
    }

    func deviceDidPair(_ device: PairedDevice, _ navigator: inout Navigator) {
        navigator.alert(Alert("A phone has joined"))
    }
}

struct PlaceCoordinator: Coordinator {
    let number: Int

    func start(_ navigator: inout Navigator) { navigator.push(Screen("seat")) }

    func shouldLeave(_ screen: Screen, in context: NavigationContext) -> Alert? {
        Alert("Give up seat \(number)?", buttons: [.cancel, .leave("leave", title: "Give up")])
    }
}
