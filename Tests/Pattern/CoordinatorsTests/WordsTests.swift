import Coordinators
import CoordinatorsTesting
import JSONCoding
import Testing

private enum Cabin: String, Codable, CaseIterable { case economy, first }

extension SessionContext {
    fileprivate func say(_ english: String, _ korean: String) -> String {
        language(among: "en", "ko") == "ko" ? korean : english
    }
}

private struct Refused: Error {}

/// Books a flight, in English or Korean.
private struct BookingCoordinator: Coordinator {
    enum Event: NavigationEvent {
        case book(cabin: Cabin, bags: Int, meals: [String], code: String?)
        case ask, fail, help, addSeat
        static let examples: [Event] = [
            .book(cabin: .economy, bags: 1, meals: ["rice"], code: "A"), .ask, .fail, .help, .addSeat,
        ]
        var title: String { if case .ask = self { "Ask" } else { readableName } }
    }

    var mostBags = 2

    func start(_ navigator: inout Navigator) { navigator.push(Screen("book")) }

    func render(_ screen: inout Screen, in context: NavigationContext) {
        screen.title = context.say("Book", "예약")
        screen.events = ["book", "ask", "fail", Control("Help!", sends: Event.help), "addSeat"]
    }

    func title(of event: Event, in context: NavigationContext) -> String {
        switch event {
        case .book: context.say("Book", "예약하기")
        case .help: context.say("Help", "도움말")
        default: event.title
        }
    }

    func fields(of event: Event, in context: NavigationContext) -> [Field] {
        guard case .book = event else { return event.fields }
        return [
            Field(
                "cabin", context.say("Cabin", "좌석 등급"),
                choices: [
                    .init("first", context.say("First", "일등석")), .init("economy", context.say("Economy", "일반석")),
                ]),
            Field("bags", minimum: 0, maximum: .integer(mostBags)),
            Field("meals", choices: [.init("rice", context.say("Rice", "밥"))]),
            Field("code", choices: [.init("A", "A")]),
        ]
    }

    mutating func handle(_ event: Event, _ navigator: inout Navigator) throws {
        switch event {
        case .book: navigator.push(Screen("booked", title: navigator.say("Booked", "예약됨")))
        case .ask: navigator.alert(Alert(navigator.say("Sure?", "확실합니까?"), buttons: [.ok, .cancel]))
        case .fail: throw Refused()
        case .help: break
        case .addSeat: mostBags += 1
        }
    }
}

/// Its titles and fields change by themselves, or do not exist.
private struct FickleCoordinator: Coordinator {
    enum Event: NavigationEvent {
        case go(there: Int)
        static let examples: [Event] = [.go(there: 1)]
    }

    var isRandom = false

    func start(_ navigator: inout Navigator) { navigator.push(Screen("fickle")) }
    func handle(_ event: Event, _ navigator: inout Navigator) {}
    func title(of event: Event, in context: NavigationContext) -> String {
        isRandom ? "\(UInt64.random(in: 0 ... .max))" : "Go"
    }
    func fields(of event: Event, in context: NavigationContext) -> [Field] {
        isRandom ? [] : [Field("where", "Where")]
    }
}

private struct OddFieldsCoordinator: Coordinator {
    enum Event: NavigationEvent, CaseIterable { case go }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("odd")) }
    func handle(_ event: Event, _ navigator: inout Navigator) {}
    func fields(of event: Event, in context: NavigationContext) -> [String] { ["go"] }
}

@Suite struct WordsTests {
    private static let app = App(
        "booking", root: { BookingCoordinator() },
        onError: { _, context in Alert(context.say("That failed", "실패했습니다")) },
        words: { phrase, language in
            switch (phrase, language) {
            case (.ok, "ko"): "확인"
            case (.event(.relaunch), "ko"): "다시 시작"
            case (.ok, "zh-hant"): "確定"
            default: nil
            }
        })

    private func tester(_ locale: String?) async throws -> CoordinatorTester {
        try await CoordinatorTester(WordsTests.app, client: ClientInfo(locale: locale))
    }

    private func titles(_ tester: CoordinatorTester) -> [String: String] {
        Dictionary(uniqueKeysWithValues: tester.state.controls.map { ($0.type, $0.title) })
    }

    @Test func `events have titles in the client's language, except those of controls with their own`() async throws {
        var tester = try await tester("ko-KR")

        #expect(titles(tester)["book"] == "예약하기")
        #expect(titles(tester)["ask"] == "Ask")
        #expect(titles(tester)["help"] == "Help!")
        #expect(titles(tester)["relaunch"] == "다시 시작")

        try await tester.send("describeClient", ["locale": "en"])

        #expect(titles(tester)["book"] == "Book")
        #expect(titles(tester)["relaunch"] == "Relaunch")
        #expect(tester.state.visible?.screen.title == "Book")
    }

    @Test func `a form has titles for its fields and for what can be chosen`() async throws {
        let tester = try await tester("ko")

        let schema = try #require(tester.state.controls.first { $0.type == "book" }?.schema)

        let cabin = schema["properties"]?["cabin"]
        #expect(cabin?["title"] == "좌석 등급")
        #expect(cabin?["enum"] == ["first", "economy"])
        #expect(
            cabin?["oneOf"] == [["const": "first", "title": "일등석"], ["const": "economy", "title": "일반석"]])
        #expect(schema["properties"]?["meals"]?["items"]?["oneOf"] == [["const": "rice", "title": "밥"]])
        #expect(schema["properties"]?["bags"]?["maximum"] == 2)
    }

    @Test func `the server checks the fields as they are now`() async throws {
        var tester = try await tester("en")
        let three: JSON = ["cabin": "first", "bags": 3, "meals": ["rice"]]

        let failure = await #expect(throws: CoordinatorTester.Failure.self) { try await tester.send("book", three) }
        guard case .invalidEvent(let event)? = failure?.reason else { throw Refused() }
        #expect(
            event.faults == [
                PayloadFault(path: ["payload", "bags"], reason: "must be at most 2", code: .maximum, bound: 2)
            ])
        try await tester.send("addSeat")
        try await tester.send("book", three)

        #expect(tester.visible == "booked")
    }

    static let strangers: [(payload: JSON, field: String)] = [
        (["cabin": "business", "bags": 0, "meals": []], "cabin"),
        (["cabin": "first", "bags": 0, "meals": [], "code": "B"], "code"),
        (["cabin": "first", "bags": 0, "meals": ["soup"]], "meals"),
    ]

    @Test(arguments: strangers) func `what is not among the choices is refused`(payload: JSON, field: String)
        async throws
    {
        var tester = try await tester("en")

        let failure = await #expect(throws: CoordinatorTester.Failure.self) { try await tester.send("book", payload) }

        guard case .invalidEvent(let event)? = failure?.reason else { throw Refused() }
        #expect(event.faults.map(\.code) == [.enum])
        #expect(event.faults.first?.path.dropFirst().first == field)
    }

    @Test func `standard buttons have the app's words, others keep theirs`() async throws {
        var korean = try await tester("ko_KR")
        try await korean.send("ask")
        #expect(korean.alert?.buttons.map(\.title) == ["확인", "Cancel"])

        var english = try await tester(nil)
        try await english.send("ask")
        #expect(english.alert?.buttons.map(\.title) == ["OK", "Cancel"])
    }

    @Test func `the alert for an error is in the language of the client that posted the event`() async throws {
        var tester = try await tester("ko")

        try await tester.send("fail")

        #expect(tester.alert?.title == "실패했습니다")
        #expect(tester.alert?.buttons.map(\.title) == ["확인"])
    }

    @Test(arguments: [
        ("zh-Hant-TW", "zh-Hant"), ("zh-TW", "zh"), ("ZH_hant", "zh-Hant"), ("de", "en"), ("", "en"), ("-", "en"),
        ("zh-x-hant", "zh"), (String(repeating: "zh-", count: 1000), "en"),
    ]) func `the language that fits best is found`(locale: String, language: String) async throws {
        let context = try await tester(locale).state.context

        #expect(context.language(among: "en", "zh", "zh-Hant") == language)
    }

    @Test func `a random walk finds words that differ each time, and fields that do not exist`() async throws {
        let random = App("random", root: { FickleCoordinator(isRandom: true) })
        let first = await #expect(throws: RandomWalk.Failure.self) { try await RandomWalk(random, seed: 1).run() }
        #expect(first?.reason == "“title” or “fields” of the event “go” differs each time it is called")

        let wrong = App("wrong", root: { FickleCoordinator() })
        let second = await #expect(throws: RandomWalk.Failure.self) { try await RandomWalk(wrong, seed: 1).run() }
        #expect(second?.reason == "“fields” names “go.where”, which the event does not have")
    }

    @Test func `fields that are no list of fields stop the start`() {
        #expect(
            App("odd", root: { OddFieldsCoordinator() }).problems == [
                "app “odd”: oddFields.fields(of:in:) must return [Field]"
            ])
    }

    @Test func `parameters of a screen are made of any value that is encoded as an object`() throws {
        struct Product: Encodable {
            let id: Int
            let price: Decimal
        }

        #expect(try JSONObject(encoding: Product(id: 42, price: 2.5)) == ["id": 42, "price": 2.5])
        let error = #expect(throws: JSONEncodingError.self) { try JSONObject(encoding: [1, 2]) }
        #expect(error?.reason == "is a Array<Int>, which is not encoded as an object")
    }
}
