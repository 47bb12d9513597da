internal import Coordinators

extension Kiosk {
    /// Prints the boarding passes, and makes room for the next passengers.
    struct BoardingCoordinator: Coordinator {
        static let dependencies: [any Any.Type] = [(any Airline).self]

        private let checkIn: CheckIn
        private var isBoarded = false

        enum Event: NavigationEvent, CaseIterable { case done }

        enum Effect: NavigationEffect { case board }

        enum Signal: NavigationSignal { case boarded, over }

        init(_ checkIn: CheckIn) {
            self.checkIn = checkIn
        }

        func start(_ navigator: inout Navigator) {
            navigator.push(Screen("boardingPasses", back: .forbidden))
            navigator.perform(Effect.board)
        }

        func render(_ screen: inout Screen, in context: NavigationContext) {
            screen.title =
                isBoarded ? context.say("Have a good flight", "Guten Flug") : context.say("One moment", "Einen Moment")
            screen.params["passes"] = isBoarded ? .array(passes) : nil
            screen.events = [Control(context.say("Done", "Fertig"), role: .primary, sends: Event.done)]
        }

        func isEnabled(_ event: Event, in context: NavigationContext) -> Bool { isBoarded }

        func handle(_ event: Event, _ navigator: inout Navigator) {
            navigator.finish()
        }

        func perform(_ effect: Effect, in context: EffectContext) async throws -> Signal? {
            guard let hold = checkIn.hold else { return nil }
            try await context.resolve((any Airline).self).board(hold)
            return .boarded
        }

        mutating func receive(_ signal: Signal, _ navigator: inout Navigator) {
            switch signal {
            case .boarded:
                isBoarded = true
                navigator.schedule(Signal.over, after: .seconds(30))
            case .over: navigator.finish()
            }
        }

        func effectDidFail(_ effect: Effect, _ error: any Error, _ navigator: inout Navigator) {
            navigator.alert(
                Alert(
                    navigator.say(
                        "Please go to the counter, all is paid", "Bitte gehen Sie zum Schalter, alles ist bezahlt")))
            navigator.finish()
        }

        private var passes: [JSON] {
            zip(checkIn.passengers, checkIn.seats).map { passenger, seat in
                ["name": .string(passenger.name), "seat": .string(seat)]
            }
        }
    }
}
