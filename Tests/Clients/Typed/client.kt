// A client of shop, which does not compile if an event or a parameter that it uses has another name.
import coordinator.apps.ShopApp
import coordinator.client.NavigationEvent
import coordinator.client.Screen

fun use(visible: Screen, post: (NavigationEvent) -> Unit): String {
    when (val screen = ShopApp.Screen.of(visible)) {
        is ShopApp.Screen.Home -> post(ShopApp.Home.product(id = 42))
        is ShopApp.Screen.Product -> {
            val id: Long = screen.id
            post(ShopApp.Home.addToCart())
            return "$id ${screen.ref ?: ""}"
        }
        is ShopApp.Screen.Cart -> return screen.items.sum().toString()
        is ShopApp.Screen.Unknown -> return screen.screen.name
        else -> post(ShopApp.Checkout.submitAddress(street = "1 Main Street", city = "Springfield"))
    }
    post(ShopApp.SignIn.submit(email = "ann@example.com", password = "correct horse"))
    val price: String? = ShopApp.Content.Receipt.of(null)?.items?.firstOrNull()?.price
    if (price != null) return price
    return "${ShopApp.TabId.cart} ${ShopApp.ButtonId.discard} ${ShopApp.RoleName.agent} ${ShopApp.VERSION}"
}
