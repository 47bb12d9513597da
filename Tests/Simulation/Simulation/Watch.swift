import Coordinators
import JSONCoding
import Synchronization

/// Looks into one transition: compares each request with the model, and notes who may no longer be called.
final class Watch: TransitionProbe {
    /// What the walk knows of the transition.
    struct Cause {
        /// What it is made for, in a word.
        let word: String
        let now: Date
        /// Whether an event of the user is the cause.
        var isOfUser = false
        /// The built-in event that the user posted, as the model knows it.
        var event: UserEvent?
        /// How many alerts it answers, if there are any: that of a question about an answer is answered with the question.
        var answers = 1
        /// The protected screens that may be left: the user has agreed to that. `nil` for all, if nobody can be asked.
        var agreed: Set<String>? = []
        /// The event that is carried out: the one that is posted, or that its answer agrees to.
        var subject: String?
        /// What has not been agreed to, though the engine takes it so.
        var alibi: String?
    }

    private struct State {
        var last: Plain
        let original: Plain
        /// The screens that their coordinators protected before.
        let protected: Set<String>
        var doomed: Set<Int> = []
        /// Those that were removed without a word to their parents, by their parents.
        var silenced: Set<Int> = []
        /// Everyone who has lived, by their ids.
        var known: [Int: Plain.Node] = [:]
        /// Whom each message is for.
        var recipients: [Int: Set<Int>] = [:]
        /// The findings, each with the number of requests performed before it.
        var findings: [(Finding, performed: Int)] = []
        /// Calls of those that were gone, by the position in what was heard.
        var lateCalls: [Int] = []
        /// Calls while a link waits for a flow, likewise.
        var waitingCalls: [Int] = []
        var performed = 0
        var calls = 0
        var hasSeenUserEffect = false
        /// The states in which coordinators were called, by the position in what was heard.
        var called: [Int: Plain] = [:]
        /// The screens that the user has left, the topmost first, and whose they are.
        var left: [(owner: Int, screen: String)] = []
        /// The coordinators that have to hear that the user has selected a tab.
        var selectors: [Int] = []
        /// The timers that were set, by their numbers.
        var timers: [Int: Timer] = [:]
        var hasDismissedAlerts = false
        /// Who has signed in or out last.
        var userChange: UserChange?
    }

    /// When a timer is due, and what of that is idleness.
    struct Timer {
        var due: Date
        let idle: Double?
    }

    private let state: Mutex<State>
    private let first: State
    private let table: Table
    private let cause: Cause
    private let limits: Limits

    init(_ before: NavigationState, _ plain: Plain, _ cause: Cause, _ table: Table, _ limits: Limits) {
        var known: [Int: Plain.Node] = [:]
        for node in plain.nodes { known[node.id] = node }
        first = State(last: plain, original: plain, protected: Watch.protected(in: before), known: known)
        state = Mutex(first)
        (self.table, self.cause, self.limits) = (table, cause, limits)
    }

    /// The keys of the screens whose coordinators ask before they are left.
    private static func protected(in state: NavigationState) -> Set<String> {
        var guards: Set<Int> = []
        for living in state.coordinators where Actors.me(of: living.coordinator)?.guards == true {
            guards.insert(living.id)
        }
        return guards.isEmpty ? [] : Set(state.screens.filter { guards.contains($0.coordinator) }.map(\.key))
    }

    /// How many stacks there were in each other when the last request was performed.
    var nesting: Int { state.withLock { $0.last.nesting } }

    /// The timers that were set in the transition.
    var timers: [Int: Timer] { state.withLock { $0.timers } }

    /// Whether a link was offered while there was the flow for whose end it waits.
    var offersEarly: Bool {
        let heard = table.heard
        return state.withLock { $0.waitingCalls.contains { $0 < heard.count && heard[$0].callback == .open } }
    }

    /// How many steps the transition has taken, at least.
    var steps: Int { state.withLock { $0.calls + $0.performed } }

    func willStartOver() {
        state.withLock { $0 = first }
        table.startOver()
    }

    func willCall(_ coordinator: Int, in navigation: NavigationState) {
        table.call(coordinator)
        let heard = table.heard.count
        state.withLock { state in
            state.calls += 1
            catchUp(&state, with: navigation)
            state.called[heard] = state.last
            if state.doomed.contains(coordinator) { state.lateCalls.append(heard) }
            if navigation.waitsForFlow { state.waitingCalls.append(heard) }
        }
    }

    func didPerform(by coordinator: Int, _ navigation: NavigationState) {
        state.withLock { state in
            let before = state.last
            let issued = table.next(of: coordinator) { before[$0] != nil }
            state.performed += 1
            let after = Plain(navigation)
            state.last = after
            for node in after.nodes where state.known[node.id] == nil { state.known[node.id] = node }
            checkHeirs(from: before, to: after, &state)
            guard let issued, let node = before[coordinator] else { return }
            note(issued, by: coordinator, navigation, &state)
            let word = issued.command.word
            if word == .endChildren {
                state.silenced.formUnion(before.family(Set(before.children(coordinator).map(\.id))))
            } else if word == .setTabs {
                state.silenced.formUnion(Set(before.nodes.map(\.id)).subtracting(after.nodes.map(\.id)))
            }
            address(issued, of: node, in: before, &state)
            // It has been told of a child that went with its own last screen, and may show another one.
            if table.heard.last(where: { $0.coordinator == coordinator })?.about != nil {
                state.doomed.remove(coordinator)
            }
            if state.doomed.contains(coordinator), !word.outlivesCoordinator, after != before {
                report(.gone, "\(word.rawValue) of one whose last screen was removed", &state)
                state.doomed.remove(coordinator)
            }
            if word != .endChildren || issued.command.isOn ?? true {
                checkAsked(from: before, to: after, by: coordinator, word.rawValue, &state)
            }
            state.doomed.formUnion(after.bereft(since: before, by: coordinator))
            state.doomed.formIntersection(after.nodes.map(\.id))
            switch Model.perform(issued, by: node, on: before, limits: limits) {
            case .open: break
            case .refused(let reason): report(.request, "\(word.rawValue) is performed, though \(reason)", &state)
            case .state(var expected):
                expected.removeBereft(since: before, by: coordinator)
                if let difference = after.difference(to: expected, without: state.doomed) {
                    report(.request, "\(word.rawValue): \(difference)", &state)
                }
            }
        }
    }

    /// Notes what the state does not show, or what changes later.
    private func note(_ issued: Issued, by coordinator: Int, _ navigation: NavigationState, _ state: inout State) {
        let number = issued.command.at ?? 0
        switch issued.command.word {
        case .dismissAlerts: state.hasDismissedAlerts = true
        case .signIn: state.userChange = .signIn(user: "user\(number)")
        case .signOut: state.userChange = .signOut
        case .schedule, .scheduleAt, .scheduleWhenIdle:
            let work = navigation.pending.last { $0.id == issued.text && $0.coordinator == coordinator }
            guard let work else { return }
            let delay = 0.001 * Double(number)
            state.timers[work.number] = Timer(
                due: cause.now.addingTimeInterval(delay), idle: issued.command.word == .scheduleWhenIdle ? delay : nil)
        default: break
        }
    }

    /// Notes whom a message is for.
    private func address(_ issued: Issued, of node: Plain.Node, in before: Plain, _ state: inout State) {
        let kind = issued.command.kind
        switch issued.command.word {
        case .tell:
            let heir = before.lineage(node.id).dropFirst().first { Model.understands(kind, before[$0]?.kind) }
            state.recipients[issued.tag] = heir.map { [$0] } ?? []
        case .tellChildren:
            let family = before.family([node.id]).subtracting([node.id])
            state.recipients[issued.tag] = family.filter { Model.understands(kind, before[$0]?.kind) }
        default: break
        }
    }

    /// Takes over what the engine has done by itself: the user's own event at first, later the removal of those that
    /// have lost everything.
    private func catchUp(_ state: inout State, with navigation: NavigationState) {
        let now = Plain(navigation)
        let before = state.last
        state.last = now
        for node in now.nodes where state.known[node.id] == nil { state.known[node.id] = node }
        checkHeirs(from: before, to: now, &state)
        if !state.hasSeenUserEffect {
            state.hasSeenUserEffect = true
            checkAsked(from: before, to: now, by: nil, cause.word, &state)
            checkUserEffect(from: before, to: now, &state)
        } else if now != before {
            checkAsked(from: before, to: now, by: nil, "the end of a coordinator without screens", &state)
        }
        guard now != before else { return }
        state.doomed.formUnion(now.bereft(since: before, by: nil))
        state.doomed.formIntersection(now.nodes.map(\.id))
    }

    private func checkUserEffect(from before: Plain, to now: Plain, _ state: inout State) {
        guard let event = cause.event else { return }
        if event.leavesScreens, before.alerts.isEmpty { noteLeft(from: before, to: now, &state) }
        if let visible = before.visible, visible.key != now.visible?.key, state.protected.contains(visible.key),
            cause.agreed?.contains(visible.key) == false, event.event == .selectTab || event.event == .back,
            now.cards.contains(where: { $0.key == visible.key })
        {
            report(.asked, "\(cause.word) leaves a protected screen for another tab", &state)
        }
        switch event.expectation(on: before) {
        case .open: break
        case .refused(let reason): report(.request, "\(cause.word) is accepted, though \(reason)", &state)
        case .state(let expected):
            if let difference = now.differenceOfScreens(to: expected) {
                report(.request, "\(cause.word): \(difference)", &state)
            }
        }
    }

    /// Notes which delegates have to hear of the user's event.
    private func noteLeft(from before: Plain, to now: Plain, _ state: inout State) {
        let cards = now.cards
        let keys = Set(cards.map(\.key))
        for card in before.cards.reversed() where !keys.contains(card.key) {
            guard let owner = now[card.owner], owner.kind != .alpha,
                cards.contains(where: { $0.owner == owner.id }) || !now.children(owner.id).isEmpty
            else { continue }
            state.left.append((owner.id, card.name))
        }
        guard cause.event?.event == .back else { return }
        for card in cards {
            let selected = before.cards.first { $0.key == card.key }?.tabs?.selected
            guard let selected, let tabs = card.tabs, tabs.selected != selected, now[card.owner]?.kind != .alpha else {
                continue
            }
            state.selectors.append(card.owner)
        }
    }

    /// Requires that an alert stays with its coordinator, and after that with its nearest ancestor.
    private func checkHeirs(from before: Plain, to after: Plain, _ state: inout State) {
        guard !before.alerts.isEmpty, before.alerts != after.alerts || before.nodes != after.nodes else { return }
        for alert in before.alerts {
            guard let other = after.alerts.first(where: { $0.key == alert.key }) else { continue }
            var heir: Int? = alert.owner
            while let id = heir, after[id] == nil { heir = state.known[id]?.parent }
            if other.owner != heir { report(.alert, "it goes to another one than the nearest ancestor", &state) }
        }
    }

    /// Requires that no protected screen has gone unasked.
    private func checkAsked(
        from before: Plain, to after: Plain, by asker: Int?, _ word: String, _ state: inout State
    ) {
        guard let agreed = cause.agreed, !state.protected.isEmpty, before != after else { return }
        let left = Set(after.cards.map(\.key))
        for card in before.cards where state.protected.contains(card.key) && !left.contains(card.key) {
            guard card.owner != asker, !agreed.contains(card.key) else { continue }
            // One that no longer asks may be left.
            if let name = before[card.owner]?.name, table.guards(name) == false { continue }
            report(.asked, "\(cause.alibi.map { "\($0), " } ?? "")\(word) removes a protected screen", &state)
            return
        }
    }

    private func report(_ rule: Rule, _ signature: String, _ state: inout State) {
        let finding = Finding(rule: rule, signature: signature, reason: "in \(cause.word): \(signature)")
        state.findings.append((finding, state.performed))
    }

    /// What was found if the transition was refused.
    func findings(after error: NavigationError) -> [Finding] {
        state.withLock { state in
            let last = state.last
            guard let (coordinator, issued) = table.refused(living: { last[$0] != nil }), let node = last[coordinator]
            else { return [] }
            let word = issued.command.word.rawValue
            let expectation = Model.perform(issued, by: node, on: last, limits: limits)
            switch (error, expectation) {
            case (.impossibleRequest(_, let request, let reason), .state):
                guard request.hasPrefix(word.prefix { $0 != "." }), !reason.hasPrefix("button") else { return [] }
                return [Finding(rule: .request, signature: "\(word) is refused", reason: "\(request): \(reason)")]
            case (.stackLimit, .state), (.workLimit, .state):
                // The request that was refused is the next one, or a screen of `setStack`.
                return [Finding(rule: .bounds, signature: "\(word) reaches no limit", reason: "\(error)")]
            default: return []
            }
        }
    }

    /// What was found in a transition that was carried out.
    ///
    /// - Parameters:
    ///   - asks: whether a coordinator has objected.
    ///   - isHeldUp: whether an alert has taken the place of all that it would have done.
    ///   - isWhole: whether all that was heard counts: some of it may belong to a link that was given up.
    func findings(
        _ result: TransitionResult, _ plain: Plain, asks: Bool, isHeldUp: Bool, isWhole: Bool, isRelaunch: Bool,
        isForked: Bool
    ) -> [Finding] {
        let heard = table.heard
        return state.withLock { state in
            // The last request was not carried out, though others were if a link was opened after them.
            if asks {
                let performed = state.performed
                state.findings.removeAll { $0.performed == performed }
            }
            if isHeldUp {
                state.findings.removeAll { $0.0.rule == .gone }
                if !isRelaunch { checkQueue(plain, &state) }
                return state.findings.map(\.0)
            }
            catchUp(&state, with: result.state)
            // A link that was opened or offered after everything else may be undone, and with it what befell the alerts.
            if asks || result.caught != nil { state.findings.removeAll { $0.0.rule == .alert } }
            if !isRelaunch { checkQueue(plain, &state) }
            for node in plain.nodes where state.doomed.contains(node.id) {
                report(.gone, "one whose last screen was removed lives on", &state)
            }
            guard isWhole else { return state.findings.filter { $0.0.rule != .gone }.map(\.0) }
            for position in state.lateCalls where position < heard.count {
                // It is told of a child that has gone with its own last screen.
                if heard[position].about != nil { continue }
                report(.gone, "\(heard[position].callback.rawValue) of one whose last screen was removed", &state)
            }
            checkHeard(heard, &state)
            checkTold(heard, result, plain, isRelaunch, isForked, &state)
            checkDelegates(heard, plain, &state)
            checkMessages(heard, plain, &state)
            checkLinks(heard, &state)
            if !table.hasDropped, result.transition.userChange != state.userChange {
                report(.request, "another user is signed in than the last one", &state)
            }
            return state.findings.map(\.0)
        }
    }

    private func checkHeard(_ heard: [Heard], _ state: inout State) {
        var over: [String] = []
        for entry in heard {
            if over.contains(where: { entry.name == $0 || entry.name.hasPrefix("\($0).") }) {
                report(.gone, "\(entry.callback.rawValue) after its end was told", &state)
            }
            guard let about = entry.about else { continue }
            if entry.isStale { report(.told, "\(entry.callback.rawValue) with a child as it was before", &state) }
            if entry.callback == .childDidFinish || entry.callback == .childWasDismissed { over.append(about) }
        }
    }

    private func checkTold(
        _ heard: [Heard], _ result: TransitionResult, _ plain: Plain, _ isRelaunch: Bool, _ isForked: Bool,
        _ state: inout State
    ) {
        let gone = state.known.values.filter { plain[$0.id] == nil }.sorted { $0.id < $1.id }
        for node in gone where node.parent != nil {
            let told = heard.filter {
                $0.about == node.name && ($0.callback == .childDidFinish || $0.callback == .childWasDismissed)
            }
            if told.count > 1 {
                report(.told, "twice: \(told.map(\.callback.rawValue).joined(separator: ", "))", &state)
            }
            let isParentHere = node.parent.map { plain[$0] != nil } ?? false
            if told.isEmpty, isParentHere, !state.silenced.contains(node.id), !isRelaunch {
                report(.told, "a parent never hears of its child's end", &state)
            }
            guard node.kind == .beta, !isForked, state.original[node.id] != nil || !isRelaunch else { continue }
            let cleanUp = result.state.pending.first { $0.coordinator == node.id }?.cleanUp
            let expected: RemovalReason? =
                if isRelaunch { .relaunched } else if state.silenced.contains(node.id) { .removed } else {
                    told.first.map { $0.callback == .childDidFinish ? .finished : .dismissed }
                }
            if cleanUp == nil || expected != nil && cleanUp?.reason != expected {
                let reason = cleanUp.map { "recorded as \($0.reason)" } ?? "not recorded"
                report(.told, "willBeRemoved is \(reason)", &state)
            }
        }
        let names = (result.transition.finished + result.transition.dismissed).sorted()
        let kinds = gone.map(\.kind.rawValue).sorted()
        if names != kinds { report(.told, "finished and dismissed name others than those that are gone", &state) }
    }

    /// Requires that delegates hear which of their screens the user has left, and that another tab is selected.
    private func checkDelegates(_ heard: [Heard], _ plain: Plain, _ state: inout State) {
        guard let event = cause.event, event.leavesScreens, state.original.alerts.isEmpty else { return }
        var expected = state.left[...]
        for entry in heard where entry.callback == .screenWasRemoved {
            let next = expected.firstIndex { $0.owner == entry.coordinator && $0.screen == entry.screen }
            guard let next else {
                report(.told, "screenWasRemoved of another screen, or in another order", &state)
                return
            }
            // One that has gone meanwhile hears nothing.
            if expected[..<next].contains(where: { plain[$0.owner] != nil }) {
                report(.told, "a screen's owner never hears that it was left", &state)
            }
            expected = expected[(next + 1)...]
        }
        if expected.contains(where: { plain[$0.owner] != nil }) {
            report(.told, "a screen's owner never hears that it was left", &state)
        }
        for owner in state.selectors where plain[owner] != nil {
            if !heard.contains(where: { $0.callback == .didSelectTab && $0.coordinator == owner }) {
                report(.told, "a delegate never hears that a tab was selected", &state)
            }
        }
    }

    /// Requires that a link is offered from the root down, first to the children that the user sees, until one takes it.
    private func checkLinks(_ heard: [Heard], _ state: inout State) {
        var isTaken = false
        for (position, entry) in heard.enumerated() where entry.callback == .open {
            if isTaken { report(.link, "it is offered after it was taken", &state) }
            isTaken = entry.decision != .passedOn && !entry.waitsForFlow
            if entry.decision == .declined, cause.event?.event == .open {
                report(.link, "it is opened though one has declined it", &state)
            }
            guard let plain = state.called[position], let node = plain[entry.coordinator] else { continue }
            let isFirst = !heard[..<position].contains { $0.callback == .open }
            if isFirst, cause.event?.event == .open, node.parent != nil {
                report(.link, "it is offered to another one before the root", &state)
            }
            guard position > 0, heard[position - 1].callback == .open, heard[position - 1].coordinator == node.parent
            else { continue }
            let seen = plain.visible.map { plain.lineage($0.owner) } ?? []
            if !seen.contains(node.id),
                plain.nodes.contains(where: { $0.parent == node.parent && seen.contains($0.id) })
            {
                report(.link, "it is offered to a hidden child before the visible one", &state)
            }
        }
    }

    /// Requires that the alerts which the user has not answered are still there, in their order.
    private func checkQueue(_ plain: Plain, _ state: inout State) {
        guard cause.isOfUser, !state.hasDismissedAlerts, !table.hasDropped else { return }
        let waiting = state.original.alerts.dropFirst(cause.answers).map(\.key)
        if plain.alerts.map(\.key).filter(waiting.contains) != waiting {
            report(.alert, "one that waits is lost, or passed by another one", &state)
        }
    }

    private func checkMessages(_ heard: [Heard], _ plain: Plain, _ state: inout State) {
        var received: [Int: [Int]] = [:]
        for entry in heard { if let tag = entry.tag { received[tag, default: []].append(entry.coordinator) } }
        for (tag, expected) in state.recipients.sorted(by: { $0.key < $1.key }) {
            let got = received[tag] ?? []
            if Set(got).count < got.count { report(.message, "one hears it twice", &state) }
            if !Set(got).isSubset(of: expected) { report(.message, "another one hears it", &state) }
            let missing = expected.subtracting(got).filter { plain[$0] != nil && !state.doomed.contains($0) }
            if !missing.isEmpty { report(.message, "one who lives never hears it", &state) }
        }
    }
}
