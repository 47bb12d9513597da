import Coordinators
import CoordinatorsTesting
import FoundationEssentials
import JSONCoding
import Testing

/// Holds one value of each of Foundation's types, and whatever number it is sent.
private struct PriceCoordinator: Coordinator {
    enum Size: String, Codable, CaseIterable { case small, large }

    var price: Decimal = 0
    var number: UInt64 = 0
    var page: URL?
    var file = Data()
    var stock: [Size: Int] = [:]
    var rate = 1.0
    var anything = JSON.null

    enum Event: NavigationEvent {
        case offer(price: Decimal, number: UInt64, page: URL, file: Data, stock: [Size: Int])
        case divide(by: Double)
        case divideShared(by: Double)
        case keep(Misplaced)
        static let examples: [Event] = [
            .offer(price: 9.5, number: 1, page: URL(filePath: "/"), file: Data([1]), stock: [.small: 1]),
            .divide(by: 2), .divideShared(by: 2), .keep(.params),
        ]
    }

    /// Where something goes that JSON cannot hold.
    enum Misplaced: String, Codable, CaseIterable { case params, defaults, property, content, depth, nothing }

    struct Rates: SharedState { var rates = [1.0] }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("price", hasContent: true)) }

    func content(of screen: Screen, in context: ContentContext) -> JSONObject {
        ["rate": .number(screen.params["isOdd"] == true ? .nan : 1)]
    }

    mutating func handle(_ event: Event, _ navigator: inout Navigator) throws {
        switch event {
        case .offer(let price, let number, let page, let file, let stock):
            (self.price, self.number, self.page, self.file, self.stock) = (price, number, page, file, stock)
            navigator.push(
                Screen(
                    "offer", params: ["price": JSON(price), "number": JSON(integer: number)], link: "/{price:number}"))
        case .divide(let divisor): rate /= divisor
        case .divideShared(let divisor): navigator.shared[Rates.self].rates.append(1 / divisor)
        case .keep(.params): navigator.push(Screen("odd", params: ["rates": [1, .number(.infinity)]]))
        case .keep(.defaults): navigator.defaults["rate"] = .number(-.infinity)
        case .keep(.property): anything = ["rate": .number(.nan)]
        case .keep(.content): navigator.push(Screen("odd", params: ["isOdd": true], hasContent: true))
        case .keep(.depth):
            let deep = (1..<128).reduce(JSON.null) { json, _ in ["in": json] }
            navigator.defaults["deep"] = deep
            navigator.defaults["deeper"] = [deep]
        case .keep(.nothing): break
        }
    }
}

@Suite struct ExactValueTests {
    private static let app = App("price", root: { PriceCoordinator() }, shared: [PriceCoordinator.Rates.self])

    private static let offer = #"""
        {"price":12345678901234567890123456789.12345,"number":18446744073709551615,"page":"https://example.com/a",\#
        "file":"AP8Q","stock":{"small":7}}
        """#

    @Test func `Foundation's values are exact in payloads, properties, params and links`() async throws {
        var app = try await CoordinatorTester(ExactValueTests.app)

        try await app.send("offer", JSON(parsing: Array(ExactValueTests.offer.utf8)))

        #expect(
            app.saved["coordinators"]?.array?.first?["state"]?.description.hasPrefix(ExactValueTests.offer.dropLast())
                == true)
        let screen = try #require(app.state.visible?.screen)
        #expect(screen.params["price"]?.decimal == Decimal(string: "12345678901234567890123456789.12345"))
        #expect(screen.params["number"]?.integer(as: UInt64.self) == .max)
        #expect(screen.link?.path(screen.params) == "/12345678901234567890123456789.12345")
        let restored = try await CoordinatorTester(ExactValueTests.app, restoring: app.saved)
        #expect(restored.state == app.state && restored.losses.isEmpty)
    }

    @Test func `their schemas say how they are posted`() throws {
        let shape = try #require(ExactValueTests.app.coordinators.first?.events.first { $0.name == "offer" })

        #expect(
            shape.schema?["properties"]?.description == """
                {"price":{"type":"number","title":"Price"},"number":{"type":"integer","minimum":0,\
                "maximum":18446744073709551615,"title":"Number"},\
                "page":{"type":"string","format":"uri-reference","title":"Page"},\
                "file":{"type":"string","contentEncoding":"base64","title":"File"},\
                "stock":{"type":"object","propertyNames":{"enum":["small","large"]},\
                "additionalProperties":{"type":"integer"},"title":"Stock"}}
                """)
        #expect(shape.payload?["file"] == "AQ==" && shape.payload?["stock"] == ["small": 1])
    }

    @Test(arguments: [
        ("price", "true", "must be a number"),
        ("number", "18446744073709551616", "must be at most 18446744073709551615"),
        ("number", "-1", "must be at least 0"), ("page", "1", "must be a string"), ("file", "\"*\"", "must be Base64"),
        ("stock/huge", "1", "must be one of “small”, “large”"),
        ("stock/small", "9223372036854775808", "must be an integer in range"),
    ])
    func `what does not fit is named`(member: String, value: String, reason: String) async throws {
        var app = try await CoordinatorTester(ExactValueTests.app)
        var payload = try JSON(parsing: Array(ExactValueTests.offer.utf8))
        let path = member.split(separator: "/").map(String.init)
        let json = try JSON(parsing: Array(value.utf8))
        payload[path[0]] = path.count > 1 ? [path[1]: json] : json

        let failure = await #expect(throws: CoordinatorTester.Failure.self) { try await app.send("offer", payload) }

        guard case .invalidEvent(let event) = failure?.reason else { throw TestError() }
        #expect(event.faults.map(\.path).contains(["payload"] + path))
        #expect(event.faults.map(\.reason).contains(reason))
    }

    @Test(
        arguments: [
            ("divide", ["by": 0], "“rate” to be saved: the value is infinite or not a number"),
            ("divideShared", ["by": 0], "“shared/rates/rates/1” to be saved: the value is infinite or not a number"),
            ("keep", "params", "push(odd): “params/rates/1” of screen “odd” is infinite or not a number"),
            ("keep", "defaults", "“defaults/rate” to be saved: the value is infinite or not a number"),
            ("keep", "property", "“anything/rate” to be saved: the value is infinite or not a number"),
            (
                "keep", "depth",
                "“defaults/deeper/0/in/in/in/in/in/in” to be saved: the value is nested deeper than 128 levels"
            ),
        ] as [(String, JSON, String)])
    func `a value that cannot be saved is refused with its place`(
        event: String, payload: JSON, refusal: String
    ) async throws {
        var app = try await CoordinatorTester(ExactValueTests.app)
        let before = app.state

        let failure = await #expect(throws: CoordinatorTester.Failure.self) { try await app.send(event, payload) }

        guard case .impossibleRequest("price", let request, let reason) = failure?.reason else { throw TestError() }
        #expect("\(request): \(reason)" == refusal)
        #expect(app.state == before)
    }

    @Test func `content with such a number is refused`() async throws {
        var app = try await CoordinatorTester(ExactValueTests.app)
        try await app.send("keep", "content")

        let failure = await #expect(throws: CoordinatorTester.Failure.self) { try await app.content() }

        guard case .impossibleRequest(_, _, let reason) = failure?.reason else { throw TestError() }
        #expect(reason == "“rate” is infinite or not a number")
    }

    private struct ProductCoordinator: Coordinator {
        enum Event: NavigationEvent {
            case select(id: IntegerText<UInt64>)
            static let examples: [Event] = [.select(id: 7)]
        }
        var last: IntegerText<UInt64>?
        func start(_ navigator: inout Navigator) { navigator.push(Screen("x")) }
        mutating func handle(_ event: Event, _ navigator: inout Navigator) {
            guard case .select(let id) = event else { return }
            last = id
            navigator.push(Screen("product", params: ["id": id.json]))
        }
    }

    @Test func `an author can let an id travel as a text`() async throws {
        var app = try await CoordinatorTester(App("products", root: { ProductCoordinator() }))

        try await app.send("select", ["id": "18446744073709551615"])

        #expect(app.state.visible?.screen.params == ["id": "18446744073709551615"])
        #expect(app.saved["coordinators"]?.array?.first?["state"] == ["last": "18446744073709551615"])
        #expect(
            app.app.coordinators.first?.events.first?.schema?["properties"]?["id"]
                == ["type": "string", "pattern": "^(0|[1-9][0-9]*)$", "title": "Id"])
        for id: JSON in [7, "07", "-1", "18446744073709551616", "x"] {
            let failure = await #expect(throws: CoordinatorTester.Failure.self) {
                try await app.send("select", ["id": id])
            }
            guard case .invalidEvent(let event) = failure?.reason else { throw TestError() }
            #expect(event.faults.map(\.path) == [["payload", "id"]])
        }
    }

    private struct OddBlank: Coordinator {
        var limit = 1.0
        static let blank: any Coordinator = OddBlank(limit: .infinity)
        enum Event: NavigationEvent {
            case limit(Double)
            static let examples: [Event] = [.limit(.infinity)]
        }
        func start(_ navigator: inout Navigator) { navigator.push(Screen("x")) }
        func handle(_ event: Event, _ navigator: inout Navigator) {}
    }

    private struct OddShared: SharedState { var limits = ["day": Double.nan] }

    @Test func `what a declaration holds that cannot be saved is found at start-up`() {
        let app = App("odd", root: { OddBlank() }, shared: [OddShared.self])

        #expect(
            app.problems == [
                "app “odd”: oddBlank.blank: “limit” is infinite or not a number",
                "app “odd”: oddBlank.Event: an example: “limit/_0” is infinite or not a number",
                "app “odd”: OddShared(): “limits/day” is infinite or not a number",
            ])
    }

    @Test func `a root that cannot be saved does not start, and says why`() async {
        let app = App("odd", root: { PriceCoordinator(rate: .infinity) })

        await #expect(
            throws: CoordinatorTester.Failure(
                .impossibleRequest(
                    coordinator: "price", request: "“rate” to be saved", reason: "the value is infinite or not a number"
                ))
        ) { try await CoordinatorTester(app) }
    }
}
