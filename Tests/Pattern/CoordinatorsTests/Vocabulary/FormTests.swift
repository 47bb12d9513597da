import Coordinators
import CoordinatorsTesting
import JSONCoding
import Testing

private struct FormCoordinator: Coordinator {
    enum Size: String, Codable, CaseIterable { case small, large }

    struct Address: Codable {
        var street: String
        var zipCode: Int
    }

    enum Event: NavigationEvent {
        case order(size: Size, count: Int, note: String?, addresses: [Address])
        case weigh(kilograms: Double, price: Decimal)
        case type(String)
        case done

        static let examples: [Event] = [
            .order(size: .small, count: 1, note: "x", addresses: [Address(street: "x", zipCode: 1)]), .type("xy"),
            .done, .weigh(kilograms: 0.2, price: 1),
        ]

        var fields: [Field] {
            switch self {
            case .order:
                [
                    Field("count", "How many", minimum: 1, maximum: 9), Field("note", maxLength: 3),
                    Field("addresses", "Where to"),
                ]
            case .type: [Field(title: "Street", format: .email, minLength: 2)]
            case .weigh:
                [
                    Field("kilograms", minimum: 0.1, maximum: 0.3),
                    Field("price", minimum: 0, maximum: JSON(Decimal(string: "1234567890123456789.01")!)),
                ]
            case .done: []
            }
        }
    }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("form")) }
    func handle(_ event: Event, _ navigator: inout Navigator) {}
}

/// A profile: its form comes back filled.
private struct ProfileCoordinator: Coordinator {
    enum Event: NavigationEvent {
        case save(name: String, born: Date, years: Int, pin: Secret)
        case rename(String)
        case greet(name: String, times: Int)
        static let examples: [Event] = [
            .save(name: "Ann", born: Date(timeIntervalSince1970: 0), years: 1, pin: "1"), .rename("Ann"),
            .greet(name: "Ann", times: 1),
        ]
        var fields: [Field] { if case .save = self { [Field("born", format: .date)] } else { [] } }
    }

    var name = ""
    var saved = 0

    func start(_ navigator: inout Navigator) { navigator.push(Screen("profile")) }

    func render(_ screen: inout Screen, in context: NavigationContext) {
        let born = Date(timeIntervalSince1970: 631_152_000)
        screen.events = [
            Control(form: Event.save(name: name, born: born, years: 36, pin: "7")), Control(form: Event.rename(name)),
            "greet",
        ]
    }

    func fields(of event: Event, in context: NavigationContext) -> [Field] {
        guard case .greet = event, !name.isEmpty else { return event.fields }
        return [Field("name", value: .string(name)), Field("times", value: 2)]
    }

    mutating func handle(_ event: Event, _ navigator: inout Navigator) throws {
        saved += 1
        switch event {
        case .save("Nobody", _, let years, _) where years > 99:
            throw FieldError(["years": "Nobody is that old.", "name": "Who is that?"])
        case .save(let new, _, _, _):
            if new == "Typo" { throw FieldError("nmae", "The author has misspelt it.") }
            if new == "Nothing" { throw FieldError([:]) }
            name = new
        case .rename(let new):
            guard new != "Nobody" else { throw FieldError("", "Who is that?") }
            name = new
        case .greet: break
        }
    }
}

@Suite struct FormTests {
    private static let profiles = App("profiles", root: { ProfileCoordinator() })

    @Test func `a form shows the values of its control, but for empty texts and secrets`() async throws {
        var tester = try await CoordinatorTester(FormTests.profiles)
        #expect(tester.formValues(of: "save") == ["born": "1990-01-01", "years": 36])
        #expect(tester.formValues(of: "rename") == [:] && tester.formValues(of: "nothing") == nil)

        try await tester.send("rename", "Ann")

        #expect(tester.formValues(of: "save") == ["name": "Ann", "born": "1990-01-01", "years": 36])
        #expect(tester.formValues(of: "rename") == "Ann")
        #expect(try tester.restored().visible?.screen == tester.state.visible?.screen)
        let encoded = try #require(tester.state.visible?.encodedMembers)
        let text = String(decoding: encoded, as: UTF8.self)
        #expect(!text.contains("pin") && text.contains(#""born":"1990-01-01""#))
    }

    @Test func `a form shows what the coordinator's fields have as values`() async throws {
        var tester = try await CoordinatorTester(FormTests.profiles)
        #expect(tester.formValues(of: "greet") == [:])

        try await tester.send("rename", "Ann")

        #expect(tester.formValues(of: "greet") == ["name": "Ann", "times": 2])
    }

    @Test func `a handler refuses values of fields, each with its words`() async throws {
        var tester = try await CoordinatorTester(FormTests.profiles)
        let nobody: JSON = ["name": "Nobody", "born": "1990-01-01", "years": 100, "pin": "1"]

        await tester.expectRefusal(
            .invalidEvent(
                .init([
                    PayloadFault(path: ["payload", "name"], reason: "Who is that?", code: .refused),
                    PayloadFault(path: ["payload", "years"], reason: "Nobody is that old.", code: .refused),
                ]))
        ) { try await $0.send("save", nobody) }
        await tester.expectRefusal(
            .invalidEvent(.init(path: ["payload"], reason: "Who is that?", code: .refused))
        ) { try await $0.send("rename", "Nobody") }
    }

    @Test(arguments: [("Typo", "nmae"), ("Nothing", "")])
    func `a refused field that the event does not have is a mistake of the app`(name: String, field: String)
        async throws
    {
        var tester = try await CoordinatorTester(FormTests.profiles)

        await tester.expectRefusal(
            .impossibleRequest(
                coordinator: "profile", request: "FieldError(\(field))", reason: "“save” has no such field")
        ) { try await $0.send("save", ["name": .string(name), "born": "1990-01-01", "years": 1, "pin": "1"]) }
    }

    private static let app = App("form", root: { FormCoordinator() })

    private func faults(_ type: String, _ payload: JSON?) async throws -> [PayloadFault] {
        var tester = try await CoordinatorTester(FormTests.app)
        do {
            try await tester.send(type, payload)
            return []
        } catch {
            guard case .invalidEvent(let event) = error.reason else { throw error }
            return event.faults
        }
    }

    @Test func `all faults of a payload are found, each at its field`() async throws {
        let payload: JSON = [
            "size": "huge", "count": "x", "note": 7, "addresses": [["street": 1], ["street": "x", "zipCode": 2]],
        ]
        let faults = try await faults("order", payload)

        let expected: [([String], PayloadFault.Code, String)] = [
            (["size"], .enum, "must be one of “small”, “large”"), (["count"], .type, "must be an integer in range"),
            (["note"], .type, "must be a string"), (["addresses", "0", "street"], .type, "must be a string"),
            (["addresses", "0", "zipCode"], .required, "is missing"),
        ]
        #expect(
            faults == expected.map { PayloadFault(path: ["payload"] + $0.0, reason: $0.2, code: $0.1) })
    }

    @Test func `what fields ask for is checked, though it could be decoded`() async throws {
        let good: JSON = ["size": "small", "count": 9, "note": "abc", "addresses": []]
        #expect(try await faults("order", good).isEmpty)
        #expect(try await faults("order", ["size": "small", "count": 9, "addresses": []]).isEmpty)
        #expect(try await faults("order", ["size": "small", "count": 9, "note": .null, "addresses": []]).isEmpty)
        #expect(
            try await faults("order", ["size": "small", "count": 10, "note": "four", "addresses": []])
                == [
                    PayloadFault(path: ["payload", "count"], reason: "must be at most 9", code: .maximum, bound: 9),
                    PayloadFault(
                        path: ["payload", "note"], reason: "must have at most 3 characters", code: .maxLength,
                        bound: 3),
                ])
        #expect(try await faults("type", "ab").isEmpty)
        #expect(try await faults("type", "a").map(\.code) == [.minLength])
    }

    @Test func `bounds of floats and decimals are exact`() async throws {
        func faults(_ payload: String) async throws -> [String] {
            try await self.faults("weigh", JSON(parsing: Array(payload.utf8))).map { "\($0.path[1]) \($0.reason)" }
        }

        for kilograms in ["0.1", "0.3", "0.2999"] {
            #expect(try await faults(#"{"kilograms":\#(kilograms),"price":1234567890123456789.01}"#) == [])
        }
        #expect(
            try await faults(#"{"kilograms":0.09,"price":1234567890123456789.02}"#)
                == ["kilograms must be at least 0.1", "price must be at most 1234567890123456789.01"])
        #expect(
            try await faults(#"{"kilograms":0.30001,"price":-1}"#)
                == ["kilograms must be at most 0.3", "price must be at least 0"])
    }

    private struct BoundlessCoordinator: Coordinator {
        enum Event: NavigationEvent {
            case order(count: Int)
            static let examples: [Event] = [.order(count: 1)]
            var fields: [Field] { [Field("count", minimum: "1")] }
        }

        func start(_ navigator: inout Navigator) { navigator.push(Screen("form")) }
        func handle(_ event: Event, _ navigator: inout Navigator) {}
    }

    @Test func `a bound that is no number is a mistake of the declaration`() {
        #expect(
            App("form", root: { BoundlessCoordinator() }).problems == [
                "app “form”: boundless.Event: “order” has a bound for “count” that is no number"
            ])
    }

    @Test func `a payload that is missing lacks each field`() async throws {
        for payload in [nil, [:]] as [JSON?] {
            #expect(try await faults("order", payload).map(\.path.last) == ["size", "count", "addresses"])
        }
        #expect(
            try await faults("type", nil) == [PayloadFault(path: ["payload"], reason: "is missing", code: .required)])
    }

    @Test func `a payload with many faults has a short answer`() async throws {
        let address: JSON = ["street": 1]
        let payload: JSON = ["size": "small", "count": 1, "addresses": .array(Array(repeating: address, count: 5000))]
        #expect(try await faults("order", payload).count == 32)
    }

    @Test func `the schema has the titles and bounds of the fields`() async throws {
        let event = try #require(FormTests.app.coordinators[0].events.first { $0.name == "order" })
        let properties = event.schema?["properties"]

        #expect(properties?["size"] == ["enum": ["small", "large"], "title": "Size"])
        #expect(properties?["count"] == ["type": "integer", "title": "How many", "minimum": 1, "maximum": 9])
        #expect(properties?["note"] == ["type": "string", "title": "Note", "maxLength": 3])
        #expect(properties?["addresses"]?["title"] == "Where to")
        #expect(properties?["addresses"]?["items"]?["properties"]?["zipCode"]?["title"] == "Zip code")
        let type = try #require(FormTests.app.coordinators[0].events.first { $0.name == "type" })
        #expect(type.schema == ["type": "string", "title": "Street", "format": "email", "minLength": 2])
    }

    private struct MistakenCoordinator: Coordinator {
        enum Event: NavigationEvent {
            case order(count: Int)
            static let examples: [Event] = [.order(count: 1)]
            var fields: [Field] { [Field("cuont", "How many")] }
        }
        func start(_ navigator: inout Navigator) { navigator.push(Screen("form")) }
        func handle(_ event: Event, _ navigator: inout Navigator) {}
    }

    private struct HiddenCoordinator: Coordinator {
        enum Event: NavigationEvent {
            case rate(stars: Int?)
            case skip
            static let examples: [Event] = [.rate(stars: nil), .skip]
        }
        func start(_ navigator: inout Navigator) { navigator.push(Screen("form")) }
        func handle(_ event: Event, _ navigator: inout Navigator) {}
    }

    @Test func `an example that hides the payload is a mistake in the declaration`() {
        let problem = "the example of “rate” is nil: give one with a value, so that the payload is known"
        let app = App("hidden", root: { HiddenCoordinator() })
        #expect(app.problems == ["app “hidden”: hidden.Event: \(problem)"])
    }

    @Test func `a field that the event does not have is a mistake in the declaration`() {
        let app = App("mistaken", root: { MistakenCoordinator() })
        #expect(app.problems == ["app “mistaken”: mistaken.Event: “order” has no field “cuont”"])
    }
}

/// Days of calendars in forms.
@Suite struct DayTests {
    struct BirthdayCoordinator: Coordinator {
        var entered: [String] = []

        enum Event: NavigationEvent {
            case born(on: Date, name: String), died(on: Date?), renew(Date)
            static let examples: [Event] = [
                .born(on: Date(timeIntervalSince1970: 633_830_400), name: "Ann"),
                .died(on: Date(timeIntervalSince1970: 633_830_400)),
                .renew(Date(timeIntervalSince1970: 633_830_400)),
            ]

            var fields: [Field] {
                switch self {
                case .born: [Field("on", format: .date)]
                case .died: [Field("on", format: .date)]
                case .renew: [Field(title: "Day", format: .date)]
                }
            }
        }

        func start(_ navigator: inout Navigator) { navigator.push(Screen("birthday")) }

        mutating func handle(_ event: Event, _ navigator: inout Navigator) {
            switch event {
            case .born(let day, _), .renew(let day): entered.append(JSON(day).string ?? "")
            case .died(let day): entered.append(day.flatMap { JSON($0).string } ?? "nil")
            }
        }
    }

    @Test func `a field of format date takes and gives days`() async throws {
        var app = try await CoordinatorTester(App("birthday", root: { BirthdayCoordinator() }))
        let examples = app.state.controls.filter { $0.coordinator != nil }.map(\.example)
        #expect(
            examples == [["on": "1990-02-01", "name": "Ann"], ["on": "1990-02-01"], "1990-02-01"])

        for control in app.state.controls where control.coordinator != nil {
            try await app.send(control.type, control.example)
        }
        try await app.send("died", [:])
        try await app.send("renew", "1990-01-31T12:30:00Z")

        let entered = (app.state.coordinators[0].coordinator as? BirthdayCoordinator)?.entered
        #expect(
            entered == [
                "1990-02-01T00:00:00Z", "1990-02-01T00:00:00Z", "1990-02-01T00:00:00Z", "nil", "1990-01-31T12:30:00Z",
            ])
    }

    @Test(arguments: ["1990-02-31", "31.1.1990", "1990-1-3"])
    func `what is no day is refused in these words`(text: String) async throws {
        var app = try await CoordinatorTester(App("birthday", root: { BirthdayCoordinator() }))

        let failure = await #expect(throws: CoordinatorTester.Failure.self) {
            try await app.send("born", ["on": .string(text), "name": "Ann"])
        }

        #expect("\(failure as Any)".contains("the value at /payload/on must be a date, such as 1990-01-31"))
    }

    struct CarelessCoordinator: Coordinator {
        enum Event: NavigationEvent {
            case enter(code: String), leave(day: String)
            static let examples: [Event] = [.enter(code: "abc"), .leave(day: "tomorrow")]

            var fields: [Field] {
                switch self {
                case .enter: [Field("code", minLength: 4)]
                case .leave: [Field("day", format: .date)]
                }
            }
        }

        func start(_ navigator: inout Navigator) { navigator.push(Screen("careless")) }
        func handle(_ event: Event, _ navigator: inout Navigator) {}
    }

    @Test func `an example that does not fit its own form is a mistake of the declaration`() {
        let problems = App("careless", root: { CarelessCoordinator() }).problems

        #expect(problems.count == 2)
        #expect(problems.first?.contains("an example of “enter” does not fit its own fields: “code” ") == true)
        #expect(problems.last?.contains("“day” must be a date, such as 1990-01-31") == true)
    }
}
