package import Coordinators
import JSONCoding

/// Chooses what happens, from one seed: mostly what is possible now, sometimes what is stale, repeated or wrong. The
/// weights are drawn anew for each seed, so that a walk without `pop` grows stacks, and one of alerts fills queues.
package struct Generator {
    private var numbers: Numbers
    private var words: [(Word, Int)] = []
    private var verbs: [(Step.Verb, Int)] = []
    private var callbacks: [(Callback, Int)] = []
    /// One of so many choices is made without regard to what is possible.
    private let oddity: Int
    private let scriptLength: Int
    /// How long texts may be.
    private let textLength: Int
    private let nesting: Int
    private let guardsOften: Bool
    /// Whether nothing is asked for that only removes.
    private let grows: Bool
    private let tabCount: Int
    /// One of so many words is used at all.
    private let sparseness: Int

    package init(seed: UInt64) {
        numbers = Numbers(seed: seed)
        oddity = [4, 10, 40, 1000][numbers.below(4)]
        scriptLength = [1, 2, 3, 6, 16][numbers.below(5)]
        textLength = [0, 0, 10, 100, 1000][numbers.below(5)]
        nesting = [1, 2, 3][numbers.below(3)]
        guardsOften = numbers.isOneIn(2)
        grows = numbers.isOneIn(6)
        tabCount = 1 + numbers.below(4)
        sparseness = [1, 2, 4, 8][numbers.below(4)]
        for word in Word.allCases { words.append((word, weight(of: word))) }
        for verb in Step.Verb.allCases { verbs.append((verb, weight(of: verb))) }
        for callback in Callback.scripted {
            callbacks.append((callback, numbers.isOneIn(2) ? 1 + numbers.below(4) : 0))
        }
    }

    private mutating func weight(of word: Word) -> Int {
        let weight = numbers.isOneIn(sparseness) ? [1, 2, 4, 8, 32][numbers.below(5)] : 0
        switch word {
        case .push, .start: return max(1, weight)
        case .pop, .popTo, .popToKey, .popToRoot, .setStack, .setTabs, .dismiss, .dismissPresented, .finish,
            .endChildren:
            return grows ? 0 : weight
        case .fail, .refuse: return weight / 8
        case .guardScreens: return guardsOften ? 8 : weight / 4
        case .conduct, .enable, .share, .look, .resolve, .remember: return weight / 4
        default: return weight
        }
    }

    private mutating func weight(of verb: Step.Verb) -> Int {
        let weight = numbers.isOneIn(max(2, sparseness / 2)) ? [1, 2, 4, 8][numbers.below(4)] : 0
        switch verb {
        case .back, .backTo, .backToRoot, .dismiss: return grows ? 0 : weight
        case .relaunch where grows: return 0
        case .run: return 16
        case .anywhere: return max(2, weight)
        case .answer: return 8
        case .relaunch, .fork, .restart: return weight / 4
        case .unknown, .plan: return weight / 4
        default: return weight
        }
    }

    /// What a walk begins with.
    package mutating func setup() -> Setup {
        var setup = Setup()
        // Small sessions reach their limits, and take less time.
        if !numbers.isOneIn(5) {
            setup.stack = [3, 5, 10, 64][numbers.below(4)]
            setup.depth = [4, 8, 32][numbers.below(3)]
            setup.alerts = [2, 3, 16][numbers.below(3)]
            setup.pending = [3, 8, 64][numbers.below(3)]
            setup.sizeLimit = [2, 4, 4, 8, 8, 16, 32, 1024][numbers.below(8)] * 1024
        }
        setup.showsErrors = numbers.isOneIn(2)
        setup.conduct = conduct(depth: 0)
        // A session begins with a screen.
        setup.conduct.on.removeAll { $0.callback == .start }
        var push = Command(numbers.isOneIn(3) ? .pushTabs : .push)
        push.look = look(depth: nesting)
        if push.word == .pushTabs {
            push.tabs = tabs(depth: nesting)
            push.to = numbers.below(3)
        }
        setup.conduct.on.insert(Reaction(callback: .start, script: [push]), at: 0)
        return setup
    }

    // MARK: Steps

    package mutating func step(for state: NavigationState, _ plain: Plain) -> Step {
        let isOdd = numbers.isOneIn(oddity)
        let possible = verbs.map { verb, weight in (verb, isOdd || isPossible(verb, state, plain) ? weight : 0) }
        var step = Step(numbers.choose(possible) ?? .run)
        // What meets an alert or an agreement is what nobody has thought of.
        if !plain.alerts.isEmpty, numbers.isOneIn(6) { step.verb = .signal }
        if state.agreement != nil, numbers.isOneIn(2) { step.verb = .again }
        step.device = numbers.isOneIn(4) ? 1 : numbers.isOneIn(12) ? 2 : nil
        if numbers.isOneIn(3) { step.names = numbers.isOneIn(8) ? .stale : .shown }
        if step.names == .stale { step.to = 1 + numbers.below(20) }
        let visible = plain.visible.flatMap { plain[$0.owner] }
        switch step.verb {
        case .run, .anywhere, .signal, .open:
            step.at = numbers.below(8)
            step.script = script(for: visible, in: plain, isOdd)
            if step.verb == .open { step.script = script(for: plain.nodes.first, in: plain, isOdd) }
        case .answer:
            step.at = numbers.below(3)
            if numbers.isOneIn(2) { step.names = .shown }
        case .go, .plan, .restart: step.at = numbers.isOneIn(3) ? 1 : nil
        case .advance: step.at = numbers.isOneIn(2) ? numbers.below(2000) : nil
        case .dismiss: step.at = numbers.isOneIn(2) ? numbers.below(4) : nil
        case .selectTab:
            step.at = numbers.below(4)
            step.to = numbers.below(2)
        case .backTo:
            step.at = numbers.below(8)
            step.to = numbers.below(2)
        case .tap, .describeClient, .effect: step.at = numbers.below(4)
        case .unknown, .again, .back, .backToRoot, .relaunch, .pair, .read, .fork: break
        }
        if step.names == .stale, step.to == nil { step.to = 1 }
        return step
    }

    private func isPossible(_ verb: Step.Verb, _ state: NavigationState, _ plain: Plain) -> Bool {
        let hasAlert = !plain.alerts.isEmpty
        switch verb {
        case .run, .anywhere: return state.accepts(PostedEvent(verb.rawValue, payload: 0))
        case .go, .plan: return state.accepts(PostedEvent(verb.rawValue))
        case .tap, .relaunch, .describeClient, .again: return !hasAlert
        case .unknown: return false
        case .back: return state.backPlan != nil
        case .backTo, .backToRoot: return !hasAlert && plain.visiblePiles.contains { $0.cards.count > 1 }
        case .selectTab: return !hasAlert && plain.visiblePiles.count > 1
        case .dismiss: return !hasAlert && !plain.flows.isEmpty
        case .answer: return hasAlert
        case .advance: return state.pending.contains { $0.due != nil }
        case .effect: return state.pending.contains { $0.due == nil }
        case .signal, .open, .pair, .read, .fork, .restart: return true
        }
    }

    // MARK: Scripts

    /// What a coordinator does next.
    private mutating func script(for node: Plain.Node?, in plain: Plain, _ isOdd: Bool) -> [Command] {
        var script: [Command] = []
        let facts = node.map { Facts($0, plain) }
        let possible = words.filter { facts?.allow($0.0) ?? false }
        let count = 1 + numbers.below(scriptLength)
        if !plain.alerts.isEmpty, numbers.isOneIn(3) { script.append(command(.alert, depth: 0)) }
        while script.count < count {
            let isOdd = isOdd || numbers.isOneIn(oddity * 2)
            let command = command(numbers.choose(isOdd ? words : possible) ?? .push, depth: 0)
            script.append(command)
            // Nothing follows but an alert or a message.
            if command.word == .finish || command.word == .fail || command.word == .refuse { break }
        }
        return script
    }

    /// What a coordinator does in one of its functions, whatever the state is like then.
    private mutating func reaction(depth: Int) -> [Command] {
        var script: [Command] = []
        for _ in 0...numbers.below(2) {
            let safe = words.map { word, weight in
                (word, Generator.isMostlyPossible(word) || numbers.isOneIn(10) ? weight : 0)
            }
            let command = command(numbers.choose(safe) ?? .push, depth: depth + 1)
            script.append(command)
            if command.word == .finish || command.word == .fail || command.word == .refuse { break }
        }
        return script
    }

    private static func isMostlyPossible(_ word: Word) -> Bool {
        switch word {
        case .replace, .update, .updateKey, .popTo, .popToKey, .invalidateKey, .selectTab, .setBadge, .setTabs, .move,
            .moveToStack, .presentMoving, .dismiss, .rotateToken, .requestPairingCode, .fail, .refuse, .deliver,
            .finish:
            false
        default: true
        }
    }

    /// What a coordinator can ask for.
    private struct Facts {
        let (height, isOnTop, hasOwn): (Int, Bool, Bool)
        let (hasTabs, hasChildren, hasWork): (Bool, Bool, Bool)
        let (isRoot, hasFlows, hasAlerts): (Bool, Bool, Bool)

        init(_ node: Plain.Node, _ plain: Plain) {
            let pile = plain.pile(plain.place(of: node))
            height = pile?.cards.count ?? 0
            isOnTop = pile?.cards.last?.owner == node.id
            hasOwn = pile?.cards.contains { $0.owner == node.id } ?? false
            hasTabs = plain.cards.contains { $0.owner == node.id && $0.tabs != nil }
            hasChildren = !plain.children(node.id).isEmpty
            hasWork = plain.work.contains { $0.owner == node.id }
            isRoot = node.parent == nil
            hasFlows = !plain.flows.isEmpty
            hasAlerts = !plain.alerts.isEmpty
        }

        func allow(_ word: Word) -> Bool {
            switch word {
            case .pop: height > 1 && isOnTop
            case .popToRoot: height > 1
            case .replace: isOnTop
            case .update, .updateKey, .invalidateKey: hasOwn
            case .selectTab, .setBadge, .setTabs: hasTabs
            case .dismissPresented: hasFlows
            case .finish, .deliver: !isRoot
            case .endChildren, .tellChildren, .moveToStack, .presentMoving: hasChildren
            case .move: hasTabs && hasChildren
            case .cancel: hasWork
            case .dismissAlerts: hasAlerts
            default: true
            }
        }
    }

    private mutating func command(_ word: Word, depth: Int) -> Command {
        var command = Command(word)
        switch word {
        case .push, .pushNew, .replace, .update, .updateKey, .popToOrPush:
            command.look = look(depth: depth)
            command.at = numbers.below(4)
            if word == .push || word == .pushNew || word == .replace { command.at = nil }
        case .pushTabs:
            command.look = look(depth: depth)
            command.tabs = tabs(depth: depth)
            command.at = numbers.isOneIn(oddity) ? numbers.below(4) : nil
            command.to = numbers.below(3)
        case .setTabs: command.tabs = tabs(depth: depth)
        case .setStack: command.looks = (0...numbers.below(3)).map { _ in look(depth: nesting) }
        case .popTo, .popToKey, .invalidateContent, .invalidateKey:
            command.at = numbers.isOneIn(oddity) ? -1 : numbers.below(6)
        case .selectTab: command.at = numbers.below(4)
        case .setBadge:
            command.at = numbers.below(4)
            command.to = numbers.isOneIn(3) ? nil : 1 + numbers.below(textLength + 1)
        case .start, .present:
            command.kind = numbers.isOneIn(2) ? .alpha : .beta
            command.conduct = conduct(depth: depth)
            if word == .present {
                command.at = numbers.below(3)
                command.isOn = numbers.isOneIn(3) ? numbers.isOneIn(2) : nil
                // A screen alone. No other number is drawn for it, so that what seeds have found stays found.
                if command.kind == .beta, command.at == 2 { command.look = Look() }
            }
        case .alert:
            command.at = textLength == 0 ? nil : numbers.below(textLength)
            command.buttons = buttons(depth: depth)
        case .endChildren: command.isOn = numbers.isOneIn(3) ? false : nil
        case .move, .moveToStack, .presentMoving:
            command.kind = numbers.isOneIn(2) ? .alpha : .beta
            command.at = numbers.below(3)
        case .tell, .tellChildren:
            command.kind = [.any, .any, .alpha, .beta, .root][numbers.below(word == .tell ? 5 : 4)]
            command.script = depth > nesting ? [] : reaction(depth: depth)
        case .perform:
            command.at = numbers.isOneIn(3) ? numbers.below(textLength * 4 + 1) : nil
            command.to = numbers.isOneIn(2) ? numbers.below(3) : nil
            command.isOn = numbers.isOneIn(4) ? true : nil
            command.script = numbers.isOneIn(4) ? nil : depth > nesting ? [] : reaction(depth: depth)
        case .schedule, .scheduleAt, .scheduleWhenIdle:
            command.at = numbers.below(1500)
            command.to = numbers.isOneIn(2) ? numbers.below(3) : nil
            command.script = depth > nesting ? [] : reaction(depth: depth)
        case .cancel: command.to = numbers.isOneIn(2) ? numbers.below(3) : nil
        case .guardScreens, .enable, .rotateToken: command.isOn = numbers.isOneIn(3) ? false : nil
        case .conduct: command.conduct = conduct(depth: depth)
        case .deliver, .signIn, .endSessions, .share, .remember, .requestPairingCode, .revokeDevice:
            command.at = numbers.below(3)
            if word == .requestPairingCode, numbers.isOneIn(2) { command.to = numbers.below(3) }
        case .refuse: command.at = numbers.below(2)
        case .pop, .popToRoot, .dismiss, .dismissPresented, .dismissAlerts, .finish, .signOut, .look, .resolve, .fail:
            break
        }
        return command
    }

    private mutating func look(depth: Int) -> Look {
        var look = Look(name: numbers.below(4))
        if textLength > 0, numbers.isOneIn(2) { look.length = numbers.below(textLength) }
        if numbers.isOneIn(8) { look.isForbidden = true }
        if numbers.isOneIn(8) { look.events = [0, 1 + numbers.below(3)] }
        if numbers.isOneIn(12) { look.hasLink = true }
        if numbers.isOneIn(8) { look.hasContent = true }
        if numbers.isOneIn(12) { look.differs = true }
        if numbers.isOneIn(16) { look.isFor = numbers.below(3) }
        guard depth < nesting else { return look }
        if numbers.isOneIn(12) { look.rows = [reaction(depth: depth + 1)] }
        if numbers.isOneIn(12) { look.buttons = [reaction(depth: depth + 1)] }
        return look
    }

    private mutating func tabs(depth: Int) -> [TabSpec] {
        var ids = [0, 1, 2, 3]
        return (0..<1 + numbers.below(tabCount)).map { _ in
            let id = numbers.isOneIn(oddity * 4) ? 0 : ids.remove(at: numbers.below(ids.count))
            var spec = TabSpec(id: id)
            if textLength > 0, numbers.isOneIn(3) { spec.badge = numbers.below(textLength) }
            if depth >= nesting || numbers.isOneIn(2) {
                spec.look = look(depth: depth + 1)
            } else {
                spec.kind = numbers.isOneIn(2) ? .alpha : .beta
                spec.conduct = conduct(depth: depth + 1)
            }
            return spec
        }
    }

    private mutating func buttons(depth: Int) -> [ButtonSpec] {
        (0...numbers.below(2)).map { index in
            var spec = ButtonSpec(id: numbers.isOneIn(oddity * 4) ? 0 : index)
            if numbers.isOneIn(2) { spec.isCancel = true }
            if depth <= nesting, numbers.isOneIn(2) { spec.script = reaction(depth: depth) }
            if numbers.isOneIn(8) { spec.isForUser = true }
            return spec
        }
    }

    private mutating func conduct(depth: Int) -> Conduct {
        var conduct = Conduct()
        var start = [
            command(
                numbers.isOneIn(6) ? .pushTabs : numbers.isOneIn(6) && depth < nesting ? .start : .push,
                depth: depth + 1)
        ]
        if numbers.isOneIn(4), depth < nesting { start.append(contentsOf: reaction(depth: depth + 1)) }
        if guardsOften, numbers.isOneIn(3) { start.append(Command(.guardScreens)) }
        if numbers.isOneIn(oddity * 2) { start = reaction(depth: depth + 1) }
        conduct.on.append(Reaction(callback: .start, script: start))
        guard depth <= nesting else { return conduct }
        for (callback, weight) in callbacks where callback != .start && weight > 0 && numbers.isOneIn(4) {
            var script = reaction(depth: depth + 1)
            if callback == .open, numbers.isOneIn(4) { script.insert(failingNextTime(), at: 0) }
            // An effect that each outcome begins anew goes on for ever, and the walk's time stands still.
            if callback == .receive || callback == .effectDidFail { script.removeAll { $0.word == .perform } }
            conduct.on.append(Reaction(callback: callback, script: script))
        }
        conduct.link = numbers.below(6)
        if numbers.isOneIn(4) { conduct.isPicky = true }
        if numbers.isOneIn(6) { conduct.keepsTab = true }
        return conduct
    }

    /// Keeps a link, and fails when it is offered again.
    private mutating func failingNextTime() -> Command {
        var (conduct, failure) = (Conduct(link: 2), Command(numbers.isOneIn(2) ? .fail : .refuse))
        // The other one refuses signals only.
        failure.at = 1
        conduct.on = [Reaction(callback: .open, script: [failure])]
        var command = Command(.conduct)
        command.conduct = conduct
        return command
    }
}
