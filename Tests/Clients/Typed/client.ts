// A client of shop, which does not compile if an event or a parameter that it uses has another name.
import type { NavigationEvent, Screen } from "coordinator-client";
import { buttons, contentOf, events, roles, screenOf, tabs, version } from "./shop";

export function use(visible: Screen, post: (event: NavigationEvent) => void): string {
    const screen = screenOf(visible);
    switch (screen.kind) {
        case "home":
            post(events.home.product({ id: 42 }));
            break;
        case "product": {
            const id: number = screen.params.id;
            post(events.home.addToCart());
            return `${id} ${screen.params.ref ?? ""}`;
        }
        case "cart":
            return String(screen.params.items.length);
        case "unknown":
            return screen.screen.name;
        default:
            post(events.checkout.submitAddress({ street: "1 Main Street", city: "Springfield" }));
    }
    post(events.signIn.submit({ email: "ann@example.com", password: "correct horse" }));
    const price: string | null | undefined = contentOf("receipt", {})?.items?.[0]?.price;
    if (price) return price;
    return `${tabs.cart} ${buttons.discard} ${roles.agent} ${version}`;
}
