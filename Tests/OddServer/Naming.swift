import Coordinators

/// An app whose names are keywords or no identifiers in some language, and whose values are of all kinds.
struct NamingCoordinator: Coordinator {
    static let name = "string"
    static let screens = [
        ScreenType("class", Everything.self, content: Everything.self), ScreenType("unknown"), ScreenType("my screen"),
    ]

    struct Everything: ScreenParameters {
        var `in`: Int
        var isOn: Bool?
        var price: Double
        var kind: Kind
        var kinds: [Kind]
        var parts: [Part]
        var counts: [String: Int]
        var any: JSON
        var large: UInt64
        var part: Part?

        private enum CodingKeys: String, CodingKey {
            case `in`, isOn = "is-on", price, kind, kinds, parts, counts, any, large = "2nd", part
        }

        static let example = Everything(
            in: 1, isOn: true, price: 1.5, kind: .default, kinds: [.big], parts: [Part(id: "a", parts: nil)],
            counts: ["a": 1], any: [1, "b"], large: 7, part: nil)
    }

    struct Part: Codable {
        let id: String
        let parts: [String]?
    }

    enum Kind: String, Codable, CaseIterable { case `default`, big, quoted = "say \"$1\"" }

    enum Event: NavigationEvent {
        case `default`
        case `repeat`(`in`: Int, `for`: String?)
        case send(Everything)
        case number(Int?)
        case list([[Kind]])
        case go
        static let examples: [Event] = [
            .default, .`repeat`(in: 1, for: "a"), .send(.example), .number(1), .list([[.big]]), .go,
        ]
        var title: String { self.readableName + " */ \n \"" }
    }

    func start(_ navigator: inout Navigator) {
        navigator.push(Screen("class", Everything.example, hasContent: true))
    }

    func handle(_ event: Event, _ navigator: inout Navigator) {
        switch event {
        case .go: navigator.start(NamingChild())
        case .default:
            navigator.alert(
                Alert(
                    "Default?",
                    buttons: [
                        AlertButton("in", title: "In"), AlertButton("my-button", title: "*/"),
                        AlertButton("myButton", title: "My button"),
                    ]))
        default: break
        }
    }
}

/// An event of the same name with another payload, and a screen that is declared nowhere.
struct NamingChild: Coordinator {
    enum Event: NavigationEvent {
        case number(text: String)
        case purchase
        static let examples: [Event] = [.number(text: "1"), .purchase]
        static let aliases = ["buy": "purchase"]
    }

    func start(_ navigator: inout Navigator) {
        navigator.push(Screen("observed", params: ["count": 1, "note": .null, "list": [1, 2.5]]))
    }

    func handle(_ event: Event, _ navigator: inout Navigator) {
        switch event {
        case .purchase: navigator.push(Screen("observed", params: ["count": 2, "list": []]))
        case .number: navigator.finish()
        }
    }
}
