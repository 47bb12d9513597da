package import Coordinators
import CoordinatorsTesting
import JSONCoding

/// A session under way: takes steps, and has the oracle look at each.
package struct Walk {
    /// One of the devices that use the session.
    struct Phone {
        var device: Device
        /// The screen and the alert that it was sent last.
        var screen: String?
        var alert: String?
    }

    let setup: Setup
    let table: Table
    private(set) var app: App
    private(set) var state: NavigationState
    private(set) var plain: Plain
    private(set) var phones: [Phone]
    /// In a word: what has become of the last step.
    var outcome: String { refusal.map(Oracle.word) ?? success }
    private var success = ""
    /// The word of an error takes time.
    private var refusal: NavigationError?
    private(set) var refusedCount = 0
    private var client: PlainClient
    private var now = Date(timeIntervalSince1970: 1_800_000_000)
    private var version = 1
    private var isForked = false
    /// The event to whose repetition the user has agreed, the device, and the screens that may be left.
    private var agreed: (event: PostedEvent, phone: Int, screens: Set<String>?)?
    /// What each question is about, by the alert's key: the screens that may be left if the user agrees.
    private var questions: [String: Set<String>] = [:]
    /// The event that was held up without its payload.
    private var heldUp: (event: PostedEvent, phone: Int)?
    private var user: String?
    /// What was posted last.
    private var last: PostedEvent?
    /// The timers, by their numbers.
    private var timers: [Int: Watch.Timer] = [:]
    /// The coordinator that keeps the pending link.
    private var keeper: Int?
    /// The state against which others are saved.
    private var base: (parts: SharedParts, state: JSON)
    private var costlyChecks = 0

    /// The devices of a session, of which each sees something else.
    package static let devices = [
        Device(1, role: .user, ClientInfo(locale: "en", platform: "phone")),
        Device(2, label: "help", role: .helper, ClientInfo(locale: "de", platform: "tv")),
        Device(3, role: .display, ClientInfo(locale: "ko", platform: "board")),
    ]

    init?(_ setup: Setup, _ table: Table) async {
        (self.setup, self.table) = (setup, table)
        app = .anything(setup)
        guard app.problems.isEmpty else { fatalError(app.problems.joined(separator: "; ")) }
        table.begin(isTrial: true)
        guard var run = try? app.beginLaunch(at: now, client: Walk.devices[0].client) else { return nil }
        run.origin = Walk.origin()
        guard let first = try? await run.result() else { return nil }
        state = first.state
        plain = Plain(state)
        client = PlainClient(state)
        base = Walk.base(state)
        phones = Walk.devices.map { Phone(device: $0) }
        for index in phones.indices { send(to: index) }
    }

    private static func origin(
        user: String? = nil, of device: Device? = nil, among devices: [Device] = Walk.devices
    ) -> KnownOrigin {
        KnownOrigin(session: "s_walk", user: user, transitionID: "t_walk", device: device, devices: devices)
    }

    /// What coordinators may learn about a transition that a device has brought about, or none.
    private func origin(of device: Device? = nil) -> KnownOrigin {
        Walk.origin(user: user, of: device, among: phones.map(\.device))
    }

    private static func base(_ state: NavigationState) -> (SharedParts, JSON) {
        (SharedParts(of: state), (try? JSON(parsing: state.encoded, maximumDepth: 512)) ?? .null)
    }

    /// What may be compared from run to run.
    var digest: String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in state.encoded { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return String(hash, radix: 16)
    }

    /// The device is sent the state.
    private mutating func send(to phone: Int) {
        (phones[phone].screen, phones[phone].alert) = (state.visible?.key, state.alert?.key)
    }

    /// Goes on with another drawing of the state.
    private mutating func show(_ drawn: NavigationState) {
        (state, plain, client) = (drawn, Plain(drawn), PlainClient(drawn))
    }

    private func phone(of step: Step) -> Int { abs(step.device ?? 0) % phones.count }

    /// Takes a step.
    ///
    /// - Parameter checksAll: whether the costly rules are checked, too.
    mutating func take(_ step: Step, checksAll: Bool) async -> [Finding] {
        (success, refusal) = ("-", nil)
        var findings: [Finding]
        switch step.verb {
        case .signal: findings = await signal(step)
        case .pair: findings = await carryOut(.pairing(PairedDevice(label: "tv", pairedAt: now)), "pair")
        case .advance: findings = await advance(step)
        case .effect: findings = await endEffect(step)
        case .read:
            send(to: phone(of: step))
            findings = []
        case .fork: findings = fork(step)
        case .restart: findings = await restart(step)
        default: findings = await post(step, checksAll: checksAll)
        }
        if checksAll { findings += await checkAll() }
        var seen: Set<String> = []
        return findings.filter { seen.insert($0.kind).inserted }
    }
}

// Events.
extension Walk {
    private mutating func post(_ step: Step, checksAll: Bool) async -> [Finding] {
        let phone = phone(of: step)
        let again = (agreed?.event ?? heldUp?.event ?? last).map { PostedEvent($0.type, payload: $0.payload) }
        let shown = (phones[phone].screen, phones[phone].alert)
        guard let event = step.verb == .again ? again : step.event(on: state, plain, table, shown: shown) else {
            return []
        }
        let builtIn = BuiltInEvent(rawValue: event.type)
        if let builtIn { table.note(builtIn) }
        last = event
        let trial = checksAll ? await attempt(event, by: phones[phone].device) : nil
        let stored = state
        if let drawn = try? app.drawing(of: state, for: phones[phone].device), drawn != state { show(drawn) }
        let before = state
        let isLeaving = isAnswer(event, before, leaving: true)
        var cause = Watch.Cause(word: builtIn?.rawValue ?? "event", now: now, isOfUser: true)
        cause.event = builtIn.map { UserEvent(event: $0, payload: event.payload) }
        let isRepeated = agreed.map {
            $0.event.type == event.type && $0.event.payload == event.payload && $0.phone == phone
        }
        if isLeaving, before.alert?.subject == "answer" { cause.answers = 2 }
        cause.subject = isLeaving ? before.alert?.subject : event.type
        if isLeaving {
            cause.agreed = before.alert.flatMap { questions[$0.key] }
        } else if isRepeated == true {
            cause.agreed = agreed?.screens
        } else if before.agreement?.event == event.type {
            if agreed == nil { cause.agreed = nil } else { cause.alibi = "agreed to another event" }
        } else if before.alert != nil {
            cause.alibi = "answered another alert"
        }
        let watch = Watch(before, plain, cause, table, app.limits)
        table.begin(isTrial: false)
        if event.type != "describeClient", agreed != nil { agreed = nil }
        do throws(NavigationError) {
            var run = try app.begin(event, on: state, at: now, by: phones[phone].device)
            run.origin = origin(of: phones[phone].device)
            run.probe = watch
            let atOnce = try run.resultAtOnce()
            let result = if let atOnce { atOnce } else { try await run.result() }
            if isLeaving, let heldUp, before.alert?.subject == heldUp.event.type {
                agreed = (heldUp.event, heldUp.phone, cause.agreed)
            }
            heldUp = result.asksFirst ? (event, phone) : nil
            var findings = keep(
                result, watch, cause,
                isRelaunch: builtIn == .relaunch || isLeaving && before.alert?.subject == "relaunch")
            findings += checkSeen(event, before, phones[phone]) + checkPressed(event, before)
            if builtIn == .back { findings += checkBack(before, result) }
            if builtIn == .describeClient {
                findings += checkContents(before)
                phones[phone].device.describe(state.client)
            }
            if case .accepted(let other)? = trial, other != state {
                findings.append(Finding(rule: .same, signature: "another state", reason: "\(event.type) differs"))
            }
            send(to: phone)
            return findings
        } catch {
            let shown = phones[phone]
            send(to: phone)
            show(stored)
            return refuse(error, watch, event.type) + checkStale(error, event, before, shown)
                + checkPossible(error, cause, on: before)
        }
    }

    /// Requires that content is read again in another language.
    private func checkContents(_ before: NavigationState) -> [Finding] {
        guard before.client.language != state.client.language else { return [] }
        for old in before.screens where old.screen.hasContent {
            guard let new = state.screens.first(where: { $0.key == old.key }), new.screen.hasContent else { continue }
            if new.screen.contentVersion == old.screen.contentVersion {
                let reason = "content is not read again in another language"
                return [Finding(rule: .client, signature: reason, reason: reason)]
            }
        }
        return []
    }

    private func isAnswer(_ event: PostedEvent, _ state: NavigationState, leaving: Bool) -> Bool {
        guard event.type == "answer", let alert = state.alert, alert.subject != nil else { return false }
        return alert.alert.buttons.first { $0.id == event.payload?["button"]?.string }?.leaves == leaving
    }

    /// Keeps the result of a transition, and checks it.
    private mutating func keep(
        _ result: TransitionResult, _ watch: Watch, _ cause: Watch.Cause, isRelaunch: Bool
    ) -> [Finding] {
        let (before, word) = ((state: state, plain: plain), cause.word)
        (state, plain) = (result.state, Plain(result.state))
        let known = Set(before.plain.alerts.map(\.key))
        let new = state.alert == nil ? [] : state.alerts.filter { !known.contains($0.key) && $0.subject != nil }
        let asks = !new.isEmpty
        for alert in new { questions[alert.key] = question(of: alert, before.plain, cause) }
        let isAgreed = new.contains { alert in
            let screens = before.plain.cards.filter { $0.owner == alert.coordinator }.map(\.key)
            return alert.subject == cause.subject && !screens.isEmpty && cause.agreed?.isSuperset(of: screens) == true
        }
        let isCaught = result.caught != nil
        let isHeldUp =
            (asks || isCaught) && result.transition.dismissed.isEmpty && result.transition.finished.isEmpty
            && plain.nodes == before.plain.nodes && plain.main == before.plain.main && plain.flows == before.plain.flows
        (success, refusal) = (isHeldUp ? "asks" : "ok", nil)
        if let change = result.transition.userChange { user = change.user }
        let isWhole = !isCaught && before.state.pendingLink == nil && state.pendingLink == nil
        var findings = watch.findings(
            result, plain, asks: asks, isHeldUp: isHeldUp, isWhole: isWhole, isRelaunch: isRelaunch, isForked: isForked)
        if isAgreed, isHeldUp, isWhole {
            let reason = "the user is asked again for what has been agreed to"
            findings.append(Finding(rule: .asked, signature: reason, reason: "\(word): \(reason)"))
        }
        findings += checkQuestions(before.state, cause)
        if asks, !isHeldUp, isWhole, word != "answer", before.state.alert == nil {
            findings.append(
                Finding(rule: .unlisted, signature: "\(word) was held up and has changed something", reason: word))
        }
        let after = PlainClient(state)
        if let fault = client.follow(result.transition.operations, to: after) {
            let operations = result.transition.operations
            findings.append(
                Finding(
                    rule: .client, signature: fault,
                    reason: "in \(word): \(operations)"))
        }
        client = after
        findings += Oracle.checkPlace(state, plain) + Oracle.checkLimits(plain, app.limits)
        findings += checkTimers(watch, cause)
        if !isHeldUp, !isCaught, !asks, !isRelaunch { findings += checkPendingLink(before.state, cause, watch) }
        noteKeeper()
        if word != "back", before.state.alert?.subject != "back" {
            findings += Oracle.checkHistory(before.plain, plain, word)
        }
        return findings
    }

    /// Requires that a question is about what is there, and that an agreement outlasts what a client says about itself.
    private func checkQuestions(_ before: NavigationState, _ cause: Watch.Cause) -> [Finding] {
        var fault: String?
        if cause.event?.event == .describeClient, before.agreement != nil, state.agreement == nil {
            fault = "a client that describes itself loses its agreement"
        }
        let gone = Set(before.screens.map(\.key)).subtracting(state.screens.map(\.key))
        if !cause.isOfUser, !gone.isEmpty, let known = before.alert?.key {
            let stays = state.alert != nil && state.alerts.contains { $0.key == known && $0.subject != nil }
            if stays { fault = "a question stays although a screen is gone" }
        }
        return fault.map { [Finding(rule: .asked, signature: $0, reason: "in \(cause.word): \($0)")] } ?? []
    }

    /// The screens that may be left if the user agrees: all of the coordinator that asks, and those of earlier questions
    /// about the same event. `nil` for all.
    private func question(of alert: PresentedAlert, _ before: Plain, _ cause: Watch.Cause) -> Set<String>? {
        let screens = (before.cards + plain.cards).filter { $0.owner == alert.coordinator }.map(\.key)
        // A link that has waited is opened after another event was agreed to.
        guard alert.subject == cause.subject else { return Set(screens) }
        return cause.agreed.map { $0.union(screens) }
    }

    /// Requires that timers are due when they were asked for, and that what the user does starts those again that wait for
    /// idleness.
    private mutating func checkTimers(_ watch: Watch, _ cause: Watch.Cause) -> [Finding] {
        timers.merge(watch.timers) { $1 }
        if cause.isOfUser { restartIdleTimers() }
        return compareTimers()
    }

    private mutating func restartIdleTimers() {
        for (number, timer) in timers {
            if let idle = timer.idle { timers[number]?.due = now.addingTimeInterval(idle) }
        }
    }

    private mutating func compareTimers() -> [Finding] {
        guard !timers.isEmpty else { return [] }
        var isWrong = false
        var waiting: [Int: Watch.Timer] = [:]
        for work in state.pending {
            guard let timer = timers[work.number], let due = work.due else { continue }
            waiting[work.number] = timer
            // Times are saved in milliseconds.
            if abs(due.timeIntervalSince(timer.due)) > 0.003 { isWrong = true }
        }
        timers = waiting
        guard isWrong else { return [] }
        return [Finding(rule: .once, signature: "a timer is due at another time", reason: "\(state.pending)")]
    }

    /// Requires that a link which is kept, or waits for an answer, is offered again; one that waits for a flow, when that has
    /// ended and not before.
    private func checkPendingLink(_ before: NavigationState, _ cause: Watch.Cause, _ watch: Watch) -> [Finding] {
        guard let link = before.pendingLink else { return [] }
        let offered = table.heard.filter { $0.callback == .open }
        var fault: String?
        if link.waitsForAnswer {
            let isOver = state.alert == nil && state.agreement == nil
            if cause.isOfUser, isOver, offered.isEmpty { fault = "one that has waited for an answer is never offered" }
            if state.agreement != nil, !offered.isEmpty { fault = "one is offered before the event that was agreed to" }
        } else if let keeper, cause.event?.event != .open, before.alert?.subject != "open" {
            let root = plain.nodes.first?.id
            let waits = plain.nodes.contains { $0.kind.rawValue == link.flow }
            if !waits, !offered.contains(where: { $0.coordinator == keeper || $0.coordinator == root }) {
                fault = "one that is kept is not offered again"
            }
            if watch.offersEarly { fault = "one that waits for a flow is offered before its end" }
        }
        return fault.map { [Finding(rule: .link, signature: $0, reason: "in \(cause.word): \($0)")] } ?? []
    }

    private mutating func noteKeeper() {
        guard let link = state.pendingLink, !link.waitsForAnswer else { return keeper = nil }
        let kept = table.heard.last { $0.isKept && $0.hasReturned }
        if let kept { keeper = kept.coordinator }
    }

    /// Requires that what the documentation lets the user do is not refused.
    private func checkPossible(
        _ error: NavigationError, _ cause: Watch.Cause, on before: NavigationState
    ) -> [Finding] {
        guard let event = cause.event, Oracle.isProtocol(error), error != .staleScreen,
            case .state = event.expectation(on: Plain(before))
        else { return [] }
        return [Finding(rule: .request, signature: "\(cause.word) is refused", reason: "\(error)")]
    }

    private mutating func refuse(_ error: NavigationError, _ watch: Watch, _ word: String) -> [Finding] {
        refusedCount += 1
        refusal = error
        var findings = watch.findings(after: error)
        switch error {
        case .depthLimit, .runawayTransition:
            if watch.steps < setup.stepLimit / 2 {
                let depth = max(plain.nesting, watch.nesting)
                if depth < setup.depth {
                    findings.append(
                        Finding(
                            rule: .bounds, signature: "\(Oracle.word(error)), though no limit is reached",
                            reason: "\(word): \(watch.steps) steps, \(depth) stacks in each other: \(error)"))
                }
            }
        case .invariantViolated(let violation):
            findings.append(
                Finding(rule: .place, signature: Oracle.word(error), reason: "\(word): \(violation)"))
        default: break
        }
        // What coordinators ask for may be nonsense, which is their fault; the rest is not.
        return findings.filter { $0.rule != .place || !Oracle.isAuthors(error, setup) }
    }

    private func checkSeen(_ event: PostedEvent, _ before: NavigationState, _ phone: Phone) -> [Finding] {
        var reason: String?
        if let screen = event.screen {
            if let alert = before.alert, phone.alert != alert.key {
                reason = "\(event.type) names a screen, and acts on an alert that its client was not sent"
            } else if before.alert == nil, screen != before.visible?.key {
                reason = "\(event.type) names a screen that is not visible"
            }
        }
        if let alert = event.payload?["alert"]?.string, event.type == "answer", alert != before.alert?.key {
            reason = "answer names an alert that is not shown"
        }
        return reason.map { [Finding(rule: .seen, signature: $0, reason: $0)] } ?? []
    }

    /// No device presses a button whose event is for others.
    private func checkPressed(_ event: PostedEvent, _ before: NavigationState) -> [Finding] {
        let pressed = before.alert?.alert.buttons.first { $0.id == event.payload?["button"]?.string }
        guard event.type == "answer", pressed?.eventName == "plan", before.role?.name != "user" else { return [] }
        let reason = "a button that is for others is pressed"
        return [Finding(rule: .unlisted, signature: reason, reason: reason)]
    }

    /// An event that names what is no longer shown is refused for that reason.
    private func checkStale(
        _ error: NavigationError, _ event: PostedEvent, _ before: NavigationState, _ phone: Phone
    ) -> [Finding] {
        guard let screen = event.screen, error != .staleScreen else { return [] }
        let isStale = before.alert.map { $0.key != phone.alert } ?? (screen != before.visible?.key)
        guard isStale else { return [] }
        let cause =
            before.alert == nil ? "a screen that is not visible" : "a screen, under an alert that it was not sent"
        let reason = "a client that names \(cause), is refused by another error than stale-screen"
        return [Finding(rule: .seen, signature: reason, reason: "\(event.type): \(error)")]
    }

    private func checkBack(_ before: NavigationState, _ result: TransitionResult) -> [Finding] {
        guard let plan = before.backPlan, before.pendingLink == nil else { return [] }
        let asks = before.asks(before: plan)
        let isAsked = outcome == "asks" && result.caught == nil
        var fault: String?
        // Something that was called may have objected for other screens.
        if asks, !isAsked, before.client == state.client, before.role == state.role { fault = "it was to ask" }
        if !asks, isAsked, table.heard.isEmpty { fault = "it was not to ask" }
        let operations = result.transition.operations
        if !asks, !isAsked, result.caught == nil {
            switch plan {
            case .dismissAlert:
                if operations.first != before.alert.map({ .dismissAlert(key: $0.key) }) { fault = "the alert" }
            case .pop(let key, _):
                if state.screens.contains(where: { $0.key == key }) { fault = "the screen is still there" }
            case .dismiss(let key, _):
                if state.presented.contains(where: { $0.key == key }) { fault = "the flow is still there" }
            case .selectTab(let key, let position, _):
                let tabs = before.screens.first { $0.key == key }?.tabs
                let selects = operations.contains {
                    if case .selectTab(key, tabs?.items[position].id ?? "") = $0 { true } else { false }
                }
                if !selects, table.heard.isEmpty { fault = "the tab is not selected" }
            }
        }
        return fault.map { [Finding(rule: .back, signature: $0, reason: "\(plan): \($0)")] } ?? []
    }
}

// Everything else.
extension Walk {
    private mutating func carryOut(_ occurrence: Occurrence, _ word: String) async -> [Finding] {
        let cause = Watch.Cause(word: word, now: now, agreed: nil)
        let watch = Watch(state, plain, cause, table, app.limits)
        table.begin(isTrial: false)
        do throws(NavigationError) {
            guard var run = try app.begin(occurrence, on: state, at: now) else { return [] }
            run.origin = origin()
            run.probe = watch
            let result = try await run.result()
            (agreed, heldUp) = (nil, state.alert == nil ? nil : heldUp)
            return keep(result, watch, cause, isRelaunch: false)
        } catch {
            var findings = refuse(error, watch, word)
            // A server tries again a few times, then gives up.
            switch occurrence {
            case .effect(let number, .done(_?)) where Oracle.word(error) == "stateLimit":
                findings += await lose(number, to: error)
            case .timer(let number), .effect(let number, _):
                if let result = app.dropping(number, from: state) { take(result.state) }
            case .signal, .pairing: break
            }
            return findings
        }
    }

    private mutating func take(_ other: NavigationState) {
        state = other
        plain = Plain(other)
        client = PlainClient(other)
    }

    /// An effect's outcome is too large, however often it is tried: the coordinator has to hear of a failure.
    private mutating func lose(_ number: Int, to error: NavigationError) async -> [Finding] {
        let hears = table.heard.contains { $0.callback == .effectDidFail }
        if let result = app.dropping(number, from: state) { take(result.state) }
        guard !hears else { return [] }
        let reason = "the outcome of an effect is lost to \(Oracle.word(error)): its coordinator hears nothing"
        return [Finding(rule: .once, signature: reason, reason: reason)]
    }

    private mutating func signal(_ step: Step) async -> [Finding] {
        guard let node = Actors.element(of: plain.nodes, step.at ?? 0) else { return [] }
        let script = JSON.integer(table.number(of: step.script))
        let posted = PostedEvent("ping", payload: ["to": .string(node.name), "script": script])
        let expected = receiver(of: node.name)
        let findings = await carryOut(.signal(posted), "signal")
        guard step.script?.contains(where: { $0.word == .refuse }) != true else { return findings }
        // The coordinator that it names takes it.
        if ["signalNotAccepted", "signalRefused"].contains(outcome) {
            let reason = "a signal is refused by another coordinator than the one that it is for"
            return findings + [Finding(rule: .listed, signature: reason, reason: reason)]
        }
        guard outcome == "ok", table.heard.first(where: { $0.callback == .receive })?.coordinator != expected else {
            return findings
        }
        let reason = "a signal reaches another coordinator than the first that takes it"
        return findings + [Finding(rule: .message, signature: reason, reason: reason)]
    }

    /// Who receives a signal: of the coordinators from the visible screen's up to the root, then of all others, the first
    /// one that does not refuse what is for another one.
    private func receiver(of name: String) -> Int? {
        let seen = plain.visible.map { plain.lineage($0.owner) } ?? []
        return (seen + plain.nodes.map(\.id).filter { !seen.contains($0) }).first { id in
            guard let me = state[id].flatMap({ Actors.me(of: $0.coordinator) }) else { return false }
            return table.conduct(me.conduct).isPicky != true || me.name == name
        }
    }

    private mutating func advance(_ step: Step) async -> [Finding] {
        var findings: [Finding] = []
        let next = state.pending.compactMap(\.due).min()
        if let at = step.at {
            now = now.addingTimeInterval(0.001 * Double(abs(at)))
        } else if let next {
            now = max(now, next)
        }
        for _ in 0..<20 {
            guard let timer = state.timersDue(at: now).first else { break }
            if let known = timers[timer.number], known.due.timeIntervalSince(now) > 0.003 {
                findings.append(Finding(rule: .once, signature: "a timer fires early", reason: "\(timer)"))
            }
            findings += await carryOut(.timer(timer.number), "timer")
            if state.pending.contains(where: { $0.number == timer.number }) {
                findings.append(Finding(rule: .once, signature: "a timer that has fired is still there", reason: ""))
                break
            }
        }
        return findings
    }

    private mutating func endEffect(_ step: Step) async -> [Finding] {
        guard let work = Actors.element(of: state.pending.filter { $0.due == nil }, step.at ?? 0),
            let run = EffectRun(
                of: work.number, in: state, of: app, session: "s_walk", user: user, effectID: "e_\(work.number)",
                attempt: 1, at: now)
        else { return [] }
        let outcome: EffectOutcome
        do { outcome = .done(try await run.signal()) } catch { outcome = .failed(error) }
        _ = run.retries
        let hasFailed = if case .failed = outcome { true } else { false }
        var findings = await carryOut(.effect(work.number, outcome), "effect")
        if hasFailed, work.cleanUp == nil, self.outcome == "ok", table.heard.first?.callback != .effectDidFail {
            let reason = "a coordinator never hears that its effect has failed"
            findings.append(Finding(rule: .once, signature: reason, reason: reason))
        }
        if state.pending.contains(where: { $0.number == work.number }) {
            return findings + [Finding(rule: .once, signature: "an effect that has ended is still there", reason: "")]
        }
        return findings
    }

    private mutating func fork(_ step: Step) -> [Finding] {
        do throws(NavigationError) {
            let forked = try app.fork(of: state, for: phones[phone(of: step)].device, at: now)
            take(forked)
            isForked = true
            (agreed, heldUp) = (nil, nil)
            for index in phones.indices { send(to: index) }
            restartIdleTimers()
            var findings = Oracle.checkPlace(state, plain) + compareTimers()
            if state.pending.contains(where: { $0.due == nil }) {
                let reason = "a fork performs what its original does"
                findings.append(Finding(rule: .once, signature: reason, reason: reason))
            }
            if state.endsWithCleanUps {
                let reason = "a fork cleans up for its original"
                findings.append(Finding(rule: .once, signature: reason, reason: reason))
            }
            return findings
        } catch {
            // Drawn for another device it may be larger.
            if case .stateLimit = error { return [] }
            return [Finding(rule: .bounds, signature: "fork: \(Oracle.word(error))", reason: "\(error)")]
        }
    }

    /// The session is read from its saved text, by the same version of the app or by the next one.
    private mutating func restart(_ step: Step) async -> [Finding] {
        let findings = Oracle.checkSaved(state, app)
        if step.at == 1, version < 3 {
            version += 1
            app = .anything(setup, version: version)
        }
        guard let saved = try? JSON(parsing: state.encoded, maximumDepth: 512), let restored = try? app.restore(saved)
        else { return findings }
        if version > 1, !restored.losses.isEmpty {
            return findings + [
                Finding(rule: .restored, signature: "a newer version loses something", reason: "\(restored.losses)")
            ]
        }
        take(restored.state)
        return findings + compareTimers()
    }
}

// What is tried on copies.
extension Walk {
    enum Trial {
        case accepted(NavigationState)
        case refused(NavigationError)
    }

    func attempt(_ event: PostedEvent, by device: Device? = nil) async -> Trial {
        table.begin(isTrial: true)
        do throws(NavigationError) {
            var run = try app.begin(event, on: state, at: now, by: device)
            run.origin = origin(of: device)
            if let result = try run.resultAtOnce() { return .accepted(result.state) }
            return .accepted(try await run.result().state)
        } catch {
            return .refused(error)
        }
    }

    private func attempt(signal: PostedEvent) async -> NavigationError? {
        table.begin(isTrial: true)
        do throws(NavigationError) {
            guard var run = try app.begin(.signal(signal), on: state, at: now) else { return nil }
            _ = try await run.result()
            return nil
        } catch {
            return error
        }
    }

    private mutating func checkAll() async -> [Finding] {
        var findings = Oracle.checkSaved(state, app) + Oracle.checkCounted(state, app)
        findings += Oracle.checkOffered(state, plain) + Oracle.checkDelta(state, base.parts, base.state)
        costlyChecks += 1
        if costlyChecks % 3 == 0 { base = Walk.base(state) }
        for offer in Oracle.offers(of: state) {
            guard case .refused(let error) = await attempt(offer.event), Oracle.isProtocol(error) else { continue }
            findings.append(
                Finding(
                    rule: .listed, signature: "\(offer.word): \(Oracle.word(error))",
                    reason: "\(offer.event.type) \(offer.event.payload ?? [:]) is offered: \(error)"))
        }
        let accepted = Set(state.acceptedEvents)
        for name in AnyEvent.names + BuiltInEvent.allCases.map(\.rawValue) where !accepted.contains(name) {
            guard case .accepted = await attempt(PostedEvent(name, payload: Oracle.payload(of: name, in: state))) else {
                continue
            }
            findings.append(
                Finding(rule: .unlisted, signature: "\(name) is accepted", reason: "\(name) is not offered"))
        }
        for event in BuiltInEvent.allCases where accepted.contains(event.rawValue) {
            for payload in Oracle.misfits(event) {
                let trial = await attempt(PostedEvent(event.rawValue, payload: payload))
                if case .refused(.invalidEvent) = trial { continue }
                let signature = "\(event.rawValue) with a payload that does not fit is not refused as such"
                findings.append(Finding(rule: .unlisted, signature: signature, reason: "\(payload): \(trial)"))
            }
        }
        if case .accepted = await attempt(PostedEvent("back", screen: "k0")) {
            findings.append(Finding(rule: .seen, signature: "a key that never was", reason: "back of k0 is accepted"))
        }
        findings += await checkDevices()
        findings += await checkContent()
        for (coordinator, signal) in state.acceptedSignals {
            let name = Actors.me(of: coordinator.coordinator)?.name ?? ""
            let posted = PostedEvent(signal.name, payload: ["to": .string(name), "script": 0])
            guard let error = await attempt(signal: posted), Oracle.isProtocol(error) else { continue }
            findings.append(Finding(rule: .listed, signature: "signal: \(Oracle.word(error))", reason: "\(error)"))
        }
        return findings
    }

    /// What is drawn for a device, it may post.
    private func checkDevices() async -> [Finding] {
        var findings: [Finding] = []
        for phone in phones where !state.isDrawn(for: phone.device) {
            guard let drawn = try? app.drawing(of: state, for: phone.device) else { continue }
            let own = Device(NavigationState.firstDevice, role: state.role, state.client)
            if (try? app.drawing(of: drawn, for: own)) != state {
                let reason = "drawn for another device and back, it is another state"
                findings.append(Finding(rule: .same, signature: reason, reason: reason))
            }
            for offer in Oracle.offers(of: drawn) where BuiltInEvent(rawValue: offer.event.type) == nil {
                guard case .refused(let error) = await attempt(offer.event, by: phone.device), Oracle.isProtocol(error)
                else { continue }
                // What does not depend on the device is a finding already.
                if case .refused(let other) = await attempt(offer.event), other == error,
                    state.acceptedEvents.contains(offer.event.type)
                {
                    continue
                }
                findings.append(
                    Finding(
                        rule: .listed, signature: "drawn for another device: \(Oracle.word(error))",
                        reason: "\(offer.event.type) by the \(phone.device.role?.name ?? ""): \(error)"))
            }
        }
        return findings
    }

    private func checkContent() async -> [Finding] {
        var findings: [Finding] = []
        for placed in state.screens where placed.screen.hasContent {
            guard let run = ContentRun(of: placed.key, in: state, of: app, session: "s_walk", at: now),
                (try? await run.text()) != nil
            else {
                findings.append(Finding(rule: .place, signature: "a screen has no content", reason: placed.key))
                continue
            }
        }
        return findings
    }
}

extension Plain {
    /// How many stacks there are in each other at most: flows over flows, tabs in tabs.
    var nesting: Int {
        func depth(_ pile: Pile) -> Int {
            1 + (pile.cards.flatMap { $0.tabs?.items ?? [] }.map { depth($0.stack) }.max() ?? 0)
        }
        return flows.count + max(depth(main), flows.map { depth($0.pile) }.max() ?? 0)
    }
}

extension Device {
    /// The device says something else about itself.
    fileprivate mutating func describe(_ client: ClientInfo) {
        self = Device(number, label: label, role: role, client)
    }
}

extension Setup {
    var stepLimit: Int { 256 }
}
