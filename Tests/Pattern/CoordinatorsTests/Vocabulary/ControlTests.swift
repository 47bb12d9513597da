import Coordinators
import CoordinatorsTesting
import JSONCoding
import Testing

@Suite struct ControlTests {
    struct DeskCoordinator: Coordinator {
        enum Event: NavigationEvent {
            case addToCart
            case openURL(String)
            case button01Tapped
            case plus
            static let examples: [Event] = [.addToCart, .openURL("x"), .button01Tapped, .plus]

            var title: String { if case .plus = self { "Push" } else { readableName } }
        }

        func start(_ navigator: inout Navigator) {
            navigator.push(Screen("desk", events: [Event.addToCart, .plus]))
        }

        func handle(_ event: Event, _ navigator: inout Navigator) {
            switch event {
            case .addToCart:
                navigator.push(
                    Screen(
                        "mixed",
                        events: [
                            "openURL", Control("Add 1", sends: Event.plus), Control("Tap", sends: "button01Tapped"),
                        ]))
            case .plus: navigator.push(Screen("misspelt", events: ["adToCart"]))
            case .openURL, .button01Tapped: break
            }
        }
    }

    /// Event names that differ from the names of the cases.
    enum Renamed: String, NavigationEvent, CaseIterable {
        case go = "go_on"
    }

    static let app = App("desk", root: { DeskCoordinator() })

    @Test func `a control has the name that its event has on the wire`() throws {
        func check<Event: NavigationEvent>(_ type: Event.Type) throws {
            for event in Event.examples {
                #expect(Control(sends: event).event == (try #require(EncodedEvent(event)).name))
            }
        }

        try check(DeskCoordinator.Event.self)
        try check(Renamed.self)
        try check(RootCoordinator.Event.self)
        try check(ACoordinator.Event.self)
    }

    @Test func `an event has the title that the author gave it, or the words of its name`() {
        #expect(
            ControlTests.app.coordinators[0].events.map(\.title)
                == ["Add to cart", "Open URL", "Button 01 tapped", "Push"])
        #expect(BuiltInEvent.backToRoot.title == "Back to root")
        #expect(Renamed.go.title == "Go on")
        #expect(Control(sends: Renamed.go).event == "go_on")
    }

    @Test func `a screen names the events that it offers by their enum cases`() async throws {
        let app = try await CoordinatorTester(ControlTests.app)

        #expect(app.events == ["addToCart", "plus", "relaunch", "describeClient"])
        #expect(app.state.visible?.screen.events == ["addToCart", "plus"])
    }

    @Test func `a screen may give its controls titles of its own, which are restored with it`() async throws {
        var app = try await CoordinatorTester(ControlTests.app)

        try await app.send("addToCart")

        #expect(
            app.events == [
                "openURL", "button01Tapped", "plus", "back", "backTo", "backToRoot", "relaunch", "describeClient",
            ])
        #expect(
            app.state.visible?.screen.events == [
                "openURL", Control("Add 1", sends: "plus"), Control("Tap", sends: "button01Tapped"),
            ])
        let encoded = try #require(app.state.visible?.encodedMembers)
        #expect(
            String(decoding: encoded, as: UTF8.self)
                == #""key":"k2","name":"mixed","eventTitles":{"plus":"Add 1","button01Tapped":"Tap"},"coordinator":"desk""#
        )
        #expect(try app.restored().visible?.screen == app.state.visible?.screen)
    }

    @Test func `a name that is no event of the coordinator is refused`() async throws {
        var app = try await CoordinatorTester(ControlTests.app)

        await app.expectRefusal(
            .impossibleRequest(
                coordinator: "desk", request: "push(misspelt)",
                reason: "screen “misspelt” offers the unknown event “adToCart”, or one without an example")
        ) { try await $0.send("plus") }
    }
}
