internal import JSONCoding

/// A call of a `Navigator`'s function, to be performed later. Indirect, because requests are copied more often than
/// made.
indirect enum Request: Sendable {
    case push(Screen, onlyIfNew: Bool)
    case pushTabs(Screen, [Tab], selected: String?, back: TabBackRule)
    case pop
    case popTo(ScreenReference, orPush: Screen?)
    case popToRoot
    case replace(Screen)
    case setStack([Screen])
    case update(ScreenReference, @Sendable (inout Screen) -> Void)
    case invalidateContent(ScreenReference)
    case selectTab(String)
    case setBadge(String?, tab: String)
    case setTabs([Tab])
    case alert(Alert)
    case dismissAlerts
    case start(any Coordinator)
    case present(any Coordinator, Presentation)
    case dismiss
    case dismissPresented
    case finish
    case endChildren(asking: Bool)
    case deliver(any Sendable)
    case move(any Coordinator.Type, to: FlowPlace)
    case tell(Message)
    case tellChildren(Message)
    case rotateToken(TokenRotation)
    case requestPairingCode(PairingRequest)
    case changeUser(UserChange)
    case endSessions(SessionEnding)
    case perform(any NavigationEffect, id: String?)
    case schedule(any NavigationSignal, TimerTime, id: String?)
    case cancel(String)
}

/// A screen by its key or by its name.
enum ScreenReference: Sendable, Equatable {
    case key(String)
    case name(String)

    func matches(_ screen: PlacedScreen) -> Bool {
        switch self {
        case .key(let key): screen.key == key
        case .name(let name): screen.screen.name == name
        }
    }
}

/// Where a living flow is moved to.
enum FlowPlace: Sendable {
    /// The stack of the coordinator that moves it.
    case stack
    /// The stack of that coordinator's tab.
    case tab(String)
    case presented(Presentation)
}

/// A message from a coordinator to an ancestor or to descendants, which are found by their type or by a protocol.
struct Message: Sendable {
    /// The name of the type or protocol.
    let name: String
    let isUnderstood: @Sendable (any Coordinator) -> Bool
    let deliver: @Sendable (any Coordinator, inout Navigator) async throws -> any Coordinator

    init<Recipient>(
        _ type: Recipient.Type,
        _ message: @Sendable @escaping (inout Recipient, inout Navigator) async throws -> Void
    ) {
        name = String(describing: type)
        isUnderstood = { $0 is Recipient }
        deliver = { coordinator, navigator in
            guard var recipient = coordinator as? Recipient else { return coordinator }
            try await message(&recipient, &navigator)
            return recipient as? any Coordinator ?? coordinator
        }
    }
}

extension Request {
    var isFinish: Bool {
        if case .finish = self { true } else { false }
    }

    /// Whether it is performed even if the coordinator that asked for it has been removed in the meantime.
    var outlivesCoordinator: Bool {
        switch self {
        case .alert, .tell, .rotateToken, .requestPairingCode, .changeUser, .endSessions: true
        default: false
        }
    }
}

extension Request: CustomStringConvertible {
    /// The request as its author wrote it, without the values.
    var description: String {
        switch self {
        case .push(let screen, _): "push(\(screen.name))"
        case .pushTabs(let screen, _, _, _): "push(\(screen.name), tabs:)"
        case .pop: "pop()"
        case .popTo(.name(let name), nil): "popTo(\(name))"
        case .popTo(.name(let name), _): "popTo(\(name), orPush:)"
        case .popTo(.key, _): "popTo(key:)"
        case .popToRoot: "popToRoot()"
        case .replace(let screen): "replace(with: \(screen.name))"
        case .setStack: "setStack()"
        case .update(.name(let name), _): "update(\(name))"
        case .update(.key, _): "update(key:)"
        case .invalidateContent(.name(let name)): "invalidateContent(of: \(name))"
        case .invalidateContent(.key): "invalidateContent(ofKey:)"
        case .selectTab(let id): "selectTab(\(id))"
        case .setBadge(_, let id): "setBadge(ofTab: \(id))"
        case .setTabs: "setTabs()"
        case .alert: "alert()"
        case .dismissAlerts: "dismissAlerts()"
        case .start(let child): "start(\(type(of: child).name))"
        case .present(let child, _): "present(\(type(of: child).name))"
        case .dismiss: "dismiss()"
        case .dismissPresented: "dismissPresented()"
        case .finish: "finish()"
        case .endChildren(true): "endChildren()"
        case .endChildren(false): "endChildren(asking: false)"
        case .deliver(let value): "deliver(\(type(of: value)))"
        case .move(let child, .stack): "moveToStack(\(child.name))"
        case .move(let child, .tab(let id)): "move(\(child.name), toTab: \(id))"
        case .move(let child, .presented): "present(moving: \(child.name))"
        case .tell(let message): "tell(\(message.name))"
        case .tellChildren(let message): "tellChildren(\(message.name))"
        case .changeUser(.signIn): "signIn(user:)"
        case .changeUser(.signOut): "signOut()"
        case .endSessions: "endSessions(ofUser:)"
        case .perform(let effect, _): "perform(\(effect.caseName))"
        case .schedule(let signal, _, _): "schedule(\(signal.caseName))"
        case .cancel(let id): "cancel(\(id))"
        case .requestPairingCode: "requestPairingCode()"
        case .rotateToken(.revokingOthers): "rotateToken()"
        case .rotateToken(.keepingOthers): "rotateToken(revokingOthers: false)"
        }
    }
}

extension Encodable {
    /// The name of an enum's case, also if its values cannot be encoded; empty if the value is no enum.
    fileprivate var caseName: String {
        (try? JSON(encoding: self))?.caseName ?? Mirror(reflecting: self).children.first?.label ?? ""
    }
}
