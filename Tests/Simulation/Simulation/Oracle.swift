package import Coordinators
import JSONCoding

/// The rules for a single state, and what is offered in it.
package enum Oracle {
    /// The name of an error's case.
    package static func word(_ error: NavigationError) -> String {
        switch error {
        case .invariantViolated(let violation): "\(violation)".prefix { $0 != "(" }.description
        default: "\(error)".prefix { $0 != "(" }.description
        }
    }

    /// Whether an error says that the event itself cannot be posted now, whatever coordinators do.
    static func isProtocol(_ error: NavigationError) -> Bool {
        switch error {
        case .eventNotAccepted, .payloadNotOffered, .answerFirst, .unknownEvent, .signalNotAccepted, .signalRefused,
            .unknownSignal,
            .invalidEvent, .staleScreen, .nothingToGoBack, .unknownLink, .notForRole:
            true
        default: false
        }
    }

    /// Whether a script alone may be the reason: a coordinator that shows nothing, a loop.
    static func isAuthors(_ error: NavigationError, _ setup: Setup) -> Bool {
        switch error {
        case .invariantViolated(.idleCoordinator), .invariantViolated(.emptyTab), .invariantViolated(.emptyFlow),
            .invariantViolated(.nothingVisible):
            true
        default: false
        }
    }

    /// What a client of the state may post, each with a word for its kind.
    static func offers(of state: NavigationState) -> [(event: PostedEvent, word: String)] {
        var offers: [(event: PostedEvent, word: String)] = []
        for control in state.controls {
            let subject = state.alert?.subject.map {
                BuiltInEvent(rawValue: $0) == nil ? " about an event" : " about \($0)"
            }
            let word = control.type + (subject ?? "")
            guard let schema = control.schema else {
                offers.append((PostedEvent(control.type, payload: control.payload), word))
                continue
            }
            if let example = control.example {
                offers.append((PostedEvent(control.type, payload: example), "\(word), its example"))
            }
            // A link is whatever the user has; the client describes itself.
            if control.type == "open" || control.type == "describeClient" { continue }
            for payload in FormClient.payloads(schema) {
                offers.append((PostedEvent(control.type, payload: payload), "\(word), as a form"))
            }
        }
        guard state.alert == nil else { return offers }
        for control in state.visible?.screen.rows.compactMap(\.control) ?? [] where control.isEnabled {
            offers.append((PostedEvent(control.event, payload: control.payload), "a row"))
        }
        return offers
    }

    /// A payload that fits an event that is not offered.
    static func payload(of name: String, in state: NavigationState) -> JSON? {
        switch name {
        case "run", "anywhere": 0
        case "backTo": ["key": .string(state.screens.first?.key ?? "")]
        case "selectTab": ["index": 0]
        case "answer": ["button": "b0"]
        case "open": ["path": "/nowhere"]
        case "describeClient": ["locale": "en"]
        default: nil
        }
    }

    /// Payloads that fit no built-in event of that type.
    static func misfits(_ event: BuiltInEvent) -> [JSON] {
        switch event {
        case .describeClient: [["locale": 1]]
        case .dismiss: [["nothing": 1], ["key": "p0"]]
        case .answer: [["nothing": 1], ["button": "none"]]
        case .selectTab: [["nothing": 1], ["index": -1]]
        default: [["nothing": 1]]
        }
    }

    /// What must hold in every state.
    static func checkPlace(_ state: NavigationState, _ plain: Plain) -> [Finding] {
        var faults: [String] = []
        if plain.visible == nil { faults.append("nothing is visible") }
        let cards = plain.cards
        if Set(cards.map(\.key)).count < cards.count { faults.append("two screens have one key") }
        let owners = Set(cards.map(\.owner))
        for card in cards {
            if plain[card.owner] == nil { faults.append("a screen's coordinator is gone") }
            if card.tabs?.items.contains(where: { $0.stack.cards.isEmpty }) == true { faults.append("an empty tab") }
        }
        for node in plain.nodes where node.parent != nil {
            if node.parent.map({ plain[$0] == nil }) ?? true { faults.append("a coordinator's parent is gone") }
            if !owners.contains(node.id), plain.children(node.id).isEmpty { faults.append("a coordinator has nothing") }
            if plain.pile(node.home) == nil { faults.append("the stack of a coordinator is gone") }
        }
        for flow in plain.flows {
            if flow.pile.cards.isEmpty { faults.append("an empty flow") }
            if plain[flow.owner]?.home != flow.pile.id, flow.pile.cards.first?.owner != flow.owner {
                faults.append("a flow's coordinator is elsewhere")
            }
        }
        for screen in state.screens {
            for item in screen.tabs?.items ?? [] where item.icon != item.id { faults.append("a tab's icon is lost") }
        }
        if state.alert != nil {
            for alert in state.alerts where plain[alert.coordinator] == nil {
                faults.append("an alert's coordinator is gone")
            }
        }
        for work in plain.work where !work.isCleanUp && plain[work.owner] == nil {
            faults.append("work without a coordinator")
        }
        for tabs in cards.compactMap(\.tabs) where !tabs.history.isEmpty {
            if tabs.back != .history { faults.append("a history that nobody uses") }
            if tabs.history.contains(tabs.selected) { faults.append("the selected tab is in the history") }
            if Set(tabs.history).count < tabs.history.count { faults.append("a tab is twice in the history") }
        }
        return Set(faults).sorted().map { Finding(rule: .place, signature: $0, reason: $0) }
    }

    /// No limit is exceeded.
    static func checkLimits(_ plain: Plain, _ limits: Limits) -> [Finding] {
        var faults: [String] = []
        if plain.flows.count + 1 > limits.depth { faults.append("more flows than may lie over each other") }
        for pile in [plain.main] + plain.flows.map(\.pile) {
            pile.forEachPile {
                if $0.cards.count > limits.stack { faults.append("more screens than a stack may have") }
            }
        }
        if plain.work.count(where: { !$0.isCleanUp }) > limits.pending {
            faults.append("more work than may be under way")
        }
        return Set(faults).sorted().map { Finding(rule: .bounds, signature: $0, reason: $0) }
    }

    /// What a client may post is what the documentation says: what the visible screen offers, what is accepted everywhere,
    /// and the built-in events that do something.
    static func checkOffered(_ state: NavigationState, _ plain: Plain) -> [Finding] {
        let (offered, expected) = (Set(state.acceptedEvents), accepted(state, plain))
        guard offered != expected else { return [] }
        let (more, less) = (offered.subtracting(expected).sorted(), expected.subtracting(offered).sorted())
        let reason = "offered are \(offered.sorted()) instead of \(expected.sorted())"
        return more.map { Finding(rule: .unlisted, signature: "\($0) is offered", reason: reason) }
            + less.map { Finding(rule: .listed, signature: "\($0) is not offered", reason: reason) }
    }

    private static func accepted(_ state: NavigationState, _ plain: Plain) -> Set<String> {
        if let alert = state.alert?.alert {
            if plain.isOnlyShown { return [] }
            func mayPress(_ button: AlertButton) -> Bool { button.eventName != "plan" || state.role?.name == "user" }
            var accepted: Set = ["open"]
            if alert.buttons.contains(where: mayPress) { accepted.insert("answer") }
            // `back` presses the first one.
            if let cancel = alert.buttons.first(where: { $0.role == .cancel }), mayPress(cancel) {
                accepted.insert("back")
            }
            return accepted
        }
        if plain.isOnlyShown { return ["describeClient"] }
        var accepted: Set = ["open", "relaunch", "describeClient", "anywhere"]
        let (piles, isForbidden) = (plain.visiblePiles, plain.visible?.isForbidden == true)
        if !isForbidden, piles.contains(where: { $0.cards.count > 1 }) { accepted.formUnion(["backTo", "backToRoot"]) }
        if piles.count > 1 { accepted.insert("selectTab") }
        if !isForbidden, plain.flows.last?.isDismissable == true { accepted.insert("dismiss") }
        if case .state = UserEvent(event: .back, payload: nil).expectation(on: plain) { accepted.insert("back") }
        guard let visible = state.visible,
            let me = state[visible.coordinator].flatMap({ Actors.me(of: $0.coordinator) })
        else {
            return accepted
        }
        accepted.formUnion(visible.screen.events?.map(\.event) ?? AnyEvent.names)
        accepted.formUnion(visible.screen.rows.compactMap(\.control?.event))
        if me.isOff || state.shared[Board.self].mark == Board.markWithoutPlans || state.role?.name != "user" {
            accepted.remove("plan")
        }
        return accepted
    }

    /// A tab that the user has left is the first that `back` leads to, if that is how its screen goes back.
    static func checkHistory(_ before: Plain, _ after: Plain, _ word: String) -> [Finding] {
        let old = before.cards.filter { $0.tabs?.back == .history }
        guard !old.isEmpty else { return [] }
        let new = after.cards
        for card in old {
            guard let tabs = card.tabs, let now = new.first(where: { $0.key == card.key })?.tabs else { continue }
            // A tab that went and came again is another one.
            guard now.selected != tabs.selected, let left = tabs.selection,
                now.items.contains(where: { $0.id == tabs.selected && $0.stack.id == left.id })
            else { continue }
            if now.history.last != tabs.selected {
                return [Finding(rule: .back, signature: "the tab that was left is not in the history", reason: word)]
            }
        }
        return []
    }

    /// What is saved is read again, and is equal.
    static func checkSaved(_ state: NavigationState, _ app: App) -> [Finding] {
        let text = state.encoded
        var fault: String?
        do {
            let json = try JSON(parsing: text, maximumDepth: 512)
            let restored = try app.restore(json)
            if !restored.losses.isEmpty {
                fault = "something is lost"
            } else if restored.needsTransition {
                fault = "a screen is drawn otherwise"
            } else if restored.state != state || restored.state.encoded != text {
                fault = "it differs"
            } else if restored.state.acceptedEvents != state.acceptedEvents {
                fault = "it accepts other events"
            }
        } catch {
            fault = "\(error)".prefix { $0 != "(" }.description
        }
        return fault.map { [Finding(rule: .restored, signature: $0, reason: "\(text.count) bytes are saved: \($0)")] }
            ?? []
    }

    /// What is saved against another state is what would have been saved whole.
    static func checkDelta(_ state: NavigationState, _ parts: SharedParts, _ base: JSON) -> [Finding] {
        var writer = JSONWriter()
        state.save(to: &writer, against: parts)
        var fault: String?
        do {
            let delta = try JSON(parsing: writer.bytes, maximumDepth: 512)
            let completed = try NavigationState.completed(delta, from: base)
            let whole = JSONWriter.bytes(capacity: 1000) { $0.value(completed) }
            if whole != state.encoded { fault = "a delta gives another state" }
        } catch {
            fault = "a delta cannot be read"
        }
        return fault.map { [Finding(rule: .restored, signature: $0, reason: "\(writer.bytes.count) bytes: \($0)")] }
            ?? []
    }

    /// What is counted against the limit is about what is saved.
    static func checkCounted(_ state: NavigationState, _ app: App) -> [Finding] {
        let (saved, counted) = (state.encoded.count, state.size(with: state.screens))
        guard saved > 2 * counted + 512 || saved > 2 * app.sizeLimit else { return [] }
        let reason =
            saved > 2 * app.sizeLimit
            ? "more than twice the limit is saved" : "less than half of what is saved is counted"
        return [
            Finding(
                rule: .bounds, signature: reason,
                reason: "\(reason): \(saved) bytes, \(counted) counted, \(app.sizeLimit) allowed")
        ]
    }
}

/// What a client enters in a form of which it knows only the schema.
enum FormClient {
    static func payloads(_ schema: JSON) -> [JSON] {
        guard let properties = schema["properties"]?.object else { return [value(schema)] }
        // One member that leaves a choice gives a payload for each choice.
        let fixed = properties.members.map { ($0.name, value($0.value)) }
        guard let choice = properties.members.first(where: { $0.value["enum"]?.array?.count ?? 0 > 1 }) else {
            return [.object(JSONObject(fixed))]
        }
        return some(of: choice.value["enum"]?.array ?? []).map { chosen in
            .object(JSONObject(fixed.map { ($0.0, $0.0 == choice.name ? chosen : $0.1) }))
        }
    }

    /// All choices, or of many four: each is as good as another, and takes time.
    private static func some(of choices: [JSON]) -> [JSON] {
        let last = choices.count - 1
        return choices.count > 4 ? [0, 1, choices.count / 2, last].map { choices[$0] } : choices
    }

    private static func value(_ schema: JSON) -> JSON {
        if let first = schema["enum"]?.array?.first { return first }
        switch (schema["type"]?.string, schema["format"]?.string) {
        case ("string", "date"): return "2027-01-15"
        case ("string", "date-time"): return "2027-01-15T08:00:00Z"
        case ("string", _): return "text"
        case ("integer", _), ("number", _): return schema["minimum"] ?? 0
        case ("boolean", _): return true
        case ("array", _): return []
        case ("object", _): return [:]
        default: return schema["anyOf"]?.array?.first.map(value) ?? .null
        }
    }
}
