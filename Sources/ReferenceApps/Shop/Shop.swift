public import Coordinators

/// Everything at once: tabs, links, a sign-in in between, a full-screen checkout with a result, a sign-out from
/// anywhere.
public enum Shop {
    /// - Parameter repository: where the accounts are stored.
    public static func app(_ repository: any LoginRepository) -> App {
        App(
            "shop", root: AppCoordinator.init,
            coordinators: [
                TabCoordinator.self, HomeCoordinator.self, SearchCoordinator.self, SignInCoordinator.self,
                CheckoutCoordinator.self,
            ], dependencies: .accounts(repository), origins: ["https://shop.example.com"], endsForks: true)
    }
}

extension Shop {
    /// Ends all flows when the user signs out, on whatever screen, and replaces the token.
    struct AppCoordinator: Coordinator, SignInObserver {
        enum Event: NavigationEvent, CaseIterable { case signOut }

        private var isSignedIn = false

        mutating func start(_ navigator: inout Navigator) {
            isSignedIn = navigator.defaults["isSignedIn"] == true
            navigator.start(TabCoordinator(isSignedIn: isSignedIn))
        }

        func isEnabled(_ event: Event) -> Bool { isSignedIn }

        mutating func didSignIn() {
            isSignedIn = true
        }

        mutating func handle(_ event: Event, _ navigator: inout Navigator) {
            switch event {
            case .signOut:
                isSignedIn = false
                navigator.defaults["isSignedIn"] = nil
                navigator.rotateToken()
                navigator.endChildren()
                navigator.start(TabCoordinator(isSignedIn: false))
            }
        }
    }

    /// The tab bar. It keeps the cart, and knows whether the user is signed in.
    struct TabCoordinator: Coordinator, CartKeeper {
        static let cartLink: LinkPattern = "/cart"
        static let links = [cartLink, "/checkout"]

        enum Event: NavigationEvent, CaseIterable { case checkout }

        private var cart: [Int] = []
        private var isSignedIn: Bool
        /// A checkout that waits for the sign-in.
        private var wantsCheckout = false

        init(isSignedIn: Bool) {
            self.isSignedIn = isSignedIn
        }

        func start(_ navigator: inout Navigator) {
            navigator.push(
                Screen("shop"),
                tabs: [
                    Tab("home", title: "Home", icon: "house", starting: HomeCoordinator()),
                    Tab("search", title: "Search", icon: "magnifyingglass", starting: SearchCoordinator()),
                    Tab("cart", title: "Cart", icon: "cart", cartScreen),
                ])
        }

        func isEnabled(_ event: Event) -> Bool { !cart.isEmpty }

        mutating func add(_ product: Int, _ navigator: inout Navigator) {
            cart.append(product)
            showCart(&navigator)
        }

        mutating func handle(_ event: Event, _ navigator: inout Navigator) {
            switch event {
            case .checkout:
                wantsCheckout = !isSignedIn
                isSignedIn ? checkOut(&navigator) : navigator.present(SignInCoordinator(), detent: .medium)
            }
        }

        mutating func childDidFinish(_ child: any Coordinator, _ navigator: inout Navigator) {
            switch child {
            case is SignInCoordinator:
                isSignedIn = true
                navigator.defaults["isSignedIn"] = true
                navigator.tell((any SignInObserver).self) { parent, _ in parent.didSignIn() }
                if wantsCheckout { checkOut(&navigator) }
                wantsCheckout = false
            case let checkout as CheckoutCoordinator where checkout.order != nil:
                cart = []
                showCart(&navigator)
            default: break
            }
        }

        mutating func childWasDismissed(_ child: any Coordinator, _ navigator: inout Navigator) {
            wantsCheckout = false
        }

        mutating func open(_ link: Link, _ navigator: inout Navigator) -> LinkDecision {
            switch link.pattern.text {
            case "/cart":
                navigator.selectTab("cart")
                return .taken
            case "/checkout":
                navigator.selectTab("cart")
                return openCheckout(&navigator)
            default:
                navigator.selectTab("home")
                return .passedOn
            }
        }

        private func openCheckout(_ navigator: inout Navigator) -> LinkDecision {
            // The sign-in or the checkout itself is open already: nothing is presented twice.
            if navigator.isPresenting { return isSignedIn ? .taken : .pending }
            guard !cart.isEmpty else {
                navigator.alert(Alert("Your cart is empty"))
                return .taken
            }
            guard isSignedIn else {
                navigator.present(SignInCoordinator(), detent: .medium)
                return .pending
            }
            checkOut(&navigator)
            return .taken
        }

        private func checkOut(_ navigator: inout Navigator) {
            navigator.present(CheckoutCoordinator(items: cart), as: .fullScreen)
        }

        private func showCart(_ navigator: inout Navigator) {
            navigator.update("cart") { [cartScreen] in $0 = cartScreen }
            navigator.setBadge(cart.isEmpty ? nil : String(cart.count), ofTab: "cart")
        }

        private var cartScreen: Screen {
            Screen(
                "cart", title: "Cart", params: ["items": .array(cart.map { .integer($0) })],
                events: [Control(role: .primary, sends: Event.checkout)],
                link: TabCoordinator.cartLink)
        }
    }

    /// Products, one after the other.
    struct HomeCoordinator: Coordinator {
        static let productLink: LinkPattern = "/products/{id:integer}?ref={ref}"
        static let links = [productLink]

        enum Event: NavigationEvent {
            case product(id: Int)
            case addToCart
            case related(id: Int)
            static let examples: [Event] = [.product(id: 1), .addToCart, .related(id: 2)]
        }

        func start(_ navigator: inout Navigator) {
            navigator.push(Screen("home", title: "Home", events: ["product"]))
        }

        func handle(_ event: Event, _ navigator: inout Navigator) {
            switch event {
            case .product(let id), .related(let id): navigator.push(product(id, ["id": .integer(id)]))
            case .addToCart:
                guard let id = navigator.visible?.params["id"]?.integer else { return }
                navigator.tell((any CartKeeper).self) { keeper, navigator in keeper.add(id, &navigator) }
            }
        }

        func open(_ link: Link, _ navigator: inout Navigator) -> LinkDecision {
            guard let id = link.integer("id") else { return .passedOn }
            navigator.popToRoot()
            navigator.push(product(id, link.params))
            return .taken
        }

        /// - Parameter params: `id`, and `ref` if the link says where it was found.
        private func product(_ id: Int, _ params: JSONObject) -> Screen {
            Screen(
                "product", title: "Product \(id)", params: params,
                events: [
                    Control(role: .primary, sends: "addToCart"), Control(role: .navigation, sends: "related"),
                ],
                link: HomeCoordinator.productLink)
        }
    }

    struct SearchCoordinator: Coordinator {
        func start(_ navigator: inout Navigator) {
            navigator.push(Screen("search", title: "Search"))
        }
    }

    /// Called when the user has signed in.
    protocol SignInObserver {
        mutating func didSignIn()
    }

    /// Called with what goes into the cart.
    protocol CartKeeper {
        mutating func add(_ product: Int, _ navigator: inout Navigator)
    }
}
