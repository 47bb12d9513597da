import Coordinators
import CoordinatorsTesting
import JSONCoding
import Testing

/// A list with rows, some of them disabled, and buttons that carry a payload.
private struct BookshelfCoordinator: Coordinator {
    static let name = "shelf"
    static let everywhere: [Event] = [.rate(1)]

    enum Order: String, Codable { case name, date }

    enum Event: NavigationEvent {
        case show(id: Int)
        case sort(Order)
        case filter(tag: String?)
        case weigh(kilograms: Double, unit: String)
        case find(text: String)
        case unlock(Secret)
        case rate(Int)
        case clear, both, secret, foreign, infinite
        static let examples: [Event] = [
            .show(id: 1), .sort(.name), .filter(tag: "x"), .weigh(kilograms: 1, unit: "kg"), .find(text: "x"),
            .unlock("x"), .rate(1), .clear, .both, .secret, .foreign, .infinite,
        ]
    }

    /// Has an event of the same name as one of the shelf's.
    enum Other: NavigationEvent {
        case show(name: String)
        static let examples: [Other] = [.show(name: "x")]
    }

    private(set) var ids = [1, 2, 3]
    private var lent: Set<Int> = [3]
    private(set) var handled: [String] = []

    func start(_ navigator: inout Navigator) { navigator.push(Screen("shelf")) }

    func render(_ screen: inout Screen, in context: NavigationContext) {
        guard screen.name == "shelf" else { return }
        screen.rows =
            ids.map { Row("Book \($0)", detail: "by Ann", sends: Event.show(id: $0)) } + [
                Row("All", sends: Event.filter(tag: nil)), Row("Clear", role: .destructive, sends: Event.clear),
                Row("Ten", isSelected: true, sends: Event.weigh(kilograms: 10, unit: "kg")), Row("3 books"),
            ]
        screen.events = [
            Control("By name", role: .primary, sends: Event.sort(.name)), "find",
            Control("By date", sends: Event.sort(.date)), "both", "secret", "foreign", "infinite",
        ]
    }

    func isEnabled(_ event: Event, in context: NavigationContext) -> Bool {
        switch event {
        case .show(let id): !lent.contains(id)
        case .sort(let order): order == .name || ids.count > 1
        default: true
        }
    }

    mutating func handle(_ event: Event, _ navigator: inout Navigator) {
        handled.append("\(event)")
        switch event {
        case .show(let id):
            ids.removeAll { $0 == id }
            lent = [2]
        case .clear: ids = [1]
        case .both: navigator.push(Screen("both", events: ["show"], rows: [Row("Book 1", sends: Event.show(id: 1))]))
        case .secret: navigator.push(Screen("wrong", events: [Control("Unlock", sends: Event.unlock("1234"))]))
        case .foreign: navigator.push(Screen("wrong", rows: [Row("x", sends: Other.show(name: "x"))]))
        case .infinite:
            navigator.push(Screen("wrong", rows: [Row("x", sends: Event.weigh(kilograms: .infinity, unit: "kg"))]))
        default: break
        }
    }
}

@Suite(.simulatedTime) struct RowTests {
    private static let app = App("shelf", root: { BookshelfCoordinator() })

    private func open() async throws -> CoordinatorTester { try await CoordinatorTester(RowTests.app) }

    private func handled(_ app: CoordinatorTester) -> [String] {
        (app.state.coordinators[0].coordinator as? BookshelfCoordinator)?.handled ?? []
    }

    @Test func `a button and a row send their payloads as they stand`() async throws {
        var app = try await open()

        try await app.tap("By date")
        try await app.tap("All")
        try await app.tap("Book 2")

        #expect(handled(app).count == 3 && handled(app).dropFirst() == ["filter(tag: nil)", "show(id: 2)"])
        #expect(app.rows.map(\.title) == ["Book 1", "Book 3", "All", "Clear", "Ten", "3 books"])
    }

    @Test func `a payload that no button or row carries is refused, whether or not it fits the event`() async throws {
        let app = try await open()
        for (type, payload) in [
            ("show", ["id": 4]), ("show", ["id": "x"]), ("show", nil), ("show", ["id": 1, "other": 2]),
            ("sort", "size"), ("filter", ["tag": "x"]), ("clear", ["x": 1]), ("weigh", ["kilograms": 10, "unit": "g"]),
        ] as [(String, JSON?)] {
            var tester = app
            await #expect(throws: CoordinatorTester.Failure(.payloadNotOffered), "\(type)") {
                try await tester.send(type, payload)
            }
            #expect(tester.state == app.state)
        }
    }

    @Test func `the same number and another order of members are the same payload`() async throws {
        var app = try await open()

        try await app.send("weigh", ["unit": "kg", "kilograms": 10])
        try await app.send("show", ["id": 1.0])
        try await app.send("clear", [:])

        #expect(handled(app).count == 3)
    }

    @Test func `a screen that offers the event as a form, too, takes any payload`() async throws {
        var app = try await open()
        try await app.send("both")

        try await app.send("show", ["id": 17])

        #expect(handled(app).last == "show(id: 17)")
    }

    @Test func `an event that is accepted everywhere takes any payload`() async throws {
        var app = try await open()

        try await app.send("rate", 5)

        #expect(handled(app) == ["rate(5)"])
    }

    @Test func `a button may send nothing but nil`() async throws {
        struct Films: Coordinator {
            enum Event: NavigationEvent {
                case filter(tag: String?)
                case year(Int?)
                case plain
                static let examples: [Event] = [.filter(tag: "x"), .year(1999), .plain]
            }
            private(set) var handled: [String] = []
            func start(_ navigator: inout Navigator) {
                navigator.push(
                    Screen(
                        "films",
                        events: [
                            Control("All", sends: Event.filter(tag: nil)), Control("Any year", sends: Event.year(nil)),
                            Control(sends: Event.plain),
                        ], rows: [Row("All of them", sends: Event.year(nil))]))
            }
            mutating func handle(_ event: Event, _ navigator: inout Navigator) { handled.append("\(event)") }
        }
        var app = try await CoordinatorTester(App("films", root: { Films() }))

        for title in ["All", "Any year", "All of them", "Plain"] { try await app.tap(title) }
        try await app.send("year", .null)
        try await app.send("filter")

        let films = try #require(app.state.coordinators[0].coordinator as? Films)
        #expect(
            films.handled == ["filter(tag: nil)", "year(nil)", "year(nil)", "plain", "year(nil)", "filter(tag: nil)"])
        await #expect(throws: CoordinatorTester.Failure(.payloadNotOffered)) { try await app.send("year", 1999) }
        await #expect(throws: CoordinatorTester.Failure(.payloadNotOffered)) {
            try await app.send("filter", ["tag": "x"])
        }
        #expect(try app.restored() == app.state && app.restored().screenDrawnDifferently == nil)
    }

    @Test func `without events, a screen offers those that no row sends`() async throws {
        struct List: Coordinator {
            enum Event: NavigationEvent {
                case show(id: Int)
                case find(String)
                case clear
                static let examples: [Event] = [.show(id: 9), .find("x"), .clear]
            }
            func start(_ navigator: inout Navigator) {
                navigator.push(Screen("list", rows: [Row("One", sends: Event.show(id: 1))]))
            }
            func handle(_ event: Event, _ navigator: inout Navigator) {}
        }
        var app = try await CoordinatorTester(App("list", root: { List() }))

        #expect(app.events.prefix(3) == ["show", "find", "clear"])
        #expect(app.state.controls.map(\.type).prefix(2) == ["find", "clear"])
        await #expect(throws: CoordinatorTester.Failure(.payloadNotOffered)) { try await app.send("show", ["id": 9]) }
        try await app.send("find", "y")
        try await app.send("show", ["id": 1])
    }

    @Test func `isEnabled decides about each payload, and a disabled row stays`() async throws {
        var app = try await open()
        func isEnabled(_ app: CoordinatorTester) throws -> [Bool] {
            try app.state.written("rows").filter { $0["type"] == "show" }.map { $0["isEnabled"] != false }
        }
        #expect(try isEnabled(app) == [true, true, false])
        let failure = await #expect(throws: CoordinatorTester.Failure.self) { try await app.tap("Book 3") }
        #expect("\(failure.map(String.init(describing:)) ?? "")".contains("“Book 3” of screen"))

        try await app.tap("Book 1")

        #expect(try isEnabled(app) == [false, true])
        #expect(app.transition.operations == [.update(key: "k1")])
        #expect(app.state.controls.filter { $0.type == "sort" }.map(\.title) == ["By name", "By date"])
        try await app.tap("Clear")
        #expect(app.state.controls.filter { $0.type == "sort" }.map(\.title) == ["By name"])
        #expect(try app.state.written("buttons").map { $0["isEnabled"] } == [nil, false])
        await #expect(throws: CoordinatorTester.Failure(.payloadNotOffered)) { try await app.send("sort", "date") }
    }

    @Test func `an event is not accepted if all of its rows are disabled`() async throws {
        var app = try await open()
        try await app.tap("Book 1")
        #expect(app.events.contains("show"))

        try await app.tap("Book 3")

        #expect(app.rows.map(\.title).first == "Book 2")
        #expect(!app.events.contains("show"))
    }

    @Test func `buttons and rows are sent and saved alike, and restored in their order`() async throws {
        let app = try await open()
        let encoded = String(decoding: try #require(app.state.visible?.encodedMembers), as: UTF8.self)

        #expect(
            encoded.contains(
                #"""
                "buttons":[{"type":"sort","payload":"name","role":"primary","title":"By name"},\#
                {"type":"sort","payload":"date","title":"By date"}],\#
                "rows":[{"title":"Book 1","detail":"by Ann","type":"show","payload":{"id":1},"role":"navigation"},\#
                {"title":"Book 2","detail":"by Ann","type":"show","payload":{"id":2},"role":"navigation"},\#
                {"title":"Book 3","detail":"by Ann","type":"show","payload":{"id":3},"role":"navigation",\#
                "isEnabled":false},{"title":"All","type":"filter","role":"navigation"},\#
                {"title":"Clear","type":"clear","role":"destructive"},\#
                {"title":"Ten","isSelected":true,"type":"weigh","payload":{"kilograms":10.0,"unit":"kg"},\#
                "role":"secondary"},{"title":"3 books"}]
                """#))
        #expect(
            app.saved["stack"]?["screens"]?.array?[0]["events"] == [
                0, "find", 1, "both", "secret", "foreign", "infinite",
            ])
        let restored = try app.restored()
        #expect(restored.visible?.screen == app.state.visible?.screen && restored.encoded == app.state.encoded)
        var smaller = app
        try await smaller.tap("Clear")
        #expect(smaller.state.savedSize() < app.state.savedSize() - 100, "rows count in the state's size")
    }

    @Test func `each button is a control of its own, and a row is none`() async throws {
        let controls = try await open().state.controls

        #expect(controls.filter { $0.type == "sort" }.map(\.title) == ["By name", "By date"])
        #expect(controls.filter { $0.type == "sort" }.map(\.payload) == ["name", "date"])
        #expect(controls.filter { $0.type == "sort" }.map(\.role) == [.primary, .secondary])
        #expect(controls.first { $0.type == "sort" }?.schema == nil)
        #expect(!controls.contains { ["show", "filter", "clear"].contains($0.type) })
        let find = try #require(controls.first { $0.type == "find" })
        #expect(find.payload == nil && find.role == .input && find.schema != nil)
    }

    @Test func `what cannot be shown or sent is refused, with the reason`() async throws {
        var app = try await open()
        for (event, reason) in [
            ("secret", "screen “wrong” would show the secret that “unlock” takes: let the user enter it"),
            ("foreign", "screen “wrong” offers “show” with a payload that the event does not take"),
            ("infinite", "screen “wrong” offers an event with a payload that JSON cannot hold"),
        ] {
            await app.expectRefusal(
                .impossibleRequest(coordinator: "shelf", request: "push(wrong)", reason: reason)
            ) { try await $0.send(event) }
        }
    }

    @Test func `a test that taps what is not there learns what is`() async throws {
        var app = try await open()
        let failure = await #expect(throws: CoordinatorTester.Failure.self) { try await app.tap("Find") }

        #expect(
            "\(try #require(failure))".hasSuffix(
                """
                screen “shelf” has no “Find” to tap; there is: “By name”, “By date”, “Both”, “Secret”, “Foreign”, \
                “Infinite”, “Book 1”, “Book 2”, “Book 3”, “All”, “Clear”, “Ten”
                """))
        let refused = await #expect(throws: CoordinatorTester.Failure.self) { try await app.send("sort", "size") }
        #expect(try #require(refused).accepted == [#"sort "name""#, #"sort "date""#])
    }

    @Test func `what a row sends is lost with its event`() async throws {
        struct Smaller: Coordinator {
            static let name = "shelf"
            enum Event: NavigationEvent {
                case show(id: Int)
                case sort(Int)
                static let examples: [Event] = [.show(id: 1), .sort(1)]
            }
            func start(_ navigator: inout Navigator) {}
            func handle(_ event: Event, _ navigator: inout Navigator) {}
        }
        let old = try await open()
        var new = try await CoordinatorTester(App("shelf", version: 2, root: { Smaller() }), restoring: old.saved)

        #expect(new.rows.map(\.title) == ["Book 1", "Book 2", "Book 3", "3 books"])
        #expect(new.losses.contains(.control(event: "clear", screen: "shelf")))
        #expect(new.losses.filter { $0 == .control(event: "sort", screen: "shelf") }.count == 1)
        #expect(new.state.visible?.screen.events == [])
        try await new.tap("Book 3")
    }

    @Test func `an event that render draws and nobody declares is named as that`() async throws {
        struct Hall: Coordinator {
            static let name = "hall"
            enum Event: NavigationEvent, CaseIterable { case enter }
            func start(_ navigator: inout Navigator) { navigator.push(Screen("hall", events: [Event.enter])) }
            func handle(_ event: Event, _ navigator: inout Navigator) {}
        }
        struct Misspelt: Coordinator {
            static let name = "hall"
            enum Event: NavigationEvent, CaseIterable { case enter }
            func start(_ navigator: inout Navigator) {}
            func handle(_ event: Event, _ navigator: inout Navigator) {}
            func render(_ screen: inout Screen, in context: NavigationContext) { screen.events = ["entre"] }
        }
        let old = try await CoordinatorTester(App("hall", root: { Hall() }))

        let new = try await CoordinatorTester(App("hall", version: 2, root: { Misspelt() }), restoring: old.saved)

        let words = "event “entre” of screen “hall”, which `render` draws, and the coordinator does not declare"
        #expect(new.losses.map(\.description) == [words])
    }

    @Test func `random walks and maps press buttons and rows with what they carry`() async throws {
        struct Doors: Coordinator {
            enum Event: NavigationEvent {
                case enter(door: String)
                static let examples: [Event] = [.enter(door: "none")]
            }
            func start(_ navigator: inout Navigator) {
                navigator.push(
                    Screen(
                        "hall", events: [Control("Left", sends: Event.enter(door: "left"))],
                        rows: [Row("Right", sends: Event.enter(door: "right"))]))
            }
            func handle(_ event: Event, _ navigator: inout Navigator) {
                guard case .enter(let door) = event else { return }
                navigator.push(Screen(door, events: []))
            }
        }

        let coverage = try await RandomWalk.cover(
            App("doors", root: { Doors() }), seeds: 0..<2, count: 40, screens: ["left", "right"])

        #expect(coverage.share == 1 && !coverage.missed.contains("screen none"))
    }
}

extension NavigationState {
    /// A member of the visible screen as clients read it.
    fileprivate func written(_ name: String) throws -> [JSON] {
        let members = try #require(visible?.encodedMembers)
        return try JSON(parsing: Array("{".utf8) + members + Array("}".utf8), maximumDepth: 9)[name]?.array ?? []
    }
}
