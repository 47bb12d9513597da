internal import Coordinators

extension Shop {
    /// Address, payment, receipt. The order is the result, which is delivered before the receipt is shown.
    struct CheckoutCoordinator: Coordinator {
        static let dependencies: [any Any.Type] = [(any Payments).self, (any Catalog).self]
        static let screens = [
            ScreenType("address"), ScreenType("payment"), ScreenType("paying"),
            ScreenType("terms", Terms.self), ScreenType("receipt", content: Bill.self),
        ]

        let items: [Int]
        private(set) var order: Order?
        /// What is typed into the address form and not sent yet.
        private var draft = ""
        private var address: Address?
        /// Where no courier goes.
        private static let unreachable: Set<String> = ["Atlantis"]

        struct Order: Codable, Equatable {
            let items: [Int]
            let address: Address
        }

        struct Address: Codable, Equatable {
            var street: String
            var city: String
            /// About the floor, the bell, the neighbour.
            var note: String?
        }

        struct Terms: ScreenParameters {
            let text: String
            static let example = Terms(text: "What you do not like, you may send back within 14 days.")
        }

        enum Event: NavigationEvent {
            case type(String)
            case submitAddress(Address)
            /// Leaves the checkout for one of its items.
            case showItem(id: Int)
            case pay(card: Secret)
            case readTerms
            case done
            static let examples: [Event] = [
                .type("Main St"), .submitAddress(Address(street: "1 Main Street", city: "Springfield")),
                .showItem(id: 1), .pay(card: "4242 4242 4242 4242"), .readTerms, .done,
            ]

            /// An agent watches, and shows items.
            var roles: [DeviceRole] {
                switch self {
                case .type, .submitAddress, .pay: [.customer]
                case .showItem, .readTerms, .done: []
                }
            }

            var fields: [Field] {
                switch self {
                case .type: [Field(title: "Street")]
                case .submitAddress:
                    [Field("street", minLength: 1), Field("city", minLength: 1), Field("note", "Note for the courier")]
                case .pay: [Field("card", "Card number", minLength: 1)]
                case .showItem, .readTerms, .done: []
                }
            }
        }

        enum Effect: NavigationEffect { case charge(token: String) }

        enum Signal: NavigationSignal { case charged, declined }

        init(items: [Int]) {
            self.items = items
        }

        func start(_ navigator: inout Navigator) async throws {
            let catalog = try navigator.resolve((any Catalog).self)
            var rows: [Row] = []
            for id in items {
                let good = try await catalog.product(id)
                rows.append(
                    Row(good?.title ?? "Product \(id)", detail: good?.priceText, sends: Event.showItem(id: id)))
            }
            let events = [Control("Keep as a draft", sends: "type"), Control(sends: "submitAddress")]
            navigator.push(Screen("address", title: "Address", events: events, rows: rows))
        }

        /// A draft is still there, and who goes back to the address finds it as it was sent.
        func fields(of event: Event, in context: NavigationContext) -> [Field] {
            switch event {
            case .type where !draft.isEmpty: [Field(title: "Street", value: .string(draft))]
            case .submitAddress:
                [
                    Field("street", value: address.map { .string($0.street) }, minLength: 1),
                    Field("city", value: address.map { .string($0.city) }, minLength: 1),
                    Field("note", "Note for the courier", value: (address?.note).map(JSON.string)),
                ]
            default: event.fields
            }
        }

        func content(of screen: Screen, in context: ContentContext) async throws -> JSONObject {
            try await Good.bill(for: items, in: context)
        }

        mutating func handle(_ event: Event, _ navigator: inout Navigator) async throws {
            switch event {
            case .type(let text): draft = text
            case .submitAddress(let address):
                if CheckoutCoordinator.unreachable.contains(address.city) {
                    throw FieldError("city", "We do not deliver to \(address.city).")
                }
                draft = ""
                self.address = address
                let events = [
                    Control("Pay now", role: .primary, sends: "pay"),
                    Control(role: .navigation, sends: Event.readTerms),
                ]
                navigator.push(Screen("payment", title: "Payment", events: events))
            case .showItem(let id):
                navigator.tell(TabCoordinator.self) { tabs, navigator in tabs.showProduct(id, &navigator) }
            case .pay(let card):
                // An effect is saved with the session, so it must not hold the card's number.
                let token = try await navigator.resolve((any Payments).self).token(for: card)
                navigator.perform(Effect.charge(token: token))
                navigator.push(Screen("paying", title: "One moment", events: [], back: .forbidden))
            case .readTerms: navigator.present(Screen("terms", Terms.example, title: "Terms of sale", events: []))
            case .done: navigator.finish()
            }
        }

        func perform(_ effect: Effect, in context: EffectContext) async throws -> Signal? {
            switch effect {
            case .charge(let token):
                let payments = try context.resolve((any Payments).self)
                return try await payments.charge(token, for: items, key: context.effectID) ? .charged : .declined
            }
        }

        mutating func receive(_ signal: Signal, _ navigator: inout Navigator) {
            switch signal {
            case .charged:
                order = address.map { Order(items: items, address: $0) }
                if let order { navigator.deliver(order) }
                navigator.setStack([
                    Screen(
                        "receipt", title: "Receipt", events: [Control(role: .primary, sends: Event.done)],
                        back: .forbidden, hasContent: true)
                ])
            case .declined: payAgain("Your card was declined", &navigator)
            }
        }

        mutating func effectDidFail(_ effect: Effect, _ error: any Error, _ navigator: inout Navigator) {
            payAgain("We could not reach your bank", &navigator)
        }

        private func payAgain(_ title: String, _ navigator: inout Navigator) {
            navigator.pop()
            navigator.alert(Alert(title, message: "Nothing was charged."))
        }

        func shouldLeave(_ screen: Screen, in context: NavigationContext) -> Alert? {
            switch screen.name {
            case "address" where !draft.isEmpty:
                Alert("Discard your input?", buttons: [.leave("discard", title: "Discard"), .cancel])
            case "paying":
                Alert(
                    "Leave the payment?", message: "We will tell you by e-mail whether it succeeded.",
                    buttons: [.leave("leave", title: "Leave"), AlertButton("stay", title: "Wait", role: .cancel)])
            default: nil
            }
        }
    }
}
