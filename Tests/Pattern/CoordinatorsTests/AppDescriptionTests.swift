import Coordinators
import CoordinatorsTesting
import JSONCoding
import Testing

/// Screens with types, what clients learn of an app, and events that have been renamed.
@Suite struct AppDescriptionTests {
    /// Shows a declared screen, an undeclared one, tabs and alerts.
    struct Catalog: Coordinator {
        static let screens = [ScreenType("home"), ScreenType("product", Product.self, content: Reviews.self)]

        struct Product: ScreenParameters {
            let id: Int
            var note: String?
            static let example = Product(id: 42)
        }

        struct Reviews: Codable { let texts: [String] }

        /// Infinity has no form in JSON.
        struct Endless: ScreenParameters {
            let length: Double
            static let example = Endless(length: 1)
        }

        struct Bare: ScreenParameters {
            let value: Int
            static let example = Bare(value: 1)
            init(value: Int) { self.value = value }
            init(from decoder: any Decoder) throws { value = try decoder.singleValueContainer().decode(Int.self) }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                try container.encode(value)
            }
        }

        enum Event: NavigationEvent, Equatable {
            case show(id: Int, note: String?)
            case list(Int)
            case wrong
            case endless
            case purchase
            static let examples: [Event] = [.show(id: 1, note: nil), .list(1), .list(2), .wrong, .purchase]
            static let aliases = ["buy": "purchase", "order": "purchase"]
        }

        func start(_ navigator: inout Navigator) { navigator.push(Screen("home")) }

        func handle(_ event: Event, _ navigator: inout Navigator) {
            switch event {
            case .show(let id, let note): navigator.push(Screen("product", Product(id: id, note: note)))
            case .list(let count):
                let note: JSON? = count > 1 ? "x" : nil
                var params: JSONObject = ["count": .number(Double(count) / 2), "ids": [1, 2]]
                params["note"] = note
                navigator.push(
                    Screen("list", title: "List", params: params),
                    tabs: [
                        Tab("a", title: "A", icon: "star", Screen("first", events: [Event.purchase])),
                        Tab("b", Screen("second", title: "Second \(count)")),
                    ])
            case .wrong: navigator.push(Screen("product", params: ["id": "42"]))
            case .endless: navigator.push(Screen("endless", Endless(length: .infinity)))
            case .purchase:
                navigator.alert(Alert("Buy?", buttons: [AlertButton("yes", title: "Yes"), .cancel]))
            }
        }
    }

    /// Says in a session what its event's form is like.
    struct Counter: Coordinator {
        enum Event: NavigationEvent {
            case order(count: Int)
            static let examples: [Event] = [.order(count: 1)]
        }

        private var left = 3

        func start(_ navigator: inout Navigator) { navigator.push(Screen("counter")) }
        mutating func handle(_ event: Event, _ navigator: inout Navigator) { left = 0 }
        func title(of event: Event, in context: NavigationContext) -> String { "Order up to \(left)" }
        func fields(of event: Event, in context: NavigationContext) -> [Field] {
            [Field("count", "How many", minimum: 1, maximum: .integer(left))]
        }
    }

    @Test func `an event has the title and the bounds of the first session that offers it`() async throws {
        let app = App("counter", root: { Counter() })
        let description = AppDescription(app)
        #expect(try AppDescriptionTests.event(of: description)["source"] == nil)
        var session = try await CoordinatorTester(app)

        description.observe(session.state)
        try await session.send("order", ["count": 2])
        description.observe(session.state)

        let event = try AppDescriptionTests.event(of: description)
        #expect(event["title"] == "Order up to 3" && event["source"] == "observed")
        let count = event["schema"]?["properties"]?["count"]
        #expect(count?["title"] == "How many" && count?["maximum"] == 3)
    }

    private static func event(of description: AppDescription) throws -> JSON {
        let json = try JSON(parsing: JSONWriter.bytes(capacity: 1024, description.write))
        return try #require(json["coordinators"]?.array?.first?["events"]?.array?.first)
    }

    @Test func `a screen's parameters are set from a type`() {
        var screen = Screen("product")
        screen.setParams(Catalog.Product(id: 9, note: "old"))
        #expect(screen.params == ["id": 9, "note": "old"])
    }

    static func description(of app: App) throws -> JSON {
        try JSON(parsing: JSONWriter.bytes(capacity: 1024, AppDescription(app).write))
    }

    @Test func `a screen's typed parameters are those of the wire, and are read back`() async throws {
        var app = try await CoordinatorTester(App("catalog", root: { Catalog() }))

        try await app.send("show", ["id": 7, "note": "new"])

        let screen = try #require(app.state.visible?.screen)
        #expect(screen.params == ["id": 7, "note": "new"])
        #expect(screen.params(as: Catalog.Product.self)?.id == 7)
        #expect(Screen("product", Catalog.Product(id: 7)).params == ["id": 7])
        #expect(Screen("product", params: ["id": "x"]).params(as: Catalog.Product.self) == nil)
    }

    @Test func `parameters that JSON cannot hold are refused`() async throws {
        var app = try await CoordinatorTester(App("catalog", root: { Catalog() }))

        await #expect(throws: (any Error).self) { try await app.send(Catalog.Event.endless) }
        #expect(app.screens == ["home"])
    }

    @Test func `declared screens are listed with the schemas of their parameters and content`() throws {
        let description = try AppDescriptionTests.description(of: App("catalog", root: { Catalog() }))

        #expect(
            description["screens"]?.description == """
                [{"name":"home","source":"declared","coordinators":["catalog"]},\
                {"name":"product","source":"declared","coordinators":["catalog"],\
                "params":{"type":"object","properties":{"id":{"type":"integer"},\
                "note":{"type":"string"}},"required":["id"]},"hasContent":true,\
                "content":{"type":"object","properties":{"texts":{"type":"array","items":{"type":"string"}}},\
                "required":["texts"]}}]
                """)
        #expect(description["alerts"] == nil)
    }

    @Test func `what is shown is added, and what varies or may be missing is left open`() async throws {
        let description = AppDescription(App("catalog", root: { Catalog() }))
        _ = try await AppMap(
            exploring: App("catalog", root: { Catalog() }), limit: 100, visit: { description.observe($0.result.state) },
            by: { (run) async throws(NavigationError) in
                var run = run
                return try await run.result()
            })

        let json = try JSON(parsing: JSONWriter.bytes(capacity: 1024, description.write))
        let screens = json["screens"]?.array ?? []
        #expect(screens.compactMap { $0["name"]?.string } == ["home", "product", "list", "first", "second"])
        #expect(screens[0]["events"] == ["list", "purchase", "show", "wrong"])
        #expect(screens[1]["source"] == "declared" && screens[1]["params"]?["required"] == ["id"])
        #expect(
            screens[2].description == """
                {"name":"list","source":"observed","coordinators":["catalog"],"title":"List",\
                "params":{"type":"object","properties":{"count":{"type":"number"},\
                "ids":{"type":"array","items":{"type":"integer"}},"note":{"type":"string"}},\
                "required":["count","ids"]},"tabs":[{"id":"a","title":"A","icon":"star"},{"id":"b"}]}
                """)
        #expect(screens[3]["events"] == ["purchase"])
        #expect(screens[4]["title"] == nil)
        #expect(
            json["alerts"]?.description == """
                [{"coordinator":"catalog","source":"observed","title":"Buy?","buttons":[{"id":"yes","title":"Yes"},\
                {"id":"cancel","title":"Cancel","role":"cancel"}]}]
                """)
        #expect(
            description.warnings == [
                "catalog shows the screen “list”, which its screens do not list",
                "catalog shows the screen “first”, which its screens do not list",
                "catalog shows the screen “second”, which its screens do not list",
                "params.id of the declared screen “product” must be an integer in range",
            ])
    }

    @Test func `an event is accepted under its former names`() async throws {
        let declared = App("catalog", root: { Catalog() })
        var app = try await CoordinatorTester(declared)

        try await app.send("buy")

        #expect(app.alert?.title == "Buy?")
        let events = try AppDescriptionTests.description(of: declared)["coordinators"]?.array?.first?["events"]?.array
        #expect(events?.last?["aliases"] == ["buy", "order"])
    }

    @Test func `a former name is unknown elsewhere, and refused where the event is not accepted`() async throws {
        let app = App("catalog", root: { Catalog() })
        let state = try await app.launch(at: CoordinatorTester.someTime).state
        let asked = try await app.apply(PostedEvent("order"), to: state, at: CoordinatorTester.someTime).state

        await #expect(throws: NavigationError.eventNotAccepted) {
            _ = try await app.apply(PostedEvent("order"), to: asked, at: CoordinatorTester.someTime)
        }
        await #expect(throws: NavigationError.unknownEvent) {
            _ = try await app.apply(PostedEvent("acquire"), to: state, at: CoordinatorTester.someTime)
        }
    }

    @Test func `mistaken declarations stop the start`() {
        struct Other: Coordinator {
            static let screens = [
                ScreenType("product"), ScreenType(""), ScreenType("bare", Catalog.Bare.self),
            ]
            enum Event: NavigationEvent, CaseIterable {
                case go, come
                static let aliases = ["leave": "depart", "come": "go", "back": "go"]
            }
            func start(_ navigator: inout Navigator) {}
            func handle(_ event: Event, _ navigator: inout Navigator) {}
        }
        struct Unfit: Coordinator {
            static let screens = ["home"]
            enum Event: NavigationEvent, CaseIterable {
                case go
                static let aliases = ["leave"]
            }
            func start(_ navigator: inout Navigator) {}
            func handle(_ event: Event, _ navigator: inout Navigator) {}
        }

        let app = App("odd", root: { Catalog() }, coordinators: [Other.self, Unfit.self])

        #expect(
            app.problems == [
                "app “odd”: other.screens has a screen without a name",
                "app “odd”: other.screens has “bare” with parameters that are not encoded as an object",
                "app “odd”: other.Event.aliases has “back”, which is an event",
                "app “odd”: other.Event.aliases has “come”, which is an event",
                "app “odd”: other.Event.aliases has “depart”, which is no event of it",
                "app “odd”: unfit.screens is no list of them: write “static let screens: [ScreenType] = […]”",
                #"app “odd”: unfit.Event.aliases must be a [String: String]: ["former name": "present name"]"#,
                "app “odd”: catalog and other declare different screens “product”",
            ])
    }
}
