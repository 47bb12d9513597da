import Coordinators
import CoordinatorsTesting
import JSONCoding
import Testing

/// State that one version of an app has saved, and the next one reads.
@Suite struct MigrationTests {
    enum Old {
        struct NotesCoordinator: Coordinator {
            var notes = "a,b"
            func start(_ navigator: inout Navigator) { navigator.push(Screen("notes")) }
        }
    }

    enum New {
        struct NotesCoordinator: Coordinator {
            var notes: [String] = []
            func start(_ navigator: inout Navigator) { navigator.push(Screen("notes")) }

            static func migrate(_ saved: JSON, from version: Int) throws -> JSON {
                guard version == 1, let notes = saved["notes"]?.string else { throw TestError() }
                return ["notes": .array(notes.split(separator: ",").map { .string(String($0)) })]
            }
        }
    }

    static let old = App("notes", root: { Old.NotesCoordinator() })
    static let new = App("notes", version: 2, root: { New.NotesCoordinator() })

    @Test func `a session of version 1 continues in version 2`() async throws {
        let saved = try await CoordinatorTester(MigrationTests.old).state.encoded

        let state = try MigrationTests.new.restore(try JSON(parsing: saved)).state

        #expect((state.coordinators[0].coordinator as? New.NotesCoordinator)?.notes == ["a", "b"])
        let again = try MigrationTests.new.restore(try JSON(parsing: state.encoded)).state
        #expect(again == state)
        #expect(try JSON(parsing: state.encoded)["version"] == 2)
    }

    @Test func `a failed migration names the coordinator`() async throws {
        let newest = App("notes", version: 3, root: { New.NotesCoordinator() })
        let saved = try await CoordinatorTester(MigrationTests.new).state.encoded

        let notes = Loss.coordinator(
            name: "notes", reason: "what it has saved cannot be migrated from version 2")
        #expect(throws: RestoreError.nothingLeft([notes, .screen(name: "notes")])) {
            try newest.restore(try JSON(parsing: saved))
        }
    }

    @Test func `defaults are equal exactly when their bytes are`() async throws {
        var app = try await CoordinatorTester(DefaultsApp.app)
        try await app.send("set")

        _ = try app.restored()
        let before = app.state
        try await app.send("turn")

        #expect((app.state == before) == (app.state.encoded == before.encoded))
    }
}

/// Sets a number that JSON writes without its fraction, and changes the order of the members.
struct DefaultsCoordinator: Coordinator {
    enum Event: NavigationEvent, CaseIterable { case set, turn }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("x")) }

    func handle(_ event: Event, _ navigator: inout Navigator) {
        navigator.defaults["a"] = nil
        if event == .set {
            navigator.defaults["a"] = 1
            navigator.defaults["number"] = .number(2)
        } else {
            navigator.defaults["a"] = 1
        }
    }
}

enum DefaultsApp {
    static let app = App("defaults", root: DefaultsCoordinator.init)
}

@Suite struct ServicesInHandlersTests {
    struct Clock: Sendable { let time = "noon" }

    struct WatchCoordinator: Coordinator {
        static let dependencies: [any Any.Type] = [Clock.self]

        enum Event: NavigationEvent, CaseIterable { case look }

        func start(_ navigator: inout Navigator) { navigator.push(Screen("watch")) }

        func handle(_ event: Event, _ navigator: inout Navigator) throws {
            let clock = try navigator.resolve(Clock.self)
            navigator.push(Screen("time", params: ["time": .string(clock.time)]))
        }
    }

    @Test func `a handler gets the service that the app registered`() async throws {
        var dependencies = Dependencies()
        dependencies.register(Clock.self) { _ in Clock() }
        var app = try await CoordinatorTester(App("watch", root: { WatchCoordinator() }, dependencies: dependencies))

        try await app.send("look")

        #expect(app.app.problems == [])
        #expect(app.state.visible?.screen.params == ["time": "noon"])
    }

    @Test func `a missing service is named at the start, and makes the handler fail`() async throws {
        let app = App("watch", root: { WatchCoordinator() })

        #expect(app.problems == ["app “watch”: watch needs Clock, which is not registered"])
        let refused = await #expect(throws: CoordinatorTester.Failure.self) { try await CoordinatorTester(app) }
        #expect(refused?.description.hasSuffix(": app “watch”: watch needs Clock, which is not registered") == true)
        let state = try await app.launch(at: CoordinatorTester.someTime).state
        await #expect(
            throws: NavigationError.handlerFailed(
                coordinator: "watch", call: "handle(look)",
                error: .init(type: "DependencyError", caseName: "Clock is not registered"))
        ) {
            try await app.apply(PostedEvent("look"), to: state, at: CoordinatorTester.someTime)
        }
    }
}

@Suite struct ReservedNameTests {
    struct ShopCoordinator: Coordinator {
        enum Event: NavigationEvent, CaseIterable { case buy, dismiss }

        func start(_ navigator: inout Navigator) { navigator.push(Screen("shop")) }
        func handle(_ event: Event, _ navigator: inout Navigator) { navigator.push(Screen("\(event)")) }
    }

    @Test func `an event may not have the name of a built-in one`() async throws {
        let shop = App("shop", root: { ShopCoordinator() })
        let state = try await shop.launch(at: CoordinatorTester.someTime).state

        #expect(
            shop.problems == [
                "app “shop”: shop.Event has a case “dismiss”, a name that is reserved for a built-in event"
            ])
        await #expect(throws: NavigationError.eventNotAccepted) {
            try await shop.apply(PostedEvent("dismiss"), to: state, at: CoordinatorTester.someTime)
        }
    }

    @Test func `an endless chain of children is refused, and changes nothing`() async throws {
        var app = try await CoordinatorTester(TestApps.app)

        await app.expectRefusal(.runawayTransition(coordinator: "deep")) {
            try await $0.send(RootCoordinator.Event.misuse(.deep))
        }
    }
}

/// The examples of events.
@Suite struct ExampleTests {
    private struct ForgetfulCoordinator: Coordinator {
        enum Event: NavigationEvent {
            case first(Int), second, third(name: String), fourth
            static let examples: [Event] = [.second, .first(1), .first(2)]
        }

        func start(_ navigator: inout Navigator) { navigator.push(Screen("forgetful")) }
        func handle(_ event: Event, _ navigator: inout Navigator) {}
    }

    @Test func `an event without an example does not exist for clients, and the tester says so`() async throws {
        let app = App("forgetful", root: { ForgetfulCoordinator() })
        var tester = try await CoordinatorTester(app)

        let failure = await #expect(throws: CoordinatorTester.Failure.self) {
            try await tester.send(ForgetfulCoordinator.Event.third(name: "x"))
        }

        #expect(app.problems == [] && tester.state.acceptedEvents.contains("third") == false)
        #expect(failure?.reason == .unknownEvent)
        #expect(failure?.description.contains("no coordinator of the app has such an event with an example") == true)
        await #expect(throws: CoordinatorTester.Failure.self) {
            try await tester.send(ForgetfulCoordinator.Event.fourth)
        }
    }

    @Test func `a screen that offers an event without an example is refused`() async throws {
        struct OfferingCoordinator: Coordinator {
            typealias Event = ForgetfulCoordinator.Event
            func start(_ navigator: inout Navigator) { navigator.push(Screen("x", events: [Event.second, .fourth])) }
            func handle(_ event: Event, _ navigator: inout Navigator) {}
        }

        let failure = await #expect(throws: CoordinatorTester.Failure.self) {
            try await CoordinatorTester(App("offering", root: { OfferingCoordinator() }))
        }

        guard case .impossibleRequest(_, _, let reason) = failure?.reason else { throw TestError() }
        #expect(reason == "screen “x” offers the unknown event “fourth”, or one without an example")
    }

    @Test func `a case may have several examples, and the first one describes it`() {
        let events = App("forgetful", root: { ForgetfulCoordinator() }).coordinators[0].events
        #expect(events.map(\.name) == ["second", "first"])
        #expect(events.map(\.payload) == [nil, 1])
    }
}
