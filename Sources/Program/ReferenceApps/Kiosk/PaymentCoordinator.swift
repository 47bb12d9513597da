internal import Coordinators

extension Kiosk {
    /// Waits for the provider of the terminal to say that all is paid.
    struct PaymentCoordinator: Coordinator {
        static let dependencies: [any Any.Type] = [(any CardTerminal).self]

        private let cents: Int
        private var reference = ""
        /// What to tell the passenger if nothing was paid.
        private(set) var refusal: String?

        enum Effect: NavigationEffect { case charge(cents: Int, reference: String) }

        enum Signal: NavigationSignal {
            case paid(reference: String)
            case refused(reference: String)
            case timedOut
            static let external: [Signal] = [.paid(reference: "t_1"), .refused(reference: "t_1")]
        }

        init(cents: Int) {
            self.cents = cents
        }

        mutating func start(_ navigator: inout Navigator) {
            reference = navigator.transitionID
            navigator.shared[CheckIn.self].payment = reference
            navigator.push(Screen("payment", back: .forbidden))
            navigator.perform(Effect.charge(cents: cents, reference: reference))
            navigator.schedule(Signal.timedOut, after: .seconds(180))
        }

        func render(_ screen: inout Screen, in context: NavigationContext) {
            screen.title = context.say("Please pay at the terminal", "Bitte zahlen Sie am Terminal")
            screen.params = ["cents": .integer(cents), "reference": .string(reference)]
        }

        func perform(_ effect: Effect, in context: EffectContext) async throws -> Signal? {
            switch effect {
            case .charge(let cents, let reference):
                try await context.resolve((any CardTerminal).self).request(cents, reference: reference)
            }
            return nil
        }

        mutating func receive(_ signal: Signal, _ navigator: inout Navigator) throws {
            switch signal {
            case .paid(reference):
                navigator.shared[CheckIn.self].payment = nil
                navigator.tell(KioskCoordinator.self) { kiosk, navigator in kiosk.board(&navigator) }
            case .refused(reference):
                refuse(navigator.say("Your card was refused", "Ihre Karte wurde abgelehnt"), &navigator)
            case .timedOut: refuse(navigator.say("Nothing was paid", "Es wurde nicht bezahlt"), &navigator)
            // Of a payment that was given up.
            case .paid, .refused: throw SignalNotAccepted()
            }
        }

        mutating func effectDidFail(_ effect: Effect, _ error: any Error, _ navigator: inout Navigator) {
            refuse(navigator.say("The terminal does not answer", "Das Terminal antwortet nicht"), &navigator)
        }

        func shouldLeave(_ screen: Screen, in context: NavigationContext) -> Alert? {
            Alert(
                context.say("Cancel the payment?", "Die Zahlung abbrechen?"),
                buttons: [
                    .leave("leave", title: context.say("Cancel it", "Abbrechen")),
                    AlertButton("stay", title: context.say("Pay", "Zahlen"), role: .cancel),
                ])
        }

        private mutating func refuse(_ reason: String, _ navigator: inout Navigator) {
            refusal = reason
            navigator.tell(KioskCoordinator.self) { kiosk, navigator in kiosk.paymentFailed(&navigator) }
            navigator.finish()
        }
    }
}
