public import FoundationEssentials
internal import JSONCoding

/// What a coordinator asks for.
///
/// A navigator only records. What it recorded is performed, in order, after the coordinator's function has returned:
/// a coordinator is never called while one of its functions still runs.
public struct Navigator: Sendable {
    /// Small values kept for the session, also across `relaunch`.
    public var defaults: Defaults
    /// The time of the event, the same during the whole transition.
    public let now: Date
    private(set) var requests: [Request] = []

    init(defaults: Defaults, now: Date) {
        self.defaults = defaults
        self.now = now
    }

    /// Puts a screen on top: of the stack where the user sees this coordinator's screen, else of the stack on which
    /// this coordinator was started.
    public mutating func push(_ screen: Screen) {
        requests.append(.push(screen, tabs: nil))
    }

    /// Puts a screen with tabs on top. The first tab is selected.
    public mutating func push(_ screen: Screen, tabs: [Tab]) {
        requests.append(.push(screen, tabs: tabs))
    }

    /// Takes this coordinator's visible screen away. The stack's first screen stays: finish instead.
    public mutating func pop() {
        requests.append(.pop)
    }

    /// Pops the stack where the user sees this coordinator's screen to its first screen.
    public mutating func popToRoot() {
        requests.append(.popToRoot)
    }

    /// Shows a tab, in the innermost screen with a tab of that name among this coordinator's own.
    public mutating func selectTab(_ id: String) {
        requests.append(.selectTab(id))
    }

    /// Shows an alert over everything.
    public mutating func alert(_ alert: Alert) {
        requests.append(.alert(alert))
    }

    /// Starts a child on the stack where a push would land now.
    public mutating func start(_ child: some Coordinator) {
        requests.append(.start(child))
    }

    /// Ends this coordinator: it, its descendants and all their screens go, then its parent's `childDidFinish` is
    /// called. Nothing can be asked for afterwards.
    public mutating func finish() {
        requests.append(.finish)
    }
}

/// One thing that a coordinator asked for.
enum Request: Sendable {
    case push(Screen, tabs: [Tab]?)
    case pop
    case popToRoot
    case selectTab(String)
    case alert(Alert)
    case start(any Coordinator)
    case finish
}

extension Request {
    var isFinish: Bool {
        if case .finish = self { true } else { false }
    }
}

extension Request: CustomStringConvertible {
    /// The request as its author wrote it, without the values.
    var description: String {
        switch self {
        case .push(let screen, let tabs): tabs == nil ? "push(\(screen.name))" : "push(\(screen.name), tabs:)"
        case .pop: "pop()"
        case .popToRoot: "popToRoot()"
        case .selectTab(let id): "selectTab(\(id))"
        case .alert: "alert()"
        case .start(let child): "start(\(type(of: child).name))"
        case .finish: "finish()"
        }
    }
}
