public import JSONCoding

/// What one event did.
public struct Transition: Sendable, Equatable {
    /// The type of the event; `nil` for the first state of a session. If something else than an event was the cause, the
    /// name of the signal, or that of the effect if there was no signal.
    public let event: String?
    public let cause: Cause
    /// The changes that a client animates, in the order in which they were made.
    public let operations: [Operation]
    /// The names of the coordinators that finished, in order.
    public let finished: [String]
    /// The names of the coordinators that were removed without finishing, descendants before their ancestors: by
    /// `back`, by `dismiss`, together with an ancestor, or by `relaunch`.
    public let dismissed: [String]
    /// How the session's tokens are replaced; `nil` if they are kept. See `Navigator.rotateToken`.
    public let tokenRotation: TokenRotation?
    /// The client gets a pairing code, see `Navigator.requestPairingCode`; `nil` if not.
    public let pairingRequest: PairingRequest?
    /// Who is signed in to the session from then on; `nil` if that does not change. See `Navigator.signIn`.
    public let userChange: UserChange?
    /// The sessions that end, see `Navigator.endSessions`.
    public let sessionEndings: [SessionEnding]
    /// The transition's members in answers and in the history, as JSON text: `event`, `cause`, `operations`, `finished`,
    /// `dismissed`.
    public let encodedMembers: [UInt8]

    /// What a transition was made for.
    public enum Cause: String, Sendable {
        /// An event of a client, or what the operator did.
        case event
        /// The end of an effect.
        case effect
        case timer
        /// A signal that another system has sent; or another device was paired, and the app was told.
        case signal
    }

    public init(
        event: String?, cause: Cause = .event, operations: [Operation] = [], finished: [String] = [],
        dismissed: [String] = [],
        tokenRotation: TokenRotation? = nil, pairingRequest: PairingRequest? = nil, userChange: UserChange? = nil,
        sessionEndings: [SessionEnding] = []
    ) {
        self.event = event
        self.cause = cause
        self.operations = operations
        self.finished = finished
        self.dismissed = dismissed
        self.tokenRotation = tokenRotation
        self.pairingRequest = pairingRequest
        self.userChange = userChange
        self.sessionEndings = sessionEndings
        var members = JSONWriter()
        if let event {
            members.member("event", event)
            members.member("cause", word: cause.word)
        }
        members.member("operations", operations)
        members.member("finished", finished)
        members.member("dismissed", dismissed)
        self.encodedMembers = members.bytes
    }

    /// This transition and the next one as one, which keeps this one's event and cause.
    ///
    /// - Parameter original: the state before this one.
    func followed(by next: TransitionResult, since original: NavigationState) -> Transition {
        let other = next.transition
        let rotations = [tokenRotation, other.tokenRotation].compactMap(\.self)
        return Transition(
            event: event, cause: cause,
            operations: (operations + other.operations).net(since: original, to: next.state),
            finished: finished + other.finished, dismissed: dismissed + other.dismissed,
            tokenRotation: rotations.first { $0 == .revokingOthers } ?? rotations.first,
            pairingRequest: other.pairingRequest ?? pairingRequest, userChange: other.userChange ?? userChange,
            sessionEndings: sessionEndings + other.sessionEndings.filter { !sessionEndings.contains($0) })
    }

    /// Whether a coordinator asked for another token.
    public var rotatesToken: Bool { tokenRotation != nil }
}

extension Transition.Cause {
    fileprivate var word: StaticString {
        switch self {
        case .event: "event"
        case .effect: "effect"
        case .timer: "timer"
        case .signal: "signal"
        }
    }
}

/// What happens to a session's other tokens when a transition replaces the token of the client that posted its event.
public enum TokenRotation: Sendable, Equatable {
    /// The other tokens become invalid.
    case revokingOthers
    /// The other tokens stay valid, but no longer give access to earlier versions of the session.
    case keepingOthers
}

/// A change that the user can see. A client that performs a transition's operations in order on the state before gets
/// the state after; it looks up new screens, flows and alerts there by their keys. A screen that is moved disappears and
/// appears again, with the same key.
///
/// `stack` is the name of a stack, see `mainStack`.
public enum Operation: Sendable, Equatable {
    /// The name of the stack below all flows. The stack of a presented flow is named by the flow's key, that of a tab
    /// by the key of the screen with the tabs, a slash and the tab's id: `k1/home`.
    public static let mainStack = "main"

    /// The screen appears on top of the stack. The screens in its tabs are pushed by operations of their own.
    case push(key: String, stack: String = Operation.mainStack)
    /// The screen disappears, with all screens in its tabs.
    case pop(key: String, stack: String = Operation.mainStack)
    /// The screen `key` takes the place of the screen `replaced`.
    case replace(key: String, replaced: String, stack: String = Operation.mainStack)
    /// The screen changes in any way, its tabs' titles and badges included. The stacks of its tabs stay; a tab that is
    /// new has an empty one, and one that goes becomes empty.
    case update(key: String)
    /// The flow `key` appears over everything, with an empty stack.
    case present(key: String, style: PresentedFlow.Style)
    /// The flow disappears, with its stack.
    case dismiss(key: String)
    /// The screen `key` shows another of its tabs.
    case selectTab(key: String, tab: String)
    case alert(key: String)
    case dismissAlert(key: String)
}

/// A state and the transition that led to it.
public final class TransitionResult: Sendable {
    public let state: NavigationState
    public let transition: Transition
    /// The error of a coordinator that the app turned into an alert, see `onError` of `App`; without an alert, the reason
    /// why a link that had waited for an answer was dropped; `nil` if there was neither.
    public let caught: NavigationError?
    /// Whether the event was held up without its payload: the state has an alert instead, and the client has to post
    /// the event again when the user has answered.
    public let asksFirst: Bool

    public init(
        state: NavigationState, transition: Transition, caught: NavigationError? = nil, asksFirst: Bool = false
    ) {
        self.state = state
        self.transition = transition
        self.caught = caught
        self.asksFirst = asksFirst
    }
}

extension Operation {
    var isSelection: Bool {
        if case .selectTab = self { true } else { false }
    }

    /// The key of the screen, flow or alert that appears, disappears or changes.
    package var key: String {
        switch self {
        case .push(let key, _), .pop(let key, _), .replace(let key, _, _), .update(let key), .present(let key, _),
            .dismiss(let key), .selectTab(let key, _), .alert(let key), .dismissAlert(let key):
            key
        }
    }

    fileprivate var isUpdate: Bool {
        if case .update = self { true } else { false }
    }

    /// Whether it only makes something disappear.
    fileprivate var isRemoval: Bool {
        switch self {
        case .pop, .dismiss: true
        default: false
        }
    }

    fileprivate var isReplacement: Bool {
        if case .replace = self { true } else { false }
    }

    fileprivate var isPush: Bool {
        if case .push = self { true } else { false }
    }

    /// Whether it only changes something. It is redundant for a screen that appeared in the same transition.
    fileprivate var isDetail: Bool {
        switch self {
        case .update, .selectTab: true
        default: false
        }
    }

    /// Whether the screen of that key appears by it.
    fileprivate func brings(_ screen: String) -> Bool {
        switch self {
        case .push(let key, _), .replace(let key, _, _): key == screen
        default: false
        }
    }
}

extension [Operation] {
    /// The operations without screens, flows and alerts that appeared and disappeared in this transition. A client
    /// could not draw these, because no state contains them.
    ///
    /// - Parameters:
    ///   - original: the state before the transition.
    ///   - state: the state after it.
    package func net(since original: NavigationState, to state: NavigationState) -> [Operation] {
        guard count > 1 else { return self }
        // A screen that goes may have selected a tab that no client has seen.
        let operations = filter { !$0.isSelection || state.contains(key: $0.key) }
        return operations.withoutPassing(since: original, to: state).replayable(to: state)
    }

    private func withoutPassing(since original: NavigationState, to state: NavigationState) -> [Operation] {
        let operations = withoutPassingSelections(since: original)
        let lastKey = original.lastKey
        let isNew = { (key: String) in (Int(key.dropFirst()) ?? 0) > lastKey }
        guard operations.contains(where: { isNew($0.key) || $0.isPush }) else { return operations }
        var net: [Operation] = []
        // The screens that were there before and have been moved: their keys.
        var moved: [String] = []
        for operation in operations {
            switch operation {
            case .pop(let key, _) where isNew(key) || moved.contains(key):
                net.remove(key)
            case .replace(let key, let replaced, _) where isNew(replaced) || moved.contains(replaced):
                net.replace(replaced, by: key)
            case .push(let key, _):
                // Its stack or the screen that it was in a tab of may have gone without a `pop` of its own.
                net.remove(key)
                if !isNew(key) { moved.append(key) }
                net.append(operation)
            default: net.append(operation)
            }
        }
        return net.filter { operation in
            let key = operation.key
            if operation.isDetail { return !isNew(key) && !moved.contains(key) }
            return !(isNew(key) || operation.isPush) || state.contains(key: key)
        }
    }

    /// The operations in such an order that each one finds what it names, also for a client that draws every screen as it
    /// is after the transition. A screen that goes is not drawn once more. If a screen would be drawn without a tab that is
    /// emptied only afterwards, because its tabs were changed twice, all that goes does so first.
    private func replayable(to state: NavigationState) -> [Operation] {
        guard let update = firstIndex(where: { $0.isUpdate }),
            self[update...].contains(where: { $0.isRemoval || $0.isReplacement })
        else { return self }
        let operations = filter { !$0.isUpdate || state.contains(key: $0.key) }
        var updated: [String] = []
        for operation in operations {
            if operation.isUpdate { updated.append(operation.key) }
            guard case .pop(_, let stack) = operation,
                let owner = updated.first(where: { stack.utf8.starts(with: "\($0)/".utf8) }),
                state.tabs(of: owner)?.items.contains(where: { "\(owner)/\($0.id)" == stack }) != true
            else { continue }
            return operations.filter { $0.isRemoval } + operations.filter { !$0.isRemoval }
        }
        return operations
    }

    /// The operations with at most one selection for each screen: the last one, and none if that tab was selected
    /// before the transition.
    private func withoutPassingSelections(since original: NavigationState) -> [Operation] {
        guard count(where: \.isSelection) > 1 else { return self }
        return enumerated().filter { index, operation in
            guard case .selectTab(let key, let tab) = operation else { return true }
            let others = enumerated().filter { $0.offset != index && $0.element.isSelection && $0.element.key == key }
            guard let last = others.last?.offset else { return true }
            return last < index && original.tabs(of: key)?.selected.id != tab
        }.map(\.element)
    }

    /// Removes the operation by which a screen appeared, because it has disappeared again. If it replaced another
    /// screen, that one is popped instead.
    private mutating func remove(_ screen: String) {
        guard let index = firstIndex(where: { $0.brings(screen) }) else { return }
        if case .replace(_, let replaced, let stack) = self[index] {
            self[index] = .pop(key: replaced, stack: stack)
        } else {
            remove(at: index)
        }
    }

    /// Changes the operation by which a screen appeared, because another screen has taken its place.
    private mutating func replace(_ screen: String, by key: String) {
        guard let index = firstIndex(where: { $0.brings(screen) }) else { return }
        switch self[index] {
        case .push(_, let stack): self[index] = .push(key: key, stack: stack)
        case .replace(_, let replaced, let stack): self[index] = .replace(key: key, replaced: replaced, stack: stack)
        default: break
        }
    }
}

extension NavigationState {
    /// Whether there is a screen or a flow of that key, or it is the alert's.
    fileprivate func contains(key: String) -> Bool {
        if alert?.key == key || presented.contains(where: { $0.key == key }) { return true }
        var isFound = false
        forEachScreen { if $0.key == key { isFound = true } }
        return isFound
    }
}

// How clients and the history receive a transition.

extension Transition: JSONWritable {
    public func write(to writer: inout JSONWriter) {
        writer.object { $0.encoded(encodedMembers) }
    }
}

extension Operation {
    /// An operation as it was written; `nil` if it is none that this build knows.
    package init?(_ json: JSON) {
        guard let key = json["key"]?.string else { return nil }
        let (stack, tab, replaced) = (json["stack"]?.string, json["tab"]?.string, json["replaced"]?.string)
        let style = json["style"]?.string.flatMap(PresentedFlow.Style.init)
        switch (json["op"]?.string, stack, tab, replaced, style) {
        case ("push", let stack?, _, _, _): self = .push(key: key, stack: stack)
        case ("pop", let stack?, _, _, _): self = .pop(key: key, stack: stack)
        case ("replace", let stack?, _, let replaced?, _): self = .replace(key: key, replaced: replaced, stack: stack)
        case ("update", _, _, _, _): self = .update(key: key)
        case ("present", _, _, _, let style?): self = .present(key: key, style: style)
        case ("dismiss", _, _, _, _): self = .dismiss(key: key)
        case ("selectTab", _, let tab?, _, _): self = .selectTab(key: key, tab: tab)
        case ("alert", _, _, _, _): self = .alert(key: key)
        case ("dismissAlert", _, _, _, _): self = .dismissAlert(key: key)
        default: return nil
        }
    }
}

extension Operation: JSONWritable {
    public func write(to writer: inout JSONWriter) {
        let (name, key): (StaticString, String) =
            switch self {
            case .push(let key, _): ("push", key)
            case .pop(let key, _): ("pop", key)
            case .replace(let key, _, _): ("replace", key)
            case .update(let key): ("update", key)
            case .present(let key, _): ("present", key)
            case .dismiss(let key): ("dismiss", key)
            case .selectTab(let key, _): ("selectTab", key)
            case .alert(let key): ("alert", key)
            case .dismissAlert(let key): ("dismissAlert", key)
            }
        writer.object { writer in
            writer.member("op", word: name)
            writer.member("key", key)
            switch self {
            case .selectTab(_, let tab): writer.member("tab", tab)
            case .push(_, let stack), .pop(_, let stack): writer.member("stack", stack)
            case .replace(_, let replaced, let stack):
                writer.member("replaced", replaced)
                writer.member("stack", stack)
            case .present(_, let style): writer.member("style", style.rawValue)
            default: break
            }
        }
    }
}
