internal import Coordinators

extension Kiosk {
    /// Holds a seat for each passenger, for two minutes from the last choice.
    struct SeatCoordinator: Coordinator {
        static let dependencies: [any Any.Type] = [(any Airline).self]
        /// What the airline knows the hold by.
        private var hold = ""
        /// Whether the seats are the passengers'.
        private var areSold = false

        enum Event: NavigationEvent {
            case choose(seat: String)
            case next
            static let examples: [Event] = [.choose(seat: "12A"), .next]
        }

        enum Effect: NavigationEffect { case hold(seats: [String]) }

        enum Signal: NavigationSignal {
            case held(seats: [String], until: Date)
            case taken
            case expired
        }

        mutating func start(_ navigator: inout Navigator) {
            navigator.push(Screen("seats", hasContent: true))
            hold = navigator.transitionID
            navigator.shared[CheckIn.self].hold = hold
        }

        /// Gives back the seats, unless they are sold.
        func willBeRemoved(_ reason: RemovalReason, in context: EffectContext) async throws {
            if !areSold { try await context.resolve((any Airline).self).release(hold) }
        }

        /// All is paid.
        mutating func sell() { areSold = true }

        func render(_ screen: inout Screen, in context: NavigationContext) {
            let checkIn = context.shared[CheckIn.self]
            screen.title = context.say("Your seats", "Ihre Plätze")
            screen.params["seats"] = .array(checkIn.seats.map { .string($0) })
            screen.params["heldUntil"] = checkIn.heldUntil.map { JSON($0) }
            screen.events = [
                Control(context.say("Choose", "Wählen"), sends: "choose"),
                Control(context.say("Next", "Weiter"), role: .primary, sends: Event.next),
            ]
        }

        /// The free seats.
        func content(of screen: Screen, in context: ContentContext) async throws -> JSONObject {
            guard let booking = context.shared[CheckIn.self].booking else { return [:] }
            let free = try await context.resolve((any Airline).self).freeSeats(on: booking.flight)
            return ["free": .array(free.map { .string($0) })]
        }

        func isEnabled(_ event: Event, in context: NavigationContext) -> Bool {
            let checkIn = context.shared[CheckIn.self]
            if case .next = event { return checkIn.seats.count == checkIn.chosen.count }
            return true
        }

        func handle(_ event: Event, _ navigator: inout Navigator) {
            switch event {
            case .choose(let seat):
                let checkIn = navigator.shared[CheckIn.self]
                // One more than there are passengers replaces the one that was chosen first.
                let seats = (checkIn.seats.filter { $0 != seat } + [seat]).suffix(checkIn.chosen.count)
                navigator.perform(Effect.hold(seats: Array(seats)))
            case .next: navigator.start(BagsCoordinator())
            }
        }

        func perform(_ effect: Effect, in context: EffectContext) async throws -> Signal? {
            let checkIn = context.shared[CheckIn.self]
            guard let booking = checkIn.booking, let hold = checkIn.hold else { return nil }
            switch effect {
            case .hold(let seats):
                let until = try await context.resolve((any Airline).self).hold(seats, on: booking.flight, as: hold)
                return until.map { .held(seats: seats, until: $0) } ?? .taken
            }
        }

        func receive(_ signal: Signal, _ navigator: inout Navigator) {
            // Whatever it says: other seats are free now.
            navigator.invalidateContent(of: "seats")
            switch signal {
            case .held(let seats, let until):
                navigator.shared[CheckIn.self].seats = seats
                navigator.shared[CheckIn.self].heldUntil = until
                navigator.schedule(Signal.expired, at: until)
            case .taken: navigator.alert(Alert(navigator.say("This seat is taken", "Dieser Platz ist vergeben")))
            case .expired where navigator.visible?.name == "payment":
                // Who pays keeps the seats.
                navigator.perform(Effect.hold(seats: navigator.shared[CheckIn.self].seats))
            case .expired:
                navigator.shared[CheckIn.self].seats = []
                navigator.shared[CheckIn.self].heldUntil = nil
                navigator.endChildren()
                navigator.alert(Alert(navigator.say("Your seat was released", "Ihr Platz wurde freigegeben")))
            }
        }

        func effectDidFail(_ effect: Effect, _ error: any Error, _ navigator: inout Navigator) {
            navigator.alert(
                Alert(
                    navigator.say("We could not reach the airline", "Wir konnten die Fluggesellschaft nicht erreichen"))
            )
        }

        func shouldLeave(_ screen: Screen, in context: NavigationContext) -> Alert? {
            guard !context.shared[CheckIn.self].seats.isEmpty else { return nil }
            return Alert(
                context.say("Give up your seat?", "Den Platz aufgeben?"),
                buttons: [
                    .leave("leave", title: context.say("Give it up", "Aufgeben")),
                    AlertButton("keep", title: context.say("Keep it", "Behalten"), role: .cancel),
                ])
        }
    }
}
