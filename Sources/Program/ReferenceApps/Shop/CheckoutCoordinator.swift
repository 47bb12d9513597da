internal import Coordinators

extension Shop {
    /// Address, payment, receipt. The order is the result.
    struct CheckoutCoordinator: Coordinator {
        let items: [Int]
        private(set) var order: Order?
        /// What is typed into the address form and not sent yet.
        private var draft = ""
        private var address: Address?

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

        enum Event: NavigationEvent {
            case type(String)
            case submitAddress(Address)
            /// Leaves the checkout for one of its items.
            case showItem(id: Int)
            case pay(card: Secret)
            case done
            static let examples: [Event] = [
                .type("Main St"), .submitAddress(Address(street: "1 Main Street", city: "Springfield")),
                .showItem(id: 1), .pay(card: "4242 4242 4242 4242"), .done,
            ]

            var fields: [Field] {
                switch self {
                case .type: [Field(title: "Street")]
                case .submitAddress:
                    [Field("street", minLength: 1), Field("city", minLength: 1), Field("note", "Note for the courier")]
                case .pay: [Field("card", "Card number")]
                case .showItem: [Field("id", "Item")]
                case .done: []
                }
            }
        }

        init(items: [Int]) {
            self.items = items
        }

        func start(_ navigator: inout Navigator) {
            navigator.push(
                Screen(
                    "address", title: "Address", params: ["items": .array(items.map { .integer($0) })],
                    events: ["type", "submitAddress", Control(role: .navigation, sends: "showItem")]))
        }

        mutating func handle(_ event: Event, _ navigator: inout Navigator) {
            switch event {
            case .type(let text): draft = text
            case .submitAddress(let address):
                draft = ""
                self.address = address
                navigator.push(
                    Screen("payment", title: "Payment", events: [Control("Pay now", role: .primary, sends: "pay")]))
            case .showItem(let id):
                navigator.tell(TabCoordinator.self) { tabs, navigator in tabs.showProduct(id, &navigator) }
            case .pay:
                guard let address else { return }
                order = Order(items: items, address: address)
                navigator.setStack([
                    Screen(
                        "receipt", title: "Receipt", events: [Control(role: .primary, sends: Event.done)],
                        back: .forbidden)
                ])
            case .done: navigator.finish()
            }
        }

        func shouldLeave(_ screen: Screen, in context: NavigationContext) -> Alert? {
            guard screen.name == "address", !draft.isEmpty else { return nil }
            return Alert(
                "Discard your input?", buttons: [.leave("discard", title: "Discard"), .cancel])
        }
    }
}
