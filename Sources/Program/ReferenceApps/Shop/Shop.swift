public import Coordinators

/// Everything at once: tabs, links, a search as the user types, a sign-in in between, a full-screen checkout with a
/// payment and a result, a sign-out from anywhere. An agent may join the customer, with a code and in another language.
public enum Shop {
    /// - Parameter repository: where the accounts are stored.
    public static func app(
        _ repository: any LoginRepository, payments: any Payments, catalog: any Catalog
    ) -> App {
        var dependencies = Dependencies.accounts(repository)
        dependencies.register((any Payments).self) { _ in payments }
        dependencies.register((any Catalog).self) { _ in catalog }
        return App(
            "shop", root: AppCoordinator.init,
            coordinators: [
                TabCoordinator.self, HomeCoordinator.self, SearchCoordinator.self, SignInCoordinator.self,
                CheckoutCoordinator.self,
            ], shared: [Cart.self, Membership.self, Orders.self], dependencies: dependencies,
            origins: ["https://shop.example.com"], endsForks: true, roles: [.customer, .agent],
            words: { phrase, language in language == "de" ? german(phrase) : nil })
    }

    private static func german(_ phrase: Phrase) -> String? {
        switch phrase {
        case .event(.back): "Zurück"
        case .cancel: "Abbrechen"
        case .notForRole("customer"): "Das kann nur ein Berater."
        case .notForRole("agent"): "Das kann nur der Kunde."
        default: nil
        }
    }
}

extension DeviceRole {
    /// Whose cart it is. Lets an agent join.
    static let customer = DeviceRole("customer", gives: ["agent"])
    /// Helps with the cart, and pays nothing.
    static let agent = DeviceRole("agent", mayEndOthers: false)
}

extension Shop {
    /// What the user is about to buy.
    struct Cart: SharedState {
        var items: [Int] = []
        /// What an agent has taken off, in percent.
        var discount: Int?
    }

    /// Whether the user is signed in.
    struct Membership: SharedState {
        static let survivesRelaunch = true
        var isSignedIn = false
    }

    /// What the user has bought.
    struct Orders: SharedState {
        static let survivesRelaunch = true
        var paid: [CheckoutCoordinator.Order] = []
    }

    /// Ends all flows when the user signs out, on whatever screen, and replaces the token. An agent leaves from everywhere.
    struct AppCoordinator: Coordinator {
        enum Event: NavigationEvent, CaseIterable {
            case signOut, leave

            var roles: [DeviceRole] { self == .leave ? [.agent] : [.customer] }
        }

        static let everywhere = Event.allCases

        func start(_ navigator: inout Navigator) {
            navigator.start(TabCoordinator())
        }

        func isEnabled(_ event: Event, in context: NavigationContext) -> Bool {
            event == .leave || context.shared[Membership.self].isSignedIn
        }

        func handle(_ event: Event, _ navigator: inout Navigator) {
            switch event {
            case .leave:
                if let device = navigator.device { navigator.revokeDevice(device.number) }
            case .signOut:
                navigator.shared[Membership.self].isSignedIn = false
                navigator.shared[Cart.self] = Cart()
                navigator.shared[Orders.self].paid = []
                navigator.rotateToken(endingOthers: true)
                navigator.signOut()
                navigator.endChildren()
                navigator.start(TabCoordinator())
            }
        }
    }

    /// The tab bar, with the cart in one of its tabs, and the orders in another one as soon as there are any.
    struct TabCoordinator: Coordinator {
        static let dependencies: [any Any.Type] = [(any Catalog).self]
        static let cartLink: LinkPattern = "/cart"
        static let links = [cartLink, "/checkout"]
        static let screens = [
            ScreenType("shop"), ScreenType("cart", CartScreen.self, content: Bill.self), ScreenType("orders"),
        ]

        struct CartScreen: ScreenParameters {
            let items: [Int]
            /// In percent.
            var discount: Int?
            static let example = CartScreen(items: [42], discount: 10)
        }

        enum Event: NavigationEvent {
            case checkout
            case discount(percent: Int)
            static let examples: [Event] = [.checkout, .discount(percent: 10)]

            var fields: [Field] { isDiscount ? [Field("percent", minimum: 1, maximum: 50)] : [] }
            var roles: [DeviceRole] { isDiscount ? [.agent] : [.customer] }
            private var isDiscount: Bool { if case .discount = self { true } else { false } }
        }

        /// A checkout that waits for the sign-in.
        private var wantsCheckout = false

        func start(_ navigator: inout Navigator) {
            navigator.push(Screen("shop"), tabs: tabs(withOrders: !navigator.shared[Orders.self].paid.isEmpty))
        }

        private func tabs(withOrders: Bool) -> [Tab] {
            let cart = Screen(
                "cart", title: "Cart", events: [Control(role: .primary, sends: Event.checkout), "discount"],
                link: TabCoordinator.cartLink, hasContent: true)
            let orders = Tab("orders", title: "Orders", icon: "list", Screen("orders", title: "Orders", events: []))
            return [
                Tab("home", title: "Home", icon: "house", starting: HomeCoordinator()),
                Tab("search", title: "Search", icon: "magnifyingglass", starting: SearchCoordinator()),
                Tab("cart", title: "Cart", icon: "cart", cart),
            ] + (withOrders ? [orders] : [])
        }

        func render(_ screen: inout Screen, in context: NavigationContext) {
            let cart = context.shared[Cart.self]
            switch screen.name {
            case "cart":
                screen.title = context.say("Cart", german: "Warenkorb")
                screen.params["items"] = .array(cart.items.map { .integer($0) })
                screen.params["discount"] = cart.discount.map { .integer($0) }
            case "orders":
                screen.title = context.say("Orders", german: "Bestellungen")
                screen.rows = context.shared[Orders.self].paid.map { order in
                    let count = order.items.count
                    let english = count == 1 ? "1 item" : "\(count) items"
                    return Row(context.say(english, german: "\(count) Artikel"), detail: order.address.street)
                }
            default: break
            }
            screen.tabs["home"]?.title = context.say("Home", german: "Start")
            screen.tabs["search"]?.title = context.say("Search", german: "Suche")
            screen.tabs["cart"]?.title = context.say("Cart", german: "Warenkorb")
            screen.tabs["orders"]?.title = context.say("Orders", german: "Bestellungen")
            screen.tabs["cart"]?.badge = cart.items.isEmpty ? nil : String(cart.items.count)
        }

        func title(of event: Event, in context: NavigationContext) -> String {
            switch event {
            case .checkout: context.say("Checkout", german: "Zur Kasse")
            case .discount: context.say("Discount", german: "Rabatt")
            }
        }

        /// What is in the cart, with names and prices: the session itself keeps the numbers only.
        func content(of screen: Screen, in context: ContentContext) async throws -> JSONObject {
            try await Good.bill(for: context.shared[Cart.self].items, in: context)
        }

        func isEnabled(_ event: Event, in context: NavigationContext) -> Bool {
            !context.shared[Cart.self].items.isEmpty
        }

        mutating func handle(_ event: Event, _ navigator: inout Navigator) {
            switch event {
            case .discount(let percent): navigator.shared[Cart.self].discount = percent
            case .checkout:
                wantsCheckout = !navigator.shared[Membership.self].isSignedIn
                wantsCheckout ? navigator.present(SignInCoordinator(), detent: .medium) : checkOut(&navigator)
            }
        }

        mutating func childDidFinish(_ child: any Coordinator, _ navigator: inout Navigator) {
            switch child {
            case is SignInCoordinator:
                navigator.shared[Membership.self].isSignedIn = true
                if wantsCheckout { checkOut(&navigator) }
                wantsCheckout = false
            default: break
            }
        }

        /// Called as soon as the order is paid; the receipt may be shown for as long as the user likes.
        func childDidDeliver(
            _ value: any Sendable, from child: any Coordinator, _ navigator: inout Navigator
        ) {
            guard let order = value as? CheckoutCoordinator.Order else { return }
            navigator.shared[Cart.self] = Cart()
            navigator.shared[Orders.self].paid.append(order)
            navigator.setTabs(tabs(withOrders: true))
        }

        mutating func childWasDismissed(_ child: any Coordinator, _ navigator: inout Navigator) {
            wantsCheckout = false
        }

        func open(_ link: Link, _ navigator: inout Navigator) -> LinkDecision {
            switch link.pattern.text {
            case "/cart":
                showTab("cart", &navigator)
                return .taken
            case "/checkout":
                navigator.selectTab("cart")
                return openCheckout(&navigator)
            default:
                showTab("home", &navigator)
                return .passedOn
            }
        }

        /// Ends what is presented over the tabs, so that the user sees the tab.
        private func showTab(_ tab: String, _ navigator: inout Navigator) {
            if navigator.isPresenting { navigator.dismissPresented() }
            navigator.selectTab(tab)
        }

        /// For the search, and for the checkout, which it ends.
        func showProduct(_ id: Int, _ navigator: inout Navigator) {
            showTab("home", &navigator)
            navigator.tellChildren(HomeCoordinator.self) { home, navigator in
                home.show(HomeCoordinator.Product(id: id), &navigator)
            }
        }

        private func openCheckout(_ navigator: inout Navigator) -> LinkDecision {
            let isSignedIn = navigator.shared[Membership.self].isSignedIn
            // The sign-in or the checkout itself is open already: nothing is presented twice.
            if navigator.isPresenting { return isSignedIn ? .taken : .pending(until: SignInCoordinator.self) }
            guard !navigator.shared[Cart.self].items.isEmpty else {
                navigator.alert(Alert("Your cart is empty"))
                return .taken
            }
            guard isSignedIn else {
                navigator.present(SignInCoordinator(), detent: .medium)
                return .pending(until: SignInCoordinator.self)
            }
            checkOut(&navigator)
            return .taken
        }

        private func checkOut(_ navigator: inout Navigator) {
            let checkout = CheckoutCoordinator(items: navigator.shared[Cart.self].items)
            navigator.present(checkout, as: .fullScreen, isDismissable: true)
        }
    }

    /// Products, one after the other, and what a link shows that leads nowhere.
    struct HomeCoordinator: Coordinator {
        static let dependencies: [any Any.Type] = [(any Catalog).self]
        static let productLink: LinkPattern = "/products/{id:integer}?ref={ref}"
        static let links = [productLink, "/{path...}"]
        static let screens = [
            ScreenType("home"), ScreenType("product", Product.self), ScreenType("notFound", NotFound.self),
        ]

        struct Product: ScreenParameters {
            let id: Int
            /// Where the link was found that led here.
            var ref: String?
            /// The part of the page that the link names.
            var part: String?
            static let example = Product(id: 42, ref: "mail", part: "reviews")
        }

        struct NotFound: ScreenParameters {
            let path: [String]
            static let example = NotFound(path: ["old", "offer"])
        }

        enum Event: NavigationEvent {
            case product(id: Int)
            case addToCart
            case related(id: Int)
            static let examples: [Event] = [.product(id: 1), .addToCart, .related(id: 2)]
        }

        func start(_ navigator: inout Navigator) {
            navigator.push(Screen("home", title: "Home", events: ["product"], hasContent: true))
        }

        func handle(_ event: Event, _ navigator: inout Navigator) {
            switch event {
            case .product(let id), .related(let id): navigator.push(screen(of: Product(id: id)))
            case .addToCart:
                guard let id = navigator.visible?.params["id"]?.integer else { return }
                navigator.shared[Cart.self].items.append(id)
            }
        }

        func render(_ screen: inout Screen, in context: NavigationContext) {
            switch screen.name {
            case "home": screen.title = context.say("Home", german: "Start")
            case "product":
                let id = screen.params["id"]?.integer ?? 0
                screen.title = context.say("Product \(id)", german: "Produkt \(id)")
            default: screen.title = context.say("Not found", german: "Nicht gefunden")
            }
        }

        /// Names and prices are the shop's: they are never part of the session.
        func content(of screen: Screen, in context: ContentContext) async throws -> JSONObject {
            let catalog = try context.resolve((any Catalog).self)
            guard screen.name == "product" else {
                return ["popular": .array(try await catalog.popular().map { .object($0.summary) })]
            }
            guard let id = screen.params["id"]?.integer, let good = try await catalog.product(id) else {
                return ["about": "We do not sell this any more."]
            }
            var content = good.summary
            content["about"] = .string(good.about)
            return content
        }

        func open(_ link: Link, _ navigator: inout Navigator) -> LinkDecision {
            if let id = link.integer("id") {
                show(Product(id: id, ref: link.string("ref"), part: link.fragment), &navigator)
            } else {
                navigator.popToRoot()
                let path = NotFound(path: link.strings("path"))
                navigator.push(Screen("notFound", path, title: "Not found", events: ["product"]))
            }
            return .taken
        }

        /// Shows a product directly above the home screen.
        func show(_ product: Product, _ navigator: inout Navigator) {
            navigator.popToRoot()
            navigator.push(screen(of: product))
        }

        private func screen(of product: Product) -> Screen {
            Screen(
                "product", product, title: "Product \(product.id)",
                events: [
                    Control(role: .primary, sends: "addToCart"), Control(role: .navigation, sends: "related"),
                ],
                link: HomeCoordinator.productLink, hasContent: true)
        }
    }
}

extension Shop {
    /// A sheet that finishes when the password is right.
    struct SignInCoordinator: Coordinator {
        static let dependencies: [any Any.Type] = [LoginUseCase.self]
        static let screens = [ScreenType("signIn")]

        enum Event: NavigationEvent {
            case submit(email: String, password: Secret)
            static let examples: [Event] = [.submit(email: "ann@example.com", password: "correct horse")]
            var title: String { "Sign in" }
            var roles: [DeviceRole] { [.customer] }
            var fields: [Field] { [Field("email", "E-mail", format: .email), Field("password", minLength: 1)] }
        }

        func start(_ navigator: inout Navigator) {
            navigator.push(Screen("signIn", title: "Sign in"))
        }

        func handle(_ event: Event, _ navigator: inout Navigator) async throws {
            switch event {
            case .submit(let email, let password):
                let viewModel = LoginViewModel(useCase: try navigator.resolve())
                try await viewModel.logIn(email: email, password: password, from: navigator.address) {
                    navigator.rotateToken(endingOthers: true)
                    navigator.signIn(user: AccountName(email)?.text ?? email)
                    navigator.finish()
                } onLoginFailure: { alert in
                    navigator.alert(alert)
                }
            }
        }
    }
}

/// The content of the cart and of a receipt. That of an empty cart has nothing.
struct Bill: Decodable {
    struct Item: Decodable {
        let id: Int
        let title: String
        let price: String?
    }

    let items: [Item]?
    let total: String?
}

extension Good {
    /// What the goods of these numbers are called and cost, and the total; empty if there are none.
    static func bill(for ids: [Int], in context: ContentContext) async throws -> JSONObject {
        let catalog = try context.resolve((any Catalog).self)
        var items: [JSON] = []
        var total = 0
        for id in ids {
            let good = try await catalog.product(id)
            items.append(good.map { .object($0.summary) } ?? ["id": .integer(id), "title": "Product \(id)"])
            total += good?.price ?? 0
        }
        total -= total * (context.shared[Shop.Cart.self].discount ?? 0) / 100
        return items.isEmpty ? [:] : ["items": .array(items), "total": .string(text(ofPrice: total))]
    }

    /// As it is listed.
    fileprivate var summary: JSONObject {
        ["id": .integer(id), "title": .string(title), "price": .string(priceText)]
    }
}

extension SessionContext {
    /// Says the same in the client's language.
    fileprivate func say(_ english: String, german: String) -> String { client.language == "de" ? german : english }
}
