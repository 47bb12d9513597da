internal import Coordinators

extension Kiosk {
    /// Finds the booking, and asks who of its passengers checks in.
    struct BookingCoordinator: Coordinator {
        static let dependencies: [any Any.Type] = [(any Airline).self]

        /// What is being looked up.
        private var code: String?

        enum Event: NavigationEvent {
            case lookUp(code: String)
            case cancel
            case toggle(id: Int)
            case next
            static let examples: [Event] = [.lookUp(code: "ABC123"), .cancel, .toggle(id: 1), .next]
        }

        enum Effect: NavigationEffect { case lookUp(code: String) }

        enum Signal: NavigationSignal { case found(Booking), unknown }

        init(lookingUp code: String? = nil) {
            self.code = code
        }

        func start(_ navigator: inout Navigator) {
            navigator.push(Screen("booking"))
            if let code { navigator.perform(Effect.lookUp(code: code)) }
        }

        func render(_ screen: inout Screen, in context: NavigationContext) {
            switch screen.name {
            case "booking":
                screen.title = context.say("Your booking", "Ihre Buchung")
                screen.events = [
                    Control(context.say("Look up", "Suchen"), role: .primary, sends: "lookUp"),
                    Control(context.say("Cancel", "Abbrechen"), role: .secondary, sends: Event.cancel),
                ]
            default:
                let checkIn = context.shared[CheckIn.self]
                screen.title = context.say("Who checks in?", "Wer checkt ein?")
                screen.rows = (checkIn.booking?.passengers ?? []).map { passenger in
                    let isChosen = checkIn.chosen.contains(passenger.id)
                    return Row(passenger.name, isSelected: isChosen, sends: Event.toggle(id: passenger.id))
                }
                screen.events = [Control(context.say("Next", "Weiter"), role: .primary, sends: Event.next)]
            }
        }

        func fields(of event: Event, in context: NavigationContext) -> [Field] {
            guard case .lookUp = event else { return [] }
            return [Field("code", context.say("Booking code", "Buchungsnummer"), minLength: 6, maxLength: 6)]
        }

        func isEnabled(_ event: Event, in context: NavigationContext) -> Bool {
            switch event {
            case .lookUp, .toggle: true
            case .cancel: code != nil
            case .next: !context.shared[CheckIn.self].chosen.isEmpty
            }
        }

        mutating func handle(_ event: Event, _ navigator: inout Navigator) {
            switch event {
            case .lookUp(let code):
                self.code = code
                navigator.perform(Effect.lookUp(code: code))
            case .cancel:
                code = nil
                navigator.cancel("lookUp")
            case .toggle(let id):
                let chosen = navigator.shared[CheckIn.self].chosen
                navigator.shared[CheckIn.self].chosen =
                    chosen.contains(id) ? chosen.filter { $0 != id } : chosen + [id]
            case .next: navigator.start(SeatCoordinator())
            }
        }

        func perform(_ effect: Effect, in context: EffectContext) async throws -> Signal? {
            switch effect {
            case .lookUp(let code):
                try await context.resolve((any Airline).self).booking(code).map(Signal.found) ?? .unknown
            }
        }

        mutating func receive(_ signal: Signal, _ navigator: inout Navigator) {
            code = nil
            switch signal {
            case .found(let booking):
                navigator.shared[CheckIn.self] = CheckIn(booking: booking, chosen: booking.passengers.map(\.id))
                navigator.push(Screen("passengers"))
            case .unknown:
                navigator.alert(Alert(navigator.say("We do not know this booking", "Wir kennen diese Buchung nicht")))
            }
        }

        mutating func effectDidFail(_ effect: Effect, _ error: any Error, _ navigator: inout Navigator) {
            code = nil
            navigator.alert(
                Alert(
                    navigator.say("We could not reach the airline", "Wir konnten die Fluggesellschaft nicht erreichen"))
            )
        }

        func childWasDismissed(_ child: any Coordinator, _ navigator: inout Navigator) {
            navigator.shared[CheckIn.self].endHold()
        }
    }
}
