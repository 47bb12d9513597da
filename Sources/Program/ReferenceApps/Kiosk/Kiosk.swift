public import Coordinators

/// An airport's check-in, which strangers use one after the other: work that takes time and may fail, seats that are held
/// until a time, a payment that another system reports. A passenger may go on with a phone, and a board may show what the
/// terminal does.
public enum Kiosk {
    public static func app(airline: any Airline, terminal: any CardTerminal) -> App {
        var dependencies = Dependencies()
        dependencies.register((any Airline).self) { _ in airline }
        dependencies.register((any CardTerminal).self) { _ in terminal }
        return App(
            "kiosk", root: KioskCoordinator.init,
            coordinators: [
                BookingCoordinator.self, SeatCoordinator.self, BagsCoordinator.self, UpsellCoordinator.self,
                PaymentCoordinator.self, BoardingCoordinator.self,
            ], shared: [CheckIn.self, Language.self], dependencies: dependencies,
            roles: [.terminal, .phone, .board],
            words: { phrase, language in language == "de" ? german(phrase) : nil })
    }

    private static func german(_ phrase: Phrase) -> String? {
        switch phrase {
        case .event(.back): "Zurück"
        case .cancel: "Abbrechen"
        case .fault(.minLength, let bound?), .fault(.maxLength, let bound?): "Es müssen \(bound) Zeichen sein."
        case .problem("event-not-accepted"): "Das geht gerade nicht."
        case .notForRole("phone"), .notForRole("board"): "Das geht nur am Automaten."
        default: nil
        }
    }
}

extension DeviceRole {
    /// The only one that lets others join: a board, with a code that whoever sets it up asks for.
    fileprivate static let terminal = DeviceRole("terminal", gives: ["board"])
    /// Of the passenger who checks in.
    fileprivate static let phone = DeviceRole("phone", mayEndOthers: false)
    /// Shows the check-in to those who wait.
    fileprivate static let board = DeviceRole("board", mayAct: false)
}

extension Kiosk {
    /// What the check-in under way has chosen so far.
    struct CheckIn: SharedState {
        var booking: Booking?
        /// The ids of those who check in.
        var chosen: [Int] = []
        /// Names what is held for them.
        var hold: String?
        var seats: [String] = []
        var heldUntil: Date?
        /// Identifies the payment that the terminal waits for.
        var payment: String?

        var passengers: [Passenger] { booking?.passengers.filter { chosen.contains($0.id) } ?? [] }

        mutating func endHold() {
            hold = nil
            seats = []
            heldUntil = nil
        }
    }

    /// Shows the first screen, and returns to it when a check-in is over, given up, or left alone.
    struct KioskCoordinator: Coordinator {
        static let dependencies: [any Any.Type] = [(any CardTerminal).self]
        static let links: [LinkPattern] = ["/checkin/{code}?lang={lang}"]
        static let everywhere: [Event] = [.callOperator, .startOver, .continueOnPhone]

        enum Event: NavigationEvent, CaseIterable {
            case begin, changeLanguage, callOperator, startOver, continueOnPhone

            var roles: [DeviceRole] {
                switch self {
                case .begin, .changeLanguage, .continueOnPhone: [.terminal]
                case .callOperator, .startOver: []
                }
            }
        }

        enum Effect: NavigationEffect { case cancelPayment(reference: String) }

        enum Signal: NavigationSignal { case idle }

        func start(_ navigator: inout Navigator) {
            navigator.push(Screen("attract"))
        }

        func render(_ screen: inout Screen, in context: NavigationContext) {
            screen.title = context.say("Check in here", "Hier einchecken")
            screen.events = [Control(role: .primary, sends: Event.begin), Control(sends: Event.changeLanguage)]
        }

        func title(of event: Event, in context: NavigationContext) -> String {
            switch event {
            case .begin: context.say("Begin", "Beginnen")
            case .changeLanguage: context.say("Deutsch", "English")
            case .callOperator: context.say("Help", "Hilfe")
            case .startOver: context.say("Start over", "Von vorn")
            case .continueOnPhone: context.say("Continue on your phone", "Auf dem Handy weiter")
            }
        }

        func isEnabled(_ event: Event, in context: NavigationContext) -> Bool {
            switch event {
            case .begin, .callOperator, .startOver: true
            // A client that names its language has it already.
            case .changeLanguage: context.client.language == nil
            case .continueOnPhone: context.shared[CheckIn.self].booking != nil
            }
        }

        func handle(_ event: Event, _ navigator: inout Navigator) {
            switch event {
            case .begin:
                // The phones of earlier passengers have nothing to do with this check-in.
                for device in navigator.devices where device.role == .phone { navigator.revokeDevice(device.number) }
                navigator.rotateToken()
                begin(BookingCoordinator(), &navigator)
            case .changeLanguage: navigator.shared[Language.self].toggle()
            case .callOperator:
                navigator.alert(Alert(navigator.say("Somebody is coming to help you", "Wir kommen und helfen Ihnen")))
            case .startOver: startOver(&navigator)
            // The terminal shows the code, which only its own answer has.
            case .continueOnPhone: navigator.requestPairingCode(label: "phone", role: .phone)
            }
        }

        func deviceDidPair(_ device: PairedDevice, _ navigator: inout Navigator) {
            guard device.role == .phone, navigator.shared[CheckIn.self].booking != nil else { return }
            navigator.alert(Alert(navigator.say("Please go on with your phone", "Bitte auf dem Handy weiter")))
        }

        func open(_ link: Link, _ navigator: inout Navigator) -> LinkDecision {
            // The next passenger's card is scanned: who pays is not interrupted.
            if navigator.visible?.name == "payment" { return .declined }
            startOver(&navigator)
            if let code = link.string("lang").flatMap(Language.Code.init) {
                navigator.shared[Language.self].code = code
            }
            begin(BookingCoordinator(lookingUp: link.string("code")), &navigator)
            return .taken
        }

        func receive(_ signal: Signal, _ navigator: inout Navigator) {
            switch signal {
            // Who pays looks at the terminal.
            case .idle where navigator.visible?.name == "payment": waitForIdleness(&navigator)
            case .idle:
                // Nobody is there to answer.
                navigator.dismissAlerts()
                startOver(&navigator)
            }
        }

        func childDidFinish(_ child: any Coordinator, _ navigator: inout Navigator) {
            startOver(&navigator)
        }

        func childWasDismissed(_ child: any Coordinator, _ navigator: inout Navigator) {
            startOver(&navigator)
        }

        /// All is paid: the seats are the passengers', and there is no way back.
        func board(_ navigator: inout Navigator) {
            navigator.tellChildren(SeatCoordinator.self) { seats, _ in seats.sell() }
            navigator.endChildren(asking: false)
            navigator.start(BoardingCoordinator(navigator.shared[CheckIn.self]))
            navigator.shared[CheckIn.self] = CheckIn()
        }

        /// Nothing was paid: the passenger has time for another try.
        func paymentFailed(_ navigator: inout Navigator) {
            cancelPayment(&navigator)
            waitForIdleness(&navigator)
        }

        /// Has the terminal wait no longer.
        private func cancelPayment(_ navigator: inout Navigator) {
            guard let reference = navigator.shared[CheckIn.self].payment else { return }
            navigator.shared[CheckIn.self].payment = nil
            navigator.perform(Effect.cancelPayment(reference: reference), id: "cancel \(reference)")
        }

        func perform(_ effect: Effect, in context: EffectContext) async throws -> Signal? {
            switch effect {
            case .cancelPayment(let reference): try await context.resolve((any CardTerminal).self).cancel(reference)
            }
            return nil
        }

        /// What could not be cancelled expires at the terminal.
        func effectDidFail(_ effect: Effect, _ error: any Error, _ navigator: inout Navigator) {}

        private func begin(_ booking: BookingCoordinator, _ navigator: inout Navigator) {
            navigator.start(booking)
            waitForIdleness(&navigator)
        }

        private func waitForIdleness(_ navigator: inout Navigator) {
            navigator.scheduleWhenIdle(Signal.idle, after: .seconds(60))
        }

        private func startOver(_ navigator: inout Navigator) {
            navigator.endChildren()
            navigator.cancel("idle")
            cancelPayment(&navigator)
            navigator.shared[CheckIn.self] = CheckIn()
        }
    }
}

extension Kiosk {
    /// The language of a terminal that does not name its own. A phone names the language of its user.
    struct Language: SharedState {
        enum Code: String, Codable { case en, de }

        var code = Code.en

        mutating func toggle() { code = code == .en ? .de : .en }
    }
}

extension SessionContext {
    /// Says the same in one language or the other: the client's, or, if that names none, the terminal's.
    func say(_ english: String, _ german: String) -> String {
        (client.language ?? shared[Kiosk.Language.self].code.rawValue) == "de" ? german : english
    }
}
