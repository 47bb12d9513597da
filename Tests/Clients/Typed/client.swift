// A client of shop, which does not compile if an event or a parameter that it uses has another name.
import CoordinatorClient

func post(_ event: NavigationEvent) {}

func use(_ screen: Screen) {
    switch ShopApp.Screen(screen) {
    case .home: post(ShopApp.Home.product(id: 42))
    case .product(let product):
        let id: Int = product.id, ref: String? = product.ref
        print(id, ref ?? "")
        post(ShopApp.Home.addToCart())
    case .cart(let cart): print(cart.items.reduce(0, +))
    case .unknown(let screen): print(screen.name)
    default: post(ShopApp.Checkout.submitAddress(street: "1 Main Street", city: "Springfield"))
    }
    post(ShopApp.SignIn.submit(email: "ann@example.com", password: "correct horse"))
    let bill = try? JSONValue.object([:]).decoded(as: ShopApp.Content.Receipt.self)
    let price: String? = bill?.items?.first?.price
    print(price ?? "", bill?.total ?? "")
    print(ShopApp.TabID.cart, ShopApp.ButtonID.discard, ShopApp.RoleName.agent, ShopApp.version)
}
