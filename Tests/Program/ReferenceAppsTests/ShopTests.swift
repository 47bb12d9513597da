import Coordinators
import CoordinatorsTesting
import ReferenceApps
import Testing

@Suite struct ShopTests {
    static let right: JSON = ["email": "ann@example.com", "password": "correct horse"]
    static let address: JSON = ["street": "1 Main Street", "city": "Springfield"]

    static func open(
        link: String? = nil, payments: any Payments = PaymentsInMemory(latency: .zero)
    ) async throws -> CoordinatorTester {
        var app = try await CoordinatorTester(
            Shop.app(OneAccount(), payments: payments, catalog: CatalogInMemory(latency: .zero)))
        if let link { try await app.send("open", ["path": .string(link)]) }
        return app
    }

    @Test func `an agent helps with the cart in another language, pays nothing, and leaves alone`() async throws {
        var app = try await ShopTests.open()
        try await app.pair(label: "agent", role: DeviceRole("agent"), client: ClientInfo(locale: "de"))
        try await app.send("product", ["id": 1])
        try await app.send("addToCart")
        await #expect(throws: CoordinatorTester.Failure(.notForRole("customer"))) { try await app.send("leave") }
        try await app.send("selectTab", ["tab": "cart"])

        try app.use(device: "agent")
        #expect(app.state.visible?.screen.title == "Warenkorb")
        try await app.send("discount", ["percent": 50])
        #expect(try await app.content()["total"] == "€28")
        await #expect(throws: CoordinatorTester.Failure(.notForRole("agent"))) { try await app.send("checkout") }
        try await app.send("leave")

        try app.use(device: nil)
        #expect(app.devices.map(\.number) == [1] && app.state.visible?.screen.title == "Cart")
        try await app.send("checkout")
        try await app.pair(label: "late", role: DeviceRole("agent"))
        try await app.send("submit", ShopTests.right)
        #expect(app.devices.map(\.number) == [1], "a sign-in ends the others")
    }

    @Test func `an order goes from the product to the receipt, with the sign-in in between`() async throws {
        var app = try await ShopTests.open()
        try await app.send("product", ["id": 1])
        try await app.send("addToCart")
        try await app.send("selectTab", ["tab": "cart"])
        try await app.send("checkout")
        #expect(app.stack.hasSuffix("+ sheet[signIn]"))
        try await app.send("submit", ShopTests.right)
        #expect(app.stack.hasSuffix("+ fullScreen[address]"))
        try await app.send("submitAddress", ShopTests.address)
        try await app.send("pay", ["card": "4242"])
        #expect(app.stack.hasSuffix("+ fullScreen[address, payment, paying]"))
        #expect(app.pending.map(\.id) == ["charge"] && app.backPlan == nil)

        try await app.performEffects()

        #expect(app.stack.hasSuffix("+ fullScreen[receipt]"))
        #expect(try await app.content()["total"] == "€56")
        await #expect(throws: (any Error).self) { try await app.back() }
        try await app.send("done")
        #expect(app.stack == "shop[home: home, product | search: search | cart*: cart | orders: orders]")
        #expect(app.state.visible?.screen.params["items"] == [])
        #expect(app.coordinators == ["app", "tab", "home", "search"])
        try await app.selectTab("orders")
        #expect(app.rows.map(\.detail) == ["1 Main Street"])
        try await app.relaunch()
        #expect(app.tabs == ["home*", "search", "cart", "orders"])
        try await app.send("signOut")
        #expect(app.tabs == ["home*", "search", "cart"])
    }

    @Test func `the cart is empty as soon as its order is paid`() async throws {
        var app = try await ShopTests.paying(with: "4242", payments: PaymentsInMemory(latency: .zero))
        #expect(!app.stack.contains("orders"))

        try await app.performEffects()

        #expect(app.visible == "receipt" && app.stack.contains("| orders: orders]"))
        try await app.relaunch()
        try await app.selectTab("cart")
        #expect(app.state.visible?.screen.params["items"] == [])
    }

    static func paying(with card: String, payments: any Payments) async throws -> CoordinatorTester {
        var app = try await ShopTests.open(link: "/products/1", payments: payments)
        try await app.send("addToCart")
        try await app.send("open", ["path": "/checkout"])
        try await app.send("submit", ShopTests.right)
        try await app.send("submitAddress", ShopTests.address)
        try await app.send("pay", ["card": .string(card)])
        return app
    }

    /// A bank that cannot be reached.
    struct Unreachable: Payments, Error {
        func token(for card: Secret) -> String { "card-1" }
        func charge(_ token: String, for items: [Int], key: String) throws -> Bool { throw self }
    }

    @Test func `a card is charged once, and its number is not saved`() async throws {
        let payments = PaymentsInMemory(latency: .zero)
        var app = try await ShopTests.paying(with: "4242 4242", payments: payments)
        #expect(!String(decoding: app.state.encoded, as: UTF8.self).contains("4242 "))
        let afterCrash = app

        try await app.performEffects()
        app = afterCrash
        try await app.performEffects()

        #expect(app.visible == "receipt")
        #expect(Array(payments.charges.values) == [[1]])
    }

    @Test(arguments: [(true, "Your card was declined"), (false, "We could not reach your bank")])
    func `a payment that fails can be made again`(isDeclined: Bool, title: String) async throws {
        let payments: any Payments = isDeclined ? PaymentsInMemory(latency: .zero) : Unreachable()
        var app = try await ShopTests.paying(with: "4000 0000 0000 0002", payments: payments)

        try await app.performEffects()

        #expect(app.alert?.title == title && app.visible == "payment")
        try await app.answer("ok")
        try await app.send("pay", ["card": "4242"])
        #expect(app.pending.map(\.id) == ["charge"])
    }

    @Test func `who leaves during the payment is asked first`() async throws {
        var app = try await ShopTests.paying(with: "4242", payments: PaymentsInMemory(latency: .zero))
        try await app.send("signOut")
        #expect(app.alert?.title == "Leave the payment?")

        try await app.answer("leave")

        #expect(app.coordinators == ["app", "tab", "home", "search"] && app.pending.map(\.id) == [])
    }

    @Test func `the next search replaces the one under way`() async throws {
        var app = try await ShopTests.open()
        try await app.selectTab("search")
        try await app.send("search", "prod")
        try await app.send("search", "product 42")
        #expect(app.pending.map(\.id) == ["find"])

        try await app.performEffects()

        #expect(app.rows.map(\.title) == ["Walnut desk lamp"] && app.rows.map(\.detail) == ["€53"])
        await #expect(throws: CoordinatorTester.Failure(.payloadNotOffered)) { try await app.send("show", ["id": 1]) }
        try await app.tap("Walnut desk lamp")
        #expect(app.stack == "shop[home*: home, product | search: search | cart: cart]")
        try await app.selectTab("search")
        try await app.send("search", "")
        #expect(app.rows == [] && app.pending.map(\.id) == [])
    }

    @Test(arguments: ["back", "dismiss", "signOut"])
    func `leaving the address form with unsaved input asks first`(event: String) async throws {
        var app = try await ShopTests.open(link: "/products/1")
        try await app.send("addToCart")
        try await app.send("open", ["path": "/checkout"])
        try await app.send("submit", ShopTests.right)
        try await app.send("type", "Main St")
        let before = app.stack

        try await app.send(event)

        #expect(app.stack == before)
        #expect(app.alert?.title == "Discard your input?")
        try await app.send("answer", ["button": "cancel"])
        #expect(app.stack == before)
        try await app.send(event)
        #expect(!app.transition.rotatesToken)
        try await app.send("answer", ["button": "discard"])
        #expect(!app.coordinators.contains("checkout"))
        #expect(app.transition.rotatesToken == (event == "signOut"))
    }

    @Test func `an item that is asked for from the address form is shown once the user has agreed and asks again`()
        async throws
    {
        var app = try await ShopTests.open(link: "/products/1")
        try await app.send("addToCart")
        try await app.send("open", ["path": "/checkout"])
        try await app.send("submit", ShopTests.right)
        #expect(app.rows.map(\.title) == ["Oak stool"])
        try await app.send("type", "Main St")

        try await app.tap("Oak stool")

        #expect(app.alert?.title == "Discard your input?" && app.visible == "address")
        await #expect(throws: CoordinatorTester.Failure(.answerFirst)) { try await app.send("showItem", ["id": 1]) }
        try await app.answer("discard")
        #expect(app.visible == "address", "the payload is not kept, so the user is still there")
        try await app.send("showItem", ["id": 1])
        #expect(app.stack == "shop[home*: home, product | search: search | cart: cart]")
        #expect(!app.coordinators.contains("checkout"))
    }

    @Test func `an item is shown at once if nothing is typed`() async throws {
        var app = try await ShopTests.open(link: "/products/1")
        try await app.send("addToCart")
        try await app.send("open", ["path": "/checkout"])
        try await app.send("submit", ShopTests.right)

        try await app.send("showItem", ["id": 1])

        #expect(app.visible == "product" && app.alert == nil)
    }

    @Test func `the terms are read over the payment, which goes on below them`() async throws {
        var app = try await ShopTests.open(link: "/products/1")
        try await app.send("addToCart")
        try await app.send("open", ["path": "/checkout"])
        try await app.send("submit", ShopTests.right)
        try await app.send("submitAddress", ShopTests.address)

        try await app.tap("Read terms")

        #expect(app.presented == ["fullScreen[address, payment]", "sheet[terms]"])
        #expect(app.coordinators.filter { $0 == "checkout" }.count == 1)
        try await app.back()
        #expect(app.visible == "payment")
        try await app.tap("Read terms")
        try await app.send("signOut")
        #expect(app.presented == [])
    }

    @Test(arguments: [("/cart", "cart"), ("/products/7", "product"), ("/checkout", "address")])
    func `a link from the address form asks if it leads elsewhere, and is then followed`(link: String, screen: String)
        async throws
    {
        var app = try await ShopTests.open(link: "/products/1")
        try await app.send("addToCart")
        try await app.send("open", ["path": "/checkout"])
        try await app.send("submit", ShopTests.right)
        try await app.send("type", "Main St")

        try await app.send("open", ["path": .string(link)])

        if screen == "address" {
            #expect(app.alert == nil && app.visible == "address", "the user is there already")
        } else {
            #expect(app.alert?.title == "Discard your input?" && app.visible == "address")
            try await app.send("answer", ["button": "discard"])
            #expect(app.visible == screen && !app.coordinators.contains("checkout"))
        }
    }

    @Test func `a link to the checkout waits for the sign-in and is then opened once`() async throws {
        var app = try await ShopTests.open(link: "/products/1")
        try await app.send("addToCart")

        try await app.send("open", ["path": "/checkout"])

        #expect(app.stack == "shop[home: home, product | search: search | cart*: cart] + sheet[signIn]")
        try await app.send("submit", ShopTests.right)
        #expect(app.stack == "shop[home: home, product | search: search | cart*: cart] + fullScreen[address]")
        try await app.send("submitAddress", ShopTests.address)
        try await app.send("pay", ["card": "4242"])
        try await app.performEffects()
        try await app.send("done")
        #expect(app.stack == "shop[home: home, product | search: search | cart*: cart | orders: orders]")
    }

    @Test(arguments: [false, true])
    func `a link to the checkout presents no second sign-in, and no second checkout`(isByLink: Bool) async throws {
        let cart = "shop[home: home, product | search: search | cart*: cart]"
        var app = try await ShopTests.open(link: "/products/1")
        try await app.send("addToCart")
        if isByLink {
            try await app.send("open", ["path": "/checkout"])
        } else {
            try await app.send("selectTab", ["tab": "cart"])
            try await app.send("checkout")
        }

        try await app.send("open", ["path": "/checkout"])
        #expect(app.stack == cart + " + sheet[signIn]")
        try await app.send("submit", ShopTests.right)
        #expect(app.stack == cart + " + fullScreen[address]")
        try await app.send("open", ["path": "/checkout"])

        #expect(app.stack == cart + " + fullScreen[address]")
        #expect(app.alert == nil)
        #expect(app.coordinators == ["app", "tab", "home", "search", "checkout"])
    }

    @Test func `the address comes back as it was sent, and some are refused`() async throws {
        var app = try await ShopTests.open(link: "/products/1")
        try await app.send("addToCart")
        try await app.send("open", ["path": "/checkout"])
        try await app.send("submit", ShopTests.right)
        #expect(app.formValues(of: "submitAddress") == [:])

        let refusal = NavigationError.invalidEvent(
            .init(path: ["payload", "city"], reason: "We do not deliver to Atlantis.", code: .refused))
        await #expect(throws: CoordinatorTester.Failure(refusal)) {
            try await app.send("submitAddress", ["street": "1 Main Street", "city": "Atlantis"])
        }
        try await app.send("submitAddress", ShopTests.address)
        try await app.back()

        #expect(app.formValues(of: "submitAddress") == ShopTests.address)
    }

    @Test func `who leaves the sign-in for a link to the checkout is not led there by a later one`() async throws {
        var app = try await ShopTests.open(link: "/products/1")
        try await app.send("addToCart")
        try await app.send("open", ["path": "/checkout"])

        try await app.send("dismiss")
        #expect(try JSON(parsing: app.state.encoded)["pendingLink"] == nil)
    }

    @Test func `a sign-in that was left and is presented again leads to one checkout`() async throws {
        var app = try await ShopTests.open(link: "/products/1")
        try await app.send("addToCart")
        try await app.send("open", ["path": "/checkout"])
        try await app.back()
        #expect(app.stack == "shop[home: home, product | search: search | cart*: cart]")

        try await app.send("checkout")
        try await app.send("submit", ShopTests.right)

        #expect(app.stack == "shop[home: home, product | search: search | cart*: cart] + fullScreen[address]")
    }

    @Test(arguments: [false, true])
    func `a link to the checkout with an empty cart shows an alert, and no sign-in`(isSignedIn: Bool) async throws {
        var app = try await ShopTests.open()
        if isSignedIn {
            try await app.send("product", ["id": 1])
            try await app.send("addToCart")
            try await app.send("open", ["path": "/checkout"])
            try await app.send("submit", ShopTests.right)
            try await app.send("submitAddress", ShopTests.address)
            try await app.send("pay", ["card": "4242"])
            try await app.performEffects()
            try await app.send("done")
            try await app.send("selectTab", ["tab": "search"])
        }

        try await app.send("open", ["path": "/checkout"])

        #expect(app.alert == Alert("Your cart is empty"))
        #expect(app.visible == "cart")
        #expect(app.presented == [])
        try await app.send("answer", ["button": "ok"])
        #expect(app.alert == nil)
        // The link is no longer pending: adding a product to the cart does not open it.
        try await app.send("selectTab", ["tab": "home"])
        if !isSignedIn { try await app.send("product", ["id": 1]) }
        try await app.send("addToCart")
        #expect(app.presented == [] && app.alert == nil)
    }

    @Test(arguments: [("/nowhere", ["nowhere"]), ("https://shop.example.com/products/x", ["products", "x"])])
    func `a link that leads nowhere shows that, above the home screen`(link: String, path: [String]) async throws {
        var app = try await ShopTests.open(link: "/cart")

        try await app.send("open", ["path": .string(link)])

        #expect(app.stack == "shop[home*: home, notFound | search: search | cart: cart]")
        #expect(app.state.visible?.screen.params == ["path": .array(path.map { .string($0) })])
        #expect(!app.events.contains("addToCart") && app.events.contains("product"))
    }

    @Test func `names and prices are content of the screens, and the session has only numbers`() async throws {
        var app = try await ShopTests.open()
        let popular = try await app.content()["popular"]?.array
        #expect(popular?.first == ["id": 42, "title": "Walnut desk lamp", "price": "€53"] && popular?.count == 8)
        try await app.send("product", ["id": 42])
        #expect(try await app.content()["about"] == "Warm light, and an arm that stays where you leave it.")
        try await app.send("addToCart")
        try await app.send("related", ["id": 101])
        #expect(try await app.content() == ["about": "We do not sell this any more."])
        try await app.send("addToCart")
        try await app.selectTab("cart")

        let cart = try await app.content()

        #expect(cart["items"]?.array?.compactMap { $0["title"] } == ["Walnut desk lamp", "Product 101"])
        #expect(cart["total"] == "€53")
        #expect(!String(decoding: app.state.encoded, as: UTF8.self).contains("lamp"))
    }

    @Test func `a link to a product opens it above the home screen`() async throws {
        let app = try await ShopTests.open(link: "/products/42")

        #expect(app.stack == "shop[home*: home, product | search: search | cart: cart]")
        #expect(app.state.visible?.screen.params == ["id": 42])
    }

    @Test func `a shared link to a product shows where it was found, and the part that it names`() async throws {
        let app = try await ShopTests.open(link: "https://shop.example.com/products/42/?utm=1&ref=mail#reviews")

        #expect(app.stack == "shop[home*: home, product | search: search | cart: cart]")
        #expect(app.state.visible?.screen.params == ["id": 42, "ref": "mail", "part": "reviews"])
    }

    @Test func `signing out from anywhere ends every flow at once`() async throws {
        var app = try await ShopTests.open(link: "/products/1")
        try await app.send("addToCart")
        try await app.send("open", ["path": "/checkout"])
        #expect(!app.events.contains("signOut"))
        try await app.send("submit", ["email": "ann@example.com", "password": "wrong"])
        #expect(!app.transition.rotatesToken)
        try await app.send("answer", ["button": "ok"])
        try await app.send("submit", ShopTests.right)
        #expect(app.transition.rotatesToken)

        try await app.send("signOut")

        #expect(app.transition.rotatesToken)
        #expect(app.stack == "shop[home*: home | search: search | cart: cart]")
        #expect(app.coordinators == ["app", "tab", "home", "search"])
        #expect(!app.events.contains("signOut"))
    }
}
