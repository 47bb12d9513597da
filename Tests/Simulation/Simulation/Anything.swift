package import Coordinators
import JSONCoding

/// What is common to the app's coordinators: they do what their scripts say.
protocol Actor: Coordinator where Event == AnyEvent, Signal == AnySignal, Effect == AnyEffect {
    var me: Me { get set }
    init(me: Me)
}

/// The state of a coordinator.
struct Me: Codable, Hashable, Sendable {
    /// Its parent's name and a counter.
    var name: String
    /// The number of its conduct.
    var conduct: Int
    /// How many children it has started.
    var children = 0
    var drawn = 0
    // Last, so that nothing between them is unset: the engine compares the memory of coordinators.
    /// Whether its screens ask before they are left.
    var guards = false
    /// Whether one of its events is disabled.
    var isOff = false
}

struct RootCoordinator: Actor, TabBarDelegate, StackDelegate {
    var me: Me
    static let name = "root"
    static let blank = RootCoordinator(me: Me(name: "", conduct: 0))
    static let links: [LinkPattern] = ["/root/{script:integer}", "/{path...}"]

    mutating func deviceDidPair(_ device: PairedDevice, _ navigator: inout Navigator) throws {
        try hear(.deviceDidPair, &navigator)
    }
}

struct AlphaCoordinator: Actor {
    var me: Me
    static let name = "alpha"
    static let blank = AlphaCoordinator(me: Me(name: "", conduct: 0))
}

/// What becomes of `AlphaCoordinator` in later editions: it has another property.
struct NewerAlphaCoordinator: Actor {
    var me: Me
    var isNew = true
    static let name = "alpha"
    static let blank = NewerAlphaCoordinator(me: Me(name: "", conduct: 0))

    init(me: Me) { self.me = me }
}

struct BetaCoordinator: Actor, TabBarDelegate, StackDelegate {
    var me: Me
    static let name = "beta"
    static let blank = BetaCoordinator(me: Me(name: "", conduct: 0))
    static let links: [LinkPattern] = ["/beta/{script:integer}"]

    func willBeRemoved(_ reason: RemovalReason, in context: EffectContext) throws {
        Table.current.note(callback: .willBeRemoved)
    }
}

enum AnyEvent: NavigationEvent {
    /// Performs the script of that number.
    case run(Int)
    /// Does what the conduct says.
    case go
    /// A form.
    case plan(on: Date, text: String, count: Int)
    case anywhere(Int)

    static let names = ["run", "go", "plan", "anywhere"]
    static let examples: [AnyEvent] = [
        .run(0), .go, .plan(on: Date(timeIntervalSince1970: 1_800_000_000), text: "text", count: 3), .anywhere(0),
    ]
    static let aliases = ["went": "go"]

    var roles: [DeviceRole] { if case .plan = self { [.user] } else { [] } }
}

extension DeviceRole {
    /// Plans, and pairs the others.
    package static let user = DeviceRole("user", gives: ["helper", "display"])
    package static let helper = DeviceRole("helper", mayEndOthers: false)
    package static let display = DeviceRole("display", mayAct: false)
}

enum AnySignal: NavigationSignal {
    /// Of a timer or an effect.
    case outcome(Int, text: String)
    /// Of another system: for the coordinator of that name.
    case ping(to: String, script: Int)

    static let external: [AnySignal] = [.ping(to: "", script: 0)]
}

enum AnyEffect: NavigationEffect { case work(Int) }

/// What scripts throw.
struct Oddity: Error {}

/// A value that all coordinators share.
struct Board: SharedState {
    var mark = 0
    static let survivesRelaunch = true
    /// With it no coordinator accepts `plan`.
    static let markWithoutPlans = 2
}

/// A service.
final class Desk: Sendable {}

/// The editions of the app.
package enum Edition: Int, Sendable, CaseIterable {
    case first = 1
    /// A coordinator has another property.
    case newer
    /// There is no `beta` any longer.
    case smaller

    var alpha: any Actor.Type { self == .first ? AlphaCoordinator.self : NewerAlphaCoordinator.self }
}

extension App {
    /// The app whose coordinators do anything.
    package static func anything(_ setup: Setup, _ edition: Edition) -> App {
        anything(setup, version: edition.rawValue, edition)
    }

    static func anything(_ setup: Setup, version: Int = 1, _ edition: Edition = .first) -> App {
        var dependencies = Dependencies()
        dependencies.register(Desk.self) { _ in Desk() }
        var limits = Limits()
        (limits.stack, limits.depth) = (setup.stack, setup.depth)
        (limits.alerts, limits.pending) = (setup.alerts, setup.pending)
        let conduct = setup.conduct
        let alert: @Sendable (any Error, NavigationContext) -> Alert? = { _, _ in Alert("error") }
        let root: @Sendable () -> RootCoordinator = {
            RootCoordinator(me: Me(name: "r", conduct: Table.current.number(of: conduct)))
        }
        let (services, sizeLimit) = (dependencies, setup.sizeLimit)
        return Limits.$ofNewApps.withValue(limits) { () -> App in
            App(
                "anything", version: version,
                root: root,
                coordinators: edition == .smaller ? [edition.alpha] : [edition.alpha, BetaCoordinator.self],
                shared: [Board.self],
                dependencies: services, sizeLimit: sizeLimit, roles: [.user, .helper, .display],
                onError: setup.showsErrors ? alert : nil)
        }
    }
}

// The functions of a coordinator.
extension Actor {
    static var dependencies: [any Any.Type] { [Desk.self] }
    static var everywhere: [AnyEvent] { [.anywhere(0)] }

    var conduct: Conduct { Table.current.conduct(me.conduct) }

    /// Does what the conduct says for a function.
    mutating func hear(
        _ callback: Callback, about child: (any Coordinator)? = nil, _ navigator: inout Navigator
    ) throws {
        Table.current.hear(callback, me.name, about: child.flatMap(Actors.me))
        try act(conduct[callback], &navigator)
    }

    mutating func start(_ navigator: inout Navigator) throws {
        if self is RootCoordinator {
            let count = (navigator.defaults["launches"]?.integer ?? 0) + 1
            navigator.defaults["launches"] = .integer(count)
            me.name = "r\(count)"
        }
        try hear(.start, &navigator)
    }

    mutating func handle(_ event: AnyEvent, _ navigator: inout Navigator) throws {
        guard case .run(let number) = event else {
            if case .anywhere(let number) = event { return try play(number, .handle, &navigator) }
            return try hear(.handle, &navigator)
        }
        try play(number, .handle, &navigator)
    }

    private mutating func play(_ number: Int, _ callback: Callback, _ navigator: inout Navigator) throws {
        Table.current.hear(callback, me.name)
        try act(Table.current.script(number), &navigator)
    }

    mutating func childDidFinish(_ child: any Coordinator, _ navigator: inout Navigator) throws {
        try hear(.childDidFinish, about: child, &navigator)
    }

    mutating func childWasDismissed(_ child: any Coordinator, _ navigator: inout Navigator) throws {
        try hear(.childWasDismissed, about: child, &navigator)
    }

    mutating func childDidDeliver(
        _ value: any Sendable, from child: any Coordinator, _ navigator: inout Navigator
    ) throws {
        try hear(.childDidDeliver, about: child, &navigator)
    }

    mutating func receive(_ signal: AnySignal, _ navigator: inout Navigator) throws {
        switch signal {
        case .outcome(let number, let text):
            me.drawn = text.utf8.count
            try play(number, .receive, &navigator)
        case .ping(let name, let number):
            if conduct.isPicky == true, name != me.name { throw SignalNotAccepted() }
            try play(number, .receive, &navigator)
        }
    }

    func accepts(_ signal: AnySignal) -> Bool {
        Table.current.note(callback: .accepts)
        guard case .ping(let name, let number) = signal, number % 2 == 1 else { return true }
        return conduct.isPicky != true || name == me.name
    }

    func perform(_ effect: AnyEffect, in context: EffectContext) async throws -> AnySignal? {
        guard case .work(let number) = effect else { return nil }
        Table.current.note(callback: .perform)
        let spec = Table.current.effect(number)
        if spec.hangs == true { try await Table.current.hold() }
        if spec.fails == true { throw Oddity() }
        guard let script = spec.script else { return nil }
        return .outcome(
            Table.current.number(of: script), text: String(repeating: "x", count: max(0, spec.length ?? 0)))
    }

    static func retries(_ effect: AnyEffect) -> Int {
        Table.current.note(callback: .retries)
        return 1
    }

    mutating func effectDidFail(_ effect: AnyEffect, _ error: any Error, _ navigator: inout Navigator) throws {
        try hear(.effectDidFail, &navigator)
    }

    mutating func open(_ link: Link, _ navigator: inout Navigator) throws -> LinkDecision {
        let decisions: [LinkDecision] = [
            .taken, .passedOn, .pending, .declined, .pending(until: BetaCoordinator.self), .passedOn,
        ]
        let decision = decisions[abs(conduct.link ?? 1) % decisions.count]
        Table.current.hear(.open, me.name, decision: decision)
        let script = decision == .taken ? link.integer("script").map(Table.current.script) : nil
        try act(script ?? conduct[.open], &navigator)
        return decision
    }

    func shouldLeave(_ screen: Screen, in context: NavigationContext) -> Alert? {
        guard me.guards else { return nil }
        Table.current.note(callback: .shouldLeave)
        return Alert("leave?", buttons: [.leave("leave", title: "Leave"), .cancel])
    }

    func isEnabled(_ event: AnyEvent, in context: NavigationContext) -> Bool {
        Table.current.note(callback: .isEnabled)
        if case .plan = event { return !me.isOff && context.shared[Board.self].mark != Board.markWithoutPlans }
        return true
    }

    func title(of event: AnyEvent, in context: NavigationContext) -> String {
        Table.current.note(callback: .title)
        return "\(event.title) \(context.client.language ?? "")"
    }

    func fields(of event: AnyEvent, in context: NavigationContext) -> [Field] {
        Table.current.note(callback: .fields)
        guard case .plan = event else { return [] }
        return [Field("on", format: .date), Field("text", maxLength: 8), Field("count", minimum: 0, maximum: 9)]
    }

    func render(_ screen: inout Screen, in context: NavigationContext) {
        Table.current.note(callback: .render)
        let device = "\(context.client.platform ?? "") \(context.role?.name ?? "")"
        screen.title = "\(me.drawn) \(device) \(context.shared[Board.self].mark)"
        if screen.params["differs"] == true {
            screen.events = context.client.platform == "tv" ? ["go"] : ["go", "run", "anywhere"]
        }
    }

    func content(of screen: Screen, in context: ContentContext) throws -> JSONObject {
        Table.current.note(callback: .content)
        return ["drawn": .integer(me.drawn)]
    }

    static func migrate(_ saved: JSON, from version: Int) throws -> JSON {
        Table.current.note(callback: .migrate)
        return saved
    }

    /// A message of another coordinator.
    mutating func hear(message tag: Int, _ script: [Command], _ navigator: inout Navigator) throws {
        Table.current.hear(.message, me.name, tag: tag)
        try act(script, &navigator)
    }
}

// The functions of delegates.
extension Actor where Self: TabBarDelegate & StackDelegate {
    mutating func screenWasRemoved(_ screen: Screen, _ navigator: inout Navigator) throws {
        Table.current.hear(.screenWasRemoved, me.name, screen: screen.name)
        try act(conduct[.screenWasRemoved], &navigator)
    }

    mutating func shouldSelectTab(_ tab: String, _ navigator: inout Navigator) throws -> Bool {
        try hear(.shouldSelectTab, &navigator)
        return conduct.keepsTab != true
    }

    mutating func didSelectTab(_ tab: String, _ navigator: inout Navigator) throws {
        try hear(.didSelectTab, &navigator)
    }
}

// What scripts do.
extension Actor {
    /// Performs a script, and notes the requests.
    mutating func act(_ script: [Command], _ navigator: inout Navigator) throws {
        var issued: [Issued] = []
        for command in script {
            Table.current.note(command.word)
            if let request = try execute(command, &navigator) { issued.append(request) }
        }
        Table.current.issue(issued, me)
    }

    /// - Returns: the request; `nil` if the command is none.
    private mutating func execute(_ command: Command, _ navigator: inout Navigator) throws -> Issued? {
        var issued = Issued(command: command)
        let stack = navigator.stack
        let screen = Actors.screen(command.look ?? Look())
        switch command.word {
        case .push: navigator.push(screen)
        case .pushNew: navigator.push(screen, onlyIfNew: true)
        case .pushTabs:
            let back: TabBackRule = [.nothing, .firstTab, .history][abs(command.to ?? 0) % 3]
            issued.tabs = (command.tabs ?? []).map { "t\($0.id)" }
            issued.text = command.at.map { "t\($0)" } ?? issued.tabs.first ?? ""
            navigator.push(screen, tabs: tabs(command), selected: command.at.map { "t\($0)" }, back: back)
        case .pop: navigator.pop()
        case .popTo, .popToOrPush:
            issued.text = Actors.element(of: stack, command.at)?.name ?? "nowhere"
            if command.word == .popTo {
                navigator.popTo(issued.text)
            } else {
                navigator.popTo(issued.text, orPush: screen)
            }
        case .popToKey:
            issued.text = Actors.element(of: stack, command.at)?.key ?? "k0"
            navigator.popTo(key: issued.text)
        case .popToRoot: navigator.popToRoot()
        case .replace: navigator.replace(with: screen)
        case .setStack: navigator.setStack((command.looks ?? []).map(Actors.screen))
        case .update:
            issued.text = Actors.element(of: stack.filter(\.isOwn), command.at)?.name ?? "nowhere"
            navigator.update(issued.text) { $0.params["text"] = screen.params["text"] }
        case .updateKey:
            issued.text = Actors.element(of: stack, command.at)?.key ?? "k0"
            navigator.update(key: issued.text) { $0.params["text"] = screen.params["text"] }
        case .invalidateContent:
            issued.text = Actors.element(of: stack.filter(\.isOwn), command.at)?.name ?? "nowhere"
            navigator.invalidateContent(of: issued.text)
        case .invalidateKey:
            issued.text = Actors.element(of: stack, command.at)?.key ?? "k0"
            navigator.invalidateContent(ofKey: issued.text)
        case .selectTab:
            issued.text = "t\(command.at ?? 0)"
            navigator.selectTab(issued.text)
        case .setBadge:
            issued.text = "t\(command.at ?? 0)"
            navigator.setBadge(command.to.map { String(repeating: "9", count: max(0, $0)) }, ofTab: issued.text)
        case .setTabs:
            issued.tabs = (command.tabs ?? []).map { "t\($0.id)" }
            navigator.setTabs(tabs(command))
        case .start:
            let child = child(command.kind, command.conduct)
            issued.child = child.me.name
            navigator.start(child)
        case .present where command.look != nil:
            navigator.present(screen, as: .sheet, detent: .medium, isDismissable: command.isOn)
        case .present:
            let child = child(command.kind, command.conduct)
            issued.child = child.me.name
            navigator.present(
                child, as: command.at == 1 ? .fullScreen : .sheet, detent: command.at == 2 ? .medium : nil,
                isDismissable: command.isOn)
        case .dismiss: navigator.dismiss()
        case .dismissPresented: navigator.dismissPresented()
        case .alert: navigator.alert(Actors.alert(command))
        case .dismissAlerts: navigator.dismissAlerts()
        case .finish: navigator.finish()
        case .deliver: navigator.deliver(command.at ?? 0)
        case .endChildren: navigator.endChildren(asking: command.isOn ?? true)
        case .move:
            issued.text = "t\(command.at ?? 0)"
            navigator.move(Actors.type(command.kind), toTab: issued.text)
        case .moveToStack: navigator.moveToStack(Actors.type(command.kind))
        case .presentMoving: navigator.present(moving: Actors.type(command.kind))
        case .tell, .tellChildren:
            issued.tag = Table.current.tag()
            send(command, issued.tag, &navigator)
        default: return try executeOther(command, &navigator, issued)
        }
        return issued
    }

    private mutating func executeOther(
        _ command: Command, _ navigator: inout Navigator, _ issued: Issued
    ) throws -> Issued? {
        var issued = issued
        let number = command.at ?? 0
        switch command.word {
        case .rotateToken: navigator.rotateToken(endingOthers: command.isOn ?? true)
        case .requestPairingCode:
            let role = command.to.map { [DeviceRole.user, .helper, .display][abs($0) % 3] }
            navigator.requestPairingCode(label: command.at == nil ? nil : "phone", role: role)
        case .revokeDevice:
            Table.current.noteRevocation()
            navigator.revokeDevice(number + 1)
        case .signIn: navigator.signIn(user: "user\(number)")
        case .signOut: navigator.signOut()
        case .endSessions: navigator.endSessions(ofUser: "user\(number)", number % 2 == 0 ? .others : .all)
        case .perform:
            issued.text = command.to.map { "w\($0)" } ?? "work"
            let effect = EffectSpec(
                script: command.script, fails: command.isOn, length: command.at, hangs: command.hangs)
            navigator.perform(
                AnyEffect.work(Table.current.number(of: effect)), id: command.to == nil ? nil : issued.text)
        case .schedule, .scheduleAt, .scheduleWhenIdle:
            issued.text = command.to.map { "w\($0)" } ?? "outcome"
            let id = command.to == nil ? nil : issued.text
            let signal = AnySignal.outcome(Table.current.number(of: command.script), text: "")
            let delay = Duration.milliseconds(number)
            switch command.word {
            case .schedule: navigator.schedule(signal, after: delay, id: id)
            case .scheduleAt:
                navigator.schedule(signal, at: navigator.now.addingTimeInterval(0.001 * Double(number)), id: id)
            default: navigator.scheduleWhenIdle(signal, after: delay, id: id)
            }
        case .cancel:
            issued.text = command.to.map { "w\($0)" } ?? "outcome"
            navigator.cancel(issued.text)
        case .look:
            let stack = navigator.stack.count * 8 + (navigator.isPresenting ? 4 : 0)
            me.drawn = stack + (navigator.selectedTab == nil ? 0 : 2) + (navigator.visible == nil ? 0 : 1)
            if navigator.isPending("work") { me.drawn += 1 }
            me.drawn += 16 * (navigator.device?.number ?? 0) + 64 * navigator.devices.count
            return nil
        case .resolve:
            _ = try navigator.resolve(Desk.self)
            return nil
        case .share:
            navigator.shared[Board.self].mark = number
            return nil
        case .remember:
            navigator.defaults["mark"] = .integer(number)
            return nil
        case .guardScreens:
            me.guards = command.isOn ?? true
            return nil
        case .enable:
            me.isOff = command.isOn == false
            return nil
        case .conduct:
            me.conduct = Table.current.number(of: command.conduct)
            return nil
        case .refuse where number % 2 == 0: throw SignalNotAccepted()
        case .refuse:
            Table.current.noteOverload()
            throw Overloaded()
        default: throw Oddity()
        }
        return issued
    }

    private func send(_ command: Command, _ tag: Int, _ navigator: inout Navigator) {
        let script = command.script ?? []
        switch (command.kind ?? .any, command.word) {
        case (.root, .tell): navigator.tell(RootCoordinator.self) { try $0.hear(message: tag, script, &$1) }
        case (.alpha, .tell) where Table.current.edition != .first:
            navigator.tell(NewerAlphaCoordinator.self) { try $0.hear(message: tag, script, &$1) }
        case (.alpha, .tell): navigator.tell(AlphaCoordinator.self) { try $0.hear(message: tag, script, &$1) }
        case (.beta, .tell): navigator.tell(BetaCoordinator.self) { try $0.hear(message: tag, script, &$1) }
        case (.any, .tell): navigator.tell((any Actor).self) { try $0.hear(message: tag, script, &$1) }
        case (.root, _): navigator.tellChildren(RootCoordinator.self) { try $0.hear(message: tag, script, &$1) }
        case (.alpha, _) where Table.current.edition != .first:
            navigator.tellChildren(NewerAlphaCoordinator.self) { try $0.hear(message: tag, script, &$1) }
        case (.alpha, _): navigator.tellChildren(AlphaCoordinator.self) { try $0.hear(message: tag, script, &$1) }
        case (.beta, _): navigator.tellChildren(BetaCoordinator.self) { try $0.hear(message: tag, script, &$1) }
        case (.any, _): navigator.tellChildren((any Actor).self) { try $0.hear(message: tag, script, &$1) }
        }
    }

    private mutating func child(_ kind: Kind?, _ conduct: Conduct?) -> any Actor {
        me.children += 1
        let child = Me(name: "\(me.name).\(me.children)", conduct: Table.current.number(of: conduct))
        return kind == .beta ? BetaCoordinator(me: child) : Table.current.edition.alpha.init(me: child)
    }

    private mutating func tabs(_ command: Command) -> [Tab] {
        (command.tabs ?? []).map { spec in
            let badge = spec.badge.map { String(repeating: "9", count: max(0, $0)) }
            let id = "t\(spec.id)"
            if let look = spec.look { return Tab(id, icon: id, badge: badge, Actors.screen(look)) }
            return Actors.tab(id, badge, child(spec.kind, spec.conduct))
        }
    }
}

/// Makes the values of the vocabulary.
enum Actors {
    /// The state of one of the app's coordinators. Faster than a cast to `any Actor`.
    static func me(of coordinator: any Coordinator) -> Me? {
        switch coordinator {
        case let alpha as AlphaCoordinator: alpha.me
        case let beta as BetaCoordinator: beta.me
        case let root as RootCoordinator: root.me
        default: nil
        }
    }

    static func tab(_ id: String, _ badge: String?, _ child: some Actor) -> Tab {
        Tab(id, icon: id, badge: badge, starting: child)
    }

    static func type(_ kind: Kind?) -> any Coordinator.Type {
        switch kind {
        case .beta: BetaCoordinator.self
        case .root: RootCoordinator.self
        default: Table.current.edition.alpha
        }
    }

    static func element<Value>(of values: [Value], _ index: Int?) -> Value? {
        guard let index, index >= 0, !values.isEmpty else { return index == nil ? values.last : nil }
        return values[index % values.count]
    }

    static func params(_ look: Look) -> JSONObject {
        var params: JSONObject = [:]
        if let length = look.length { params["text"] = .string(String(repeating: "x", count: max(0, length))) }
        if look.differs == true { params["differs"] = true }
        if look.hasLink == true { params["script"] = 0 }
        return params
    }

    static func screen(_ look: Look) -> Screen {
        let (table, params) = (Table.current, params(look))
        var events = look.events.map { $0.map { Control(sends: AnyEvent.names[abs($0) % 4]) } }
        if let buttons = look.buttons {
            events =
                (events ?? ["go", "anywhere"])
                + buttons.enumerated().map { index, script in
                    Control("b\(index)", sends: AnyEvent.run(table.number(of: script)))
                }
        }
        let rows = (look.rows ?? []).enumerated().map { index, script in
            Row("row\(index)", sends: AnyEvent.run(table.number(of: script)))
        }
        return Screen(
            "s\(look.name)", params: params, events: events, rows: rows,
            back: look.isForbidden == true ? .forbidden : .allowed,
            link: look.hasLink == true ? "/root/{script:integer}" : nil, hasContent: look.hasContent ?? false,
            roles: look.isFor.map { [[.user], [.helper], [.user, .helper]][abs($0) % 3] } ?? [])
    }

    static func alert(_ command: Command) -> Alert {
        let buttons = (command.buttons ?? [ButtonSpec(id: 0, isCancel: true)]).map { spec in
            let (id, role): (String, AlertButton.Role?) = ("b\(spec.id)", spec.isCancel == true ? .cancel : nil)
            if spec.isForUser == true {
                return AlertButton(id, title: id, role: role, sends: AnyEvent.examples[2])
            }
            guard let script = spec.script else { return AlertButton(id, title: id, role: role) }
            return AlertButton(id, title: id, role: role, sends: AnyEvent.run(Table.current.number(of: script)))
        }
        return Alert("alert", message: command.at.map { String(repeating: "x", count: max(0, $0)) }, buttons: buttons)
    }
}
