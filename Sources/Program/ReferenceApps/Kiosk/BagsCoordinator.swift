internal import Coordinators

extension Kiosk {
    /// Counts the bags, and offers something once, before the payment.
    struct BagsCoordinator: Coordinator {
        private var bags = 0
        /// Whether the passengers board first; `nil` before it was offered.
        private var boardsFirst: Bool?

        enum Event: NavigationEvent, CaseIterable { case add, remove, pay }

        private var cents: Int { bags * 40_00 + (boardsFirst == true ? 15_00 : 0) }

        func start(_ navigator: inout Navigator) {
            navigator.push(Screen("bags"))
        }

        func render(_ screen: inout Screen, in context: NavigationContext) {
            screen.title = context.say("Your bags", "Ihr Gepäck")
            screen.params = ["bags": .integer(bags), "cents": .integer(cents)]
            screen.events = [
                Control(context.say("One more", "Eins mehr"), sends: Event.add),
                Control(context.say("One less", "Eins weniger"), sends: Event.remove),
                Control(context.say("Pay", "Bezahlen"), role: .primary, sends: Event.pay),
            ]
        }

        func isEnabled(_ event: Event, in context: NavigationContext) -> Bool {
            switch event {
            case .add: bags < 5
            case .remove: bags > 0
            case .pay: true
            }
        }

        mutating func handle(_ event: Event, _ navigator: inout Navigator) {
            switch event {
            case .add: bags += 1
            case .remove: bags -= 1
            case .pay where boardsFirst == nil: navigator.present(UpsellCoordinator(), detent: .medium)
            case .pay: pay(&navigator)
            }
        }

        mutating func childDidFinish(_ child: any Coordinator, _ navigator: inout Navigator) {
            switch child {
            case let upsell as UpsellCoordinator:
                boardsFirst = upsell.isAccepted
                pay(&navigator)
            case let payment as PaymentCoordinator:
                if let refusal = payment.refusal { navigator.alert(Alert(refusal)) }
            default: break
            }
        }

        mutating func childWasDismissed(_ child: any Coordinator, _ navigator: inout Navigator) {
            if child is UpsellCoordinator { boardsFirst = false }
        }

        private func pay(_ navigator: inout Navigator) {
            guard cents > 0 else {
                return navigator.tell(KioskCoordinator.self) { kiosk, navigator in kiosk.board(&navigator) }
            }
            navigator.start(PaymentCoordinator(cents: cents))
        }
    }

    /// A sheet with one question.
    struct UpsellCoordinator: Coordinator {
        private(set) var isAccepted = false

        enum Event: NavigationEvent, CaseIterable { case accept, decline }

        func start(_ navigator: inout Navigator) {
            navigator.push(Screen("upsell"))
        }

        func render(_ screen: inout Screen, in context: NavigationContext) {
            screen.title = context.say("Board first for €15?", "Für 15 € zuerst einsteigen?")
            screen.events = [
                Control(context.say("Yes", "Ja"), role: .primary, sends: Event.accept),
                Control(context.say("No, thank you", "Nein, danke"), role: .secondary, sends: Event.decline),
            ]
        }

        mutating func handle(_ event: Event, _ navigator: inout Navigator) {
            isAccepted = event == .accept
            navigator.finish()
        }
    }
}
