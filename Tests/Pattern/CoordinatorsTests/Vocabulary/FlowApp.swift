import Coordinators
import CoordinatorsTesting
import JSONCoding
import Testing

/// Three coordinators that do what a test asks: `a` is the root, and each of them can start `b` and `c`.
///
/// Each first shows a screen of its own name, and notes in `told` the calls that it receives.
enum FlowApp {
    static let app = App("flow", root: { ACoordinator() }, coordinators: [BCoordinator.self, CCoordinator.self])
}

/// What a test asks of a coordinator.
enum Ask: Codable, Sendable {
    case push(String)
    case pushOnce(String, value: Int)
    case pushForbidden(String)
    case pushTabs([String], selected: String?, back: TabBackRule)
    case pop
    case popTo(String)
    case popToKey(String)
    case popToOrPush(String)
    case popToRoot
    case replace(String)
    case setStack([String])
    case rename(String, String)
    case renameKey(String, String)
    case selectTab(String)
    case setTabs([String])
    case start(String)
    case present(String, PresentedFlow.Style)
    case presentScreen(String)
    case dismiss
    case dismissPresented
    case noteWhetherPresenting
    case noteStack
    case finish
    case endChildren
    case endChildrenWithoutAsking
    case deliver(String)
    case deliverNumber(Int)
    case move(String, toTab: String)
    case moveToStack(String)
    case presentMoving(String, PresentedFlow.Style)
    case badge(String?, tab: String)
    case pushContent
    case invalidateContent
    case tell
    case tellChildren
    case tellStranger
    case alert([String])
    case dismissAlerts
    case keep(String)
    case protect(String)
    case fail
    case overload
}

/// Implemented by `a` and `c`.
protocol FlowDelegate {
    mutating func flowWasTouched(_ navigator: inout Navigator)
}

/// Implemented by none.
protocol StrangerDelegate {}

protocol Flow: StackDelegate {
    var told: [String] { get set }
    /// The screens that the user has left.
    var left: [String] { get set }
    /// The names of the screens that ask before they are left.
    var protected: [String] { get set }
}

extension Flow {
    func start(_ navigator: inout Navigator) { navigator.push(Screen(Self.name)) }

    mutating func childDidFinish(_ child: any Coordinator, _ navigator: inout Navigator) {
        told.append("\(type(of: child).name) finished")
    }

    mutating func childWasDismissed(_ child: any Coordinator, _ navigator: inout Navigator) {
        told.append("\(type(of: child).name) dismissed")
    }

    mutating func childDidDeliver(_ value: any Sendable, from child: any Coordinator, _ navigator: inout Navigator) {
        told.append("\(type(of: child).name) delivered \(value)")
        // For the number of the child's notes.
        if value as? String == "push", let child = child as? any Flow {
            navigator.push(Screen("after \(child.told.count)"))
        }
        if value as? String == "end" { navigator.setTabs([FlowTabs.tab("x")]) }
    }

    mutating func screenWasRemoved(_ screen: Screen, _ navigator: inout Navigator) {
        left.append(screen.name)
        if screen.name == "sticky" { navigator.push(screen) }
    }

    func content(of screen: Screen, in context: ContentContext) -> JSONObject { ["from": .string(Self.name)] }

    func shouldLeave(_ screen: Screen, in context: NavigationContext) -> Alert? {
        guard protected.contains(screen.name) else { return nil }
        return Alert("Leave \(screen.name)?", buttons: [.cancel, .leave("leave", title: "Leave")])
    }

    mutating func perform(_ asks: [Ask], _ navigator: inout Navigator) throws {
        for ask in asks { try perform(ask, &navigator) }
    }

    private mutating func perform(_ ask: Ask, _ navigator: inout Navigator) throws {
        switch ask {
        case .push(let name): navigator.push(Screen(name))
        case .pushOnce(let name, let value):
            navigator.push(Screen(name, params: ["value": .integer(value)]), onlyIfNew: true)
        case .pushForbidden(let name): navigator.push(Screen(name, back: .forbidden))
        case .pushTabs(let ids, let selected, let back):
            navigator.push(Screen("tabs"), tabs: ids.map(FlowTabs.tab), selected: selected, back: back)
        case .pop: navigator.pop()
        case .popTo(let name): navigator.popTo(name)
        case .popToKey(let key): navigator.popTo(key: key)
        case .popToOrPush(let name): navigator.popTo(name, orPush: Screen(name))
        case .popToRoot: navigator.popToRoot()
        case .replace(let name): navigator.replace(with: Screen(name))
        case .setStack(let names): navigator.setStack(names.map { Screen($0) })
        case .rename(let name, let title): navigator.update(name) { $0.title = title }
        case .renameKey(let key, let title): navigator.update(key: key) { $0.title = title }
        case .selectTab(let id): navigator.selectTab(id)
        case .setTabs(let ids): navigator.setTabs(ids.map(FlowTabs.tab))
        case .start("b"): navigator.start(BCoordinator())
        case .start: navigator.start(CCoordinator())
        case .present("b", let style): navigator.present(BCoordinator(), as: style, isDismissable: true)
        case .present(_, let style): navigator.present(CCoordinator(), as: style, isDismissable: true)
        case .presentScreen(let name): navigator.present(Screen(name))
        case .dismiss: navigator.dismiss()
        case .dismissPresented: navigator.dismissPresented()
        case .noteWhetherPresenting: told.append(navigator.isPresenting ? "presenting" : "not presenting")
        case .finish: navigator.finish()
        case .noteStack: told += navigator.stack.map { "\($0.key) \($0.name)\($0.isOwn ? "*" : "")" }
        case .endChildren: navigator.endChildren()
        case .endChildrenWithoutAsking: navigator.endChildren(asking: false)
        case .deliver(let text): navigator.deliver(text)
        case .deliverNumber(let number): navigator.deliver(number)
        case .move(let child, let id): navigator.move(FlowTabs.type(child), toTab: id)
        case .moveToStack(let child): navigator.moveToStack(FlowTabs.type(child))
        case .presentMoving(let child, let style): navigator.present(moving: FlowTabs.type(child), as: style)
        case .tell: navigator.tell((any FlowDelegate).self) { $0.flowWasTouched(&$1) }
        case .badge(let badge, let id): navigator.setBadge(badge, ofTab: id)
        case .pushContent: navigator.push(Screen("content", hasContent: true))
        case .invalidateContent: navigator.invalidateContent(of: "content")
        case .tellChildren: navigator.tellChildren((any FlowDelegate).self) { $0.flowWasTouched(&$1) }
        case .dismissAlerts: navigator.dismissAlerts()
        case .tellStranger:
            navigator.tell((any StrangerDelegate).self) { _, _ in }
            let isStrange = navigator.hasAncestor((any StrangerDelegate).self)
            told.append("delegate: \(navigator.hasAncestor((any FlowDelegate).self)), stranger: \(isStrange)")
        case .alert(let ids):
            navigator.alert(Alert("Alert", buttons: ids.map { $0 == "cancel" ? .cancel : AlertButton($0, title: $0) }))
        case .keep(let text): navigator.defaults["text"] = .string(text)
        case .protect(let name): protected.append(name)
        case .fail: throw TestError()
        case .overload: throw Overloaded(retryAfter: 7)
        }
    }
}

/// A tab named after a coordinator starts it; every other tab shows a screen with the name of the tab.
enum FlowTabs {
    static func type(_ name: String) -> any Coordinator.Type { name == "b" ? BCoordinator.self : CCoordinator.self }

    static func tab(_ id: String) -> Tab {
        switch id {
        case "b": Tab(id, starting: BCoordinator())
        case "c": Tab(id, starting: CCoordinator())
        default: Tab(id, Screen(id))
        }
    }
}

struct ACoordinator: Flow, FlowDelegate {
    static let everywhere = Event.examples
    var told: [String] = []
    var left: [String] = []
    var protected: [String] = []

    enum Event: NavigationEvent {
        case a([Ask])
        static let examples: [Event] = [.a([])]
    }

    mutating func handle(_ event: Event, _ navigator: inout Navigator) throws {
        switch event {
        case .a(let asks): try perform(asks, &navigator)
        }
    }

    mutating func flowWasTouched(_ navigator: inout Navigator) {
        told.append("touched")
        navigator.push(Screen("touched"))
    }
}

struct BCoordinator: Flow {
    static let everywhere = Event.examples
    var told: [String] = []
    var left: [String] = []
    var protected: [String] = []

    enum Event: NavigationEvent {
        case b([Ask])
        static let examples: [Event] = [.b([])]
    }

    mutating func handle(_ event: Event, _ navigator: inout Navigator) throws {
        switch event {
        case .b(let asks): try perform(asks, &navigator)
        }
    }
}

struct CCoordinator: Flow, FlowDelegate {
    static let everywhere = Event.examples
    var told: [String] = []
    var left: [String] = []
    var protected: [String] = []

    enum Event: NavigationEvent {
        case c([Ask])
        static let examples: [Event] = [.c([])]
    }

    mutating func handle(_ event: Event, _ navigator: inout Navigator) throws {
        switch event {
        case .c(let asks): try perform(asks, &navigator)
        }
    }

    mutating func flowWasTouched(_ navigator: inout Navigator) { told.append("touched") }
}

extension CoordinatorTester {
    /// Asks things of `a`, in one transition.
    mutating func a(_ asks: Ask..., fileID: String = #fileID, line: UInt = #line) async throws(Failure) {
        try await send(ACoordinator.Event.a(asks), fileID: fileID, line: line)
    }

    /// Asks things of the nearest `b`.
    mutating func b(_ asks: Ask..., fileID: String = #fileID, line: UInt = #line) async throws(Failure) {
        try await send(BCoordinator.Event.b(asks), fileID: fileID, line: line)
    }

    /// Asks things of the nearest `c`.
    mutating func c(_ asks: Ask..., fileID: String = #fileID, line: UInt = #line) async throws(Failure) {
        try await send(CCoordinator.Event.c(asks), fileID: fileID, line: line)
    }

    /// Goes back, and checks that `backPlan` has predicted the result.
    mutating func backAsForetold(fileID: String = #fileID, line: UInt = #line) async throws {
        let plan = backPlan

        try await back(fileID: fileID, line: line)

        switch plan {
        case .pop(_, let revealed)?, .dismiss(_, let revealed)?, .selectTab(_, _, let revealed)?:
            #expect(state.visible?.key == revealed)
        case .dismissAlert?: #expect(alert == nil)
        case nil: Issue.record("back was not foretold")
        }
    }

    /// What the first living coordinator of a type has noted.
    func told<C: Flow>(_ type: C.Type) -> [String] {
        state.coordinators.lazy.compactMap { $0.coordinator as? C }.first?.told ?? []
    }

    /// Which screens of the first living coordinator of a type the user has left.
    func left<C: Flow>(_ type: C.Type) -> [String] {
        state.coordinators.lazy.compactMap { $0.coordinator as? C }.first?.left ?? []
    }

    /// Saves and restores the session, and checks that nothing has changed.
    func restored() throws -> NavigationState {
        let restored = try app.restore(try JSON(parsing: state.encoded, maximumDepth: 512)).state
        #expect(restored == state)
        #expect(restored.encoded == state.encoded)
        return restored
    }

    /// Expects that `act` is refused with `reason`, and changes nothing.
    mutating func expectRefusal(
        _ reason: NavigationError, fileID: String = #fileID, line: UInt = #line,
        _ act: (inout CoordinatorTester) async throws -> Void
    ) async {
        let before = state
        await #expect(throws: CoordinatorTester.Failure(reason)) { try await act(&self) }
        #expect(state == before)
    }
}
