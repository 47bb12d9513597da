internal import Coordinators

extension Shop {
    /// Searches while the user types. Of several searches only the last one goes on.
    struct SearchCoordinator: Coordinator {
        static let dependencies: [any Any.Type] = [(any Catalog).self]
        static let screens = [ScreenType("search", Query.self)]

        struct Query: ScreenParameters {
            let text: String
            static let example = Query(text: "product 4")
        }

        private var text = ""
        private var products: [Found] = []

        struct Found: Codable, Sendable {
            let id: Int
            let title: String
            let price: Int
        }

        enum Event: NavigationEvent {
            case search(String)
            case show(id: Int)
            static let examples: [Event] = [.search("product 4"), .show(id: 4)]
            var fields: [Field] { if case .search = self { [Field(title: "Product", maxLength: 100)] } else { [] } }
        }

        enum Effect: NavigationEffect { case find(String) }

        enum Signal: NavigationSignal { case found([Found]) }

        func start(_ navigator: inout Navigator) {
            navigator.push(Screen("search", title: "Search"))
        }

        func render(_ screen: inout Screen, in context: NavigationContext) {
            screen.title = context.client.language == "de" ? "Suche" : "Search"
            screen.params["text"] = .string(text)
            screen.events = ["search"]
            screen.rows = products.map {
                Row($0.title, detail: Good.text(ofPrice: $0.price), sends: Event.show(id: $0.id))
            }
        }

        mutating func handle(_ event: Event, _ navigator: inout Navigator) {
            switch event {
            case .search(let text):
                self.text = text
                // The same id: the search under way is cancelled.
                if !text.isEmpty { return navigator.perform(Effect.find(text), id: "find") }
                navigator.cancel("find")
                products = []
            case .show(let id):
                navigator.tell(TabCoordinator.self) { tabs, navigator in tabs.showProduct(id, &navigator) }
            }
        }

        func perform(_ effect: Effect, in context: EffectContext) async throws -> Signal? {
            switch effect {
            case .find(let text):
                let found = try await context.resolve((any Catalog).self).products(matching: text)
                return .found(found.map { Found(id: $0.id, title: $0.title, price: $0.price) })
            }
        }

        mutating func receive(_ signal: Signal, _ navigator: inout Navigator) {
            switch signal {
            case .found(let products): self.products = products
            }
        }

        mutating func effectDidFail(_ effect: Effect, _ error: any Error, _ navigator: inout Navigator) {
            products = []
        }
    }
}
