package import Coordinators
import JSONCoding

extension Step {
    /// The event that the step stands for; `nil` if there is none.
    ///
    /// - Parameter shown: the screen and the alert that its device was sent last.
    package func event(
        on state: NavigationState, _ plain: Plain, _ table: Table, shown: (screen: String?, alert: String?)
    ) -> PostedEvent? {
        let number = JSON.integer(table.number(of: script))
        var event = PostedEvent(verb.rawValue)
        switch verb {
        case .run, .anywhere: event.payload = number
        case .go: if at == 1 { event.type = "went" }
        case .plan:
            event.payload = [
                "on": .string(at == 1 ? "2027-01-15" : "2027-01-15T08:00:00Z"), "text": "x",
                "count": .integer(to ?? 1),
            ]
        case .tap:
            let controls =
                (state.visible?.screen.rows.compactMap(\.control) ?? [])
                + (state.visible?.screen.events ?? []).filter { $0.payload != nil }
            guard let control = Actors.element(of: controls, at ?? 0) else { return nil }
            (event.type, event.payload) = (control.event, control.payload)
        case .unknown: event.payload = ["x": 1]
        case .back, .backToRoot, .relaunch: break
        case .backTo:
            let cards = plain.visiblePiles.flatMap(\.cards)
            let card = Actors.element(of: cards, at ?? 0)
            event.payload = to == 1 ? ["name": .string(card?.name ?? "x")] : ["key": .string(card?.key ?? "k0")]
        case .selectTab:
            event.payload = to == 1 ? ["index": .integer(at ?? 0)] : ["tab": .string("t\(at ?? 0)")]
        case .dismiss:
            if let at = at { event.payload = ["key": .string(Actors.element(of: plain.flows, at)?.key ?? "p0")] }
        case .answer:
            let button = Actors.element(of: state.alert?.alert.buttons ?? [], at ?? 0)
            var payload: JSONObject = ["button": .string(button?.id ?? "none")]
            // A client that has been sent an alert names it.
            if names != nil, let alert = shown.alert { payload["alert"] = .string(alert) }
            event.payload = .object(payload)
            return event
        case .open:
            let place = ["root", "beta", "nowhere", "root"][abs(at ?? 0) % 4]
            event.payload = ["path": .string("/\(place)/\(table.number(of: script))")]
        case .describeClient:
            event.payload = ["locale": .string(["en", "de", "ko"][abs(at ?? 0) % 3]), "platform": "phone"]
        case .again, .signal, .pair, .advance, .effect, .read, .fork, .restart: return nil
        }
        switch names {
        case .shown: event.screen = shown.alert ?? shown.screen
        case .stale: event.screen = "k\(max(1, abs(to ?? 1)))"
        case nil: break
        }
        // Only `back` may name an alert.
        if shown.alert != nil, names == .shown, verb != .back { event.screen = shown.screen }
        if shown.alert != nil, names == .shown, verb == .back { event.screen = nil }
        return event
    }
}
