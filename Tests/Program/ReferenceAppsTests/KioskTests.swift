import Coordinators
import CoordinatorsTesting
import Foundation
import JSONCoding
import ReferenceApps
import Synchronization
import Testing

@Suite struct KioskTests {
    @Test func `a check-in goes from the booking to the boarding passes, and makes room for the next one`() async throws
    {
        var kiosk = try await Terminal.seated("12A", "12B")
        try await kiosk.app.send("next")
        try await kiosk.app.send("add")
        try await kiosk.app.send("pay")
        #expect(kiosk.app.stack == "attract, booking, passengers, seats, bags + sheet[upsell]")
        try await kiosk.app.send("accept")
        #expect(kiosk.app.stack == "attract, booking, passengers, seats, bags, payment")
        #expect(kiosk.app.state.backPlan == nil)
        let reference = try #require(kiosk.params["reference"])
        try await kiosk.app.performEffects()
        #expect(await kiosk.airport.requests == [reference.string: 5500])

        try await kiosk.app.send(signal: "paid", ["reference": reference])
        #expect(kiosk.app.stack == "attract, boardingPasses")
        try await kiosk.app.performEffects()

        #expect(
            kiosk.params["passes"] == [
                ["name": "Ann Smith", "seat": "12A"], ["name": "Bob Smith", "seat": "12B"],
            ])
        #expect(kiosk.app.state.backPlan == nil)
        try await kiosk.advance(by: 30)
        #expect(kiosk.app.stack == "attract" && kiosk.app.coordinators == ["kiosk"])
        #expect(kiosk.app.pending.map(\.id) == [])
        try await kiosk.advance(by: 3600)
        #expect(await !kiosk.airport.freeSeats(on: "LH 400").contains("12A"), "it was given for good")
    }

    @Test func `a check-in is continued on a phone, and both devices show the same`() async throws {
        var kiosk = try await Terminal()
        #expect(!kiosk.app.events.contains("continueOnPhone"))
        try await kiosk.begin("ABC123")

        try await kiosk.app.send("continueOnPhone")
        #expect(kiosk.app.pairingRequest?.label == "phone")
        try await kiosk.app.pair(label: "phone")

        #expect(kiosk.app.alert?.title == "Please go on with your phone")
        try await kiosk.app.answer("ok")
        #expect(kiosk.app.stack == "attract, booking, passengers, seats")
        try await kiosk.app.send("startOver")
        try await kiosk.app.pair(label: "phone")
        #expect(kiosk.app.alert == nil, "nothing is left to be continued")
    }

    @Test func `a booking is looked up while the screen is shown, and the search can be cancelled`() async throws {
        var kiosk = try await Terminal()
        try await kiosk.app.send("begin")
        #expect(!kiosk.app.events.contains("cancel"))

        try await kiosk.app.send("lookUp", ["code": "abc123"])

        #expect(kiosk.app.visible == "booking" && kiosk.app.pending.map(\.id).contains("lookUp"))
        try await kiosk.app.send("cancel")
        #expect(!kiosk.app.pending.map(\.id).contains("lookUp") && !kiosk.app.events.contains("cancel"))
        try await kiosk.app.send("lookUp", ["code": "abc123"])
        try await kiosk.app.performEffects()
        #expect(kiosk.app.stack == "attract, booking, passengers")
        #expect(kiosk.app.rows.map(\.isSelected) == [true, true])
        for title in kiosk.app.rows.map(\.title) { try await kiosk.app.tap(title) }
        #expect(kiosk.app.rows.map(\.isSelected) == [false, false])
        #expect(!kiosk.app.events.contains("next"), "nobody checks in")
        await #expect(throws: CoordinatorTester.Failure(.payloadNotOffered), "nobody has this id") {
            try await kiosk.app.send("toggle", ["id": 3])
        }
    }

    @Test(arguments: [(5, "passengers"), (6, "booking")])
    func `an airline that does not answer is asked again five times`(failures: Int, screen: String) async throws {
        var kiosk = try await Terminal()
        await kiosk.airport.fail(failures)
        try await kiosk.app.send("begin")
        try await kiosk.app.send("lookUp", ["code": "ABC123"])

        try await kiosk.app.performEffects()

        #expect(kiosk.app.visible == screen)
        #expect(kiosk.app.alert?.title == (screen == "booking" ? "We could not reach the airline" : nil))
        #expect(!kiosk.app.events.contains("cancel"))
    }

    @Test func `seats are held for two minutes from the last choice, then they are free again`() async throws {
        var kiosk = try await Terminal.seated("12A")
        let until = kiosk.app.now + 120
        #expect(kiosk.params["heldUntil"]?.date == until)
        #expect(!kiosk.app.events.contains("next"), "there are two passengers")
        try await kiosk.advance(by: 50)
        try await kiosk.choose("12B")
        #expect(kiosk.params["heldUntil"]?.date == until + 50)
        #expect(kiosk.params["seats"] == ["12A", "12B"])
        try await kiosk.app.send("next")
        for _ in 0..<2 {
            try await kiosk.advance(by: 55)
            try await kiosk.app.send("add")
        }

        try await kiosk.advance(by: 15)

        #expect(kiosk.app.visible == "seats" && kiosk.app.alert?.title == "Your seat was released")
        #expect(kiosk.params["seats"] == [])
        try await kiosk.advance(by: 10)
        #expect(await kiosk.airport.freeSeats(on: "LH 400").contains("12A"))
    }

    @Test func `seats are held for one session only, and one more replaces the first`() async throws {
        var ann = try await Terminal.seated("12A", "12B")
        var cem = try await Terminal(at: ann.airport, id: "s_another000001")
        try await cem.begin("XYZ789")

        try await cem.choose("12B")
        #expect(cem.app.alert?.title == "This seat is taken")
        #expect(try await cem.app.content()["free"]?.array?.contains("12B") == false)
        try await cem.app.answer("ok")
        try await ann.choose("12C")
        #expect(ann.params["seats"] == ["12B", "12C"])

        try await cem.choose("12A")
        #expect(cem.params["seats"] == ["12A"])
    }

    @Test func `who goes back from held seats is asked, and gives them back`() async throws {
        var kiosk = try await Terminal.seated("12A")
        try await kiosk.app.back()
        #expect(kiosk.app.alert?.title == "Give up your seat?")

        try await kiosk.app.answer("leave")

        #expect(kiosk.app.visible == "passengers")
        #expect(await !kiosk.airport.freeSeats(on: "LH 400").contains("12A"))
        try await kiosk.app.performEffects()
        #expect(await kiosk.airport.freeSeats(on: "LH 400").contains("12A"))
    }

    @Test(arguments: [RemovalReason.ended, .expired, .relaunched])
    func `held seats are given back when the session is over`(reason: RemovalReason) async throws {
        var kiosk = try await Terminal.seated("12A", "12B")

        if reason == .relaunched {
            try await kiosk.app.relaunch()
            try await kiosk.app.answer("leave")
            try await kiosk.app.performEffects()
        } else {
            try await kiosk.app.end(reason)
        }

        #expect(await kiosk.airport.freeSeats(on: "LH 400").contains("12A"))
    }

    @Test func `a kiosk that is left alone starts over, without asking`() async throws {
        var kiosk = try await Terminal.seated("12A")
        try await kiosk.advance(by: 59)
        try await kiosk.app.send("callOperator")
        try await kiosk.advance(by: 59)
        #expect(kiosk.app.visible == "seats" && kiosk.app.alert != nil)

        try await kiosk.advance(by: 1)

        #expect(kiosk.app.stack == "attract" && kiosk.app.alert == nil)
        try await kiosk.app.performEffects()
        #expect(await kiosk.airport.freeSeats(on: "LH 400").contains("12A"))
        #expect(kiosk.app.pending.map(\.id) == [])
    }

    @Test func `while the terminal waits, nobody is sent away, and the seats stay held`() async throws {
        var kiosk = try await Terminal.paying()

        try await kiosk.advance(by: 125)

        #expect(kiosk.app.visible == "payment")
        try await kiosk.app.performEffects()
        #expect(await !kiosk.airport.freeSeats(on: "LH 400").contains("12A"))
        try await kiosk.advance(by: 60)
        #expect(kiosk.app.visible == "bags" && kiosk.app.alert?.title == "Nothing was paid")
        try await kiosk.app.performEffects()
        #expect(await kiosk.airport.requests.isEmpty, "the terminal does not wait for a card any longer")
    }

    @Test func `a refused card leads back to the bags, and a signal of another payment to nothing`() async throws {
        var kiosk = try await Terminal.paying()
        let reference = try #require(kiosk.params["reference"])
        await #expect(throws: CoordinatorTester.Failure(.signalRefused(by: ["payment"]))) {
            try await kiosk.app.send(signal: "paid", ["reference": "t_forged"])
        }
        #expect(kiosk.app.visible == "payment")

        try await kiosk.app.send(signal: "refused", ["reference": reference])

        #expect(kiosk.app.visible == "bags" && kiosk.app.alert?.title == "Your card was refused")
        await #expect(throws: CoordinatorTester.Failure(.signalNotAccepted)) {
            try await kiosk.app.send(signal: "paid", ["reference": reference])
        }
    }

    @Test func `starting over asks first, and has the terminal wait no longer`() async throws {
        var kiosk = try await Terminal.paying()
        try await kiosk.app.send("startOver")
        #expect(kiosk.app.alert?.title == "Cancel the payment?")

        try await kiosk.app.answer("leave")
        try await kiosk.app.performEffects()

        #expect(kiosk.app.stack == "attract")
        #expect(await kiosk.airport.requests.isEmpty)
        #expect(await kiosk.airport.freeSeats(on: "LH 400").contains("12A"))
    }

    @Test func `a link looks the booking up, in the language that it names`() async throws {
        var kiosk = try await Terminal()
        try await kiosk.app.open("/checkin/ABC123?lang=de")
        #expect(kiosk.app.stack == "attract, booking")

        try await kiosk.app.performEffects()

        #expect(kiosk.app.stack == "attract, booking, passengers")
        #expect(kiosk.app.state.visible?.screen.title == "Wer checkt ein?")
    }

    @Test func `who pays is not interrupted by a link`() async throws {
        var kiosk = try await Terminal.paying()

        await #expect(throws: CoordinatorTester.Failure(.linkNotTaken)) { try await kiosk.app.open("/checkin/ABC123") }

        #expect(kiosk.app.visible == "payment")
    }

    @Test func `a terminal has a button for the language, and a phone has its own`() async throws {
        var kiosk = try await Terminal()
        try await kiosk.app.send("changeLanguage")
        try await kiosk.app.send("begin")
        #expect(kiosk.app.transition.rotatesToken, "phones of earlier passengers are shut out")
        #expect(kiosk.app.state.visible?.screen.title == "Ihre Buchung")

        try await kiosk.app.send("describeClient", ["locale": "en-GB", "platform": "phone"])

        #expect(kiosk.app.state.visible?.screen.title == "Your booking")
        try await kiosk.app.back()
        #expect(!kiosk.app.events.contains("changeLanguage"))
    }
}

/// A kiosk at an airport without latency, whose time is the tester's.
private struct Terminal {
    var app: CoordinatorTester
    let airport: AirportInMemory
    private let clock = Clock()

    final class Clock: Sendable {
        private let time = Mutex(CoordinatorTester.someTime)
        var now: Date {
            get { time.withLock { $0 } }
            set { time.withLock { $0 = newValue } }
        }
    }

    /// - Parameter airport: of another kiosk, whose time this one cannot move.
    init(at airport: AirportInMemory? = nil, id: String = CoordinatorTester.someID) async throws {
        let clock = clock
        let airport = airport ?? AirportInMemory(latency: .zero, now: { clock.now })
        self.airport = airport
        app = try await CoordinatorTester(Kiosk.app(airline: airport, terminal: airport), id: id)
    }

    static func seated(_ seats: String...) async throws -> Terminal {
        var kiosk = try await Terminal()
        try await kiosk.begin("ABC123")
        for seat in seats { try await kiosk.choose(seat) }
        return kiosk
    }

    static func paying() async throws -> Terminal {
        var kiosk = try await Terminal.seated("12A", "12B")
        for event in ["next", "add", "pay", "decline"] { try await kiosk.app.send(event) }
        try await kiosk.app.performEffects()
        return kiosk
    }

    var params: JSONObject { app.state.visible?.screen.params ?? [:] }

    mutating func begin(_ code: String) async throws {
        try await app.send("begin")
        try await app.send("lookUp", ["code": .string(code)])
        try await app.performEffects()
        try await app.send("next")
    }

    mutating func choose(_ seat: String) async throws {
        try await app.send("choose", ["seat": .string(seat)])
        try await app.performEffects()
    }

    mutating func advance(by seconds: Double) async throws {
        clock.now += seconds
        try await app.advance(by: .seconds(seconds))
    }
}
