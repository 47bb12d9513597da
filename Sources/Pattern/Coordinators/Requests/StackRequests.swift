// Stacks. If the visible screen is a coordinator's own, the coordinator's stack is the one with that screen; otherwise
// it is the one on which the coordinator was started.
extension Navigator {
    /// Puts a screen on top of the stack.
    ///
    /// - Parameter onlyIfNew: whether to do nothing if the screen on top is this coordinator's own and already has the
    ///   same name and parameters.
    public mutating func push(_ screen: Screen, onlyIfNew: Bool = false) {
        record(Push(screen: screen, onlyIfNew: onlyIfNew))
    }

    /// Pops the screen on top of the stack, which must be this coordinator's or a descendant's; a descendant is
    /// dismissed with its last screen. The stack's first screen is never popped, as in UIKit: call `finish` instead.
    public mutating func pop() {
        record(Pop())
    }

    /// Pops the stack to its topmost screen of that name.
    public mutating func popTo(_ name: String) {
        record(PopTo(target: .name(name)))
    }

    /// Pops the stack to its topmost screen of that name. If there is none, pushes a screen instead.
    public mutating func popTo(_ name: String, orPush screen: Screen) {
        record(PopTo(target: .name(name), otherwise: screen))
    }

    /// Pops the stack to the screen of that key.
    public mutating func popTo(key: String) {
        record(PopTo(target: .key(key)))
    }

    /// Pops the stack to its first screen.
    public mutating func popToRoot() {
        record(PopToRoot())
    }

    /// Replaces the screen on top of the stack, which must be this coordinator's.
    public mutating func replace(with screen: Screen) {
        record(Replace(screen: screen))
    }

    /// Replaces this coordinator's screens on the stack, and all screens above them.
    public mutating func setStack(_ screens: [Screen]) {
        record(SetStack(screens: screens))
    }

    /// Changes this coordinator's topmost screen of that name, on whichever stack it is. The screen keeps its key.
    public mutating func update(_ name: String, _ change: @Sendable @escaping (inout Screen) -> Void) {
        record(Update(target: .name(name), change: change))
    }

    /// Changes this coordinator's screen of that key.
    public mutating func update(key: String, _ change: @Sendable @escaping (inout Screen) -> Void) {
        record(Update(target: .key(key), change: change))
    }

    /// Lets clients fetch the content of this coordinator's screens of that name again, for example when a service has
    /// sent a signal that it has changed: their `contentVersion` changes, and whoever watches learns of it. It is no error
    /// if there is no such screen; one without content, see `Coordinator.content`, is refused.
    public mutating func invalidateContent(of name: String) {
        record(InvalidateContent(target: .name(name)))
    }

    /// Lets clients fetch the content of this coordinator's screen of that key again.
    public mutating func invalidateContent(ofKey key: String) {
        record(InvalidateContent(target: .key(key)))
    }
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

    /// The argument of a function, as its author wrote it.
    fileprivate var argument: String {
        switch self {
        case .key: "key:"
        case .name(let name): name
        }
    }
}

private struct Push: Request {
    let screen: Screen
    let onlyIfNew: Bool
    var name: String { "push(\(screen.name))" }

    func perform(in run: inout TransitionRun, by coordinator: LivingCoordinator) throws(NavigationError) {
        if onlyIfNew, let top = run.state.stack(run.state.stackID(for: coordinator))?.screens.last,
            top.coordinator == coordinator.id
        {
            let drawn = coordinator.drawing(of: screen, in: run.state.context)
            if top.screen.name == drawn.name, top.screen.params == drawn.params { return }
        }
        try run.place(screen, of: coordinator)
    }
}

private struct Pop: Request {
    var name: String { "pop()" }

    func perform(in run: inout TransitionRun, by coordinator: LivingCoordinator) throws(NavigationError) {
        let (stack, top) = try run.stackAndTop(of: coordinator)
        guard stack.screens.count > 1 else { return }
        guard run.state.lineage(of: top.coordinator).contains(coordinator.id) else {
            throw run.impossible("the screen on top of its stack belongs to another flow")
        }
        run.drop(stack.screens.suffix(1))
    }
}

private struct PopTo: Request {
    let target: ScreenReference
    var otherwise: Screen?
    var name: String { "popTo(\(target.argument)\(otherwise == nil ? "" : ", orPush:"))" }

    func perform(in run: inout TransitionRun, by coordinator: LivingCoordinator) throws(NavigationError) {
        let stack = try run.stack(of: coordinator)
        if let position = stack.screens.lastIndex(where: target.matches) {
            run.drop(stack.screens[(position + 1)...])
        } else if let otherwise {
            try run.place(otherwise, of: coordinator)
        } else {
            throw run.impossible("the stack has no such screen")
        }
    }
}

private struct PopToRoot: Request {
    var name: String { "popToRoot()" }

    func perform(in run: inout TransitionRun, by coordinator: LivingCoordinator) throws(NavigationError) {
        run.drop(try run.stackAndTop(of: coordinator).stack.screens.dropFirst())
    }
}

private struct Replace: Request {
    let screen: Screen
    var name: String { "replace(with: \(screen.name))" }

    func perform(in run: inout TransitionRun, by coordinator: LivingCoordinator) throws(NavigationError) {
        let key = run.state.nextKey("k")
        let placed = try run.placed(screen, key: key, of: coordinator)
        let id = run.state.stackID(for: coordinator)
        guard let top = run.state.stack(id)?.screens.last, top.coordinator == coordinator.id else {
            throw run.impossible("the screen on top of the stack is not its own")
        }
        try run.change(id, of: coordinator) { $0.screens[$0.screens.count - 1] = placed }
        run.replaced[key] = top.key
        top.forEachWithin { run.noteGone($0) }
    }
}

private struct SetStack: Request {
    let screens: [Screen]
    var name: String { "setStack()" }

    func perform(in run: inout TransitionRun, by coordinator: LivingCoordinator) throws(NavigationError) {
        guard !screens.isEmpty else { throw run.impossible("there is no screen") }
        // Looked up first: without the coordinator's screens its stack can no longer be determined.
        let id = run.state.stackID(for: coordinator)
        if let stack = run.state.stack(id),
            let first = stack.screens.firstIndex(where: { $0.coordinator == coordinator.id })
        {
            run.drop(stack.screens[first...])
        }
        for screen in screens { try run.place(screen, on: id, of: coordinator) }
    }
}

private struct Update: Request {
    let target: ScreenReference
    let change: @Sendable (inout Screen) -> Void
    var name: String { "update(\(target.argument))" }

    func perform(in run: inout TransitionRun, by coordinator: LivingCoordinator) throws(NavigationError) {
        let own = run.state.screens.last { $0.coordinator == coordinator.id && target.matches($0) }
        guard let own else { throw run.impossible("it has no such screen") }
        try run.update(own, of: coordinator, change)
    }
}

/// Counts a new version of a screen's content, which is no part of the state.
private struct InvalidateContent: Request {
    let target: ScreenReference

    var name: String {
        switch target {
        case .key: "invalidateContent(ofKey:)"
        case .name(let name): "invalidateContent(of: \(name))"
        }
    }

    func perform(in run: inout TransitionRun, by coordinator: LivingCoordinator) throws(NavigationError) {
        for own in run.state.screens where own.coordinator == coordinator.id && target.matches(own) {
            guard own.screen.hasContent else { throw run.impossible("the screen has no content") }
            try run.update(own, of: coordinator) { $0.contentVersion += 1 }
        }
    }
}

extension TransitionRun {
    fileprivate mutating func update(
        _ own: PlacedScreen, of coordinator: LivingCoordinator, _ change: (inout Screen) -> Void
    ) throws(NavigationError) {
        var screen = own.labelled
        change(&screen)
        let drawn = coordinator.drawing(of: screen, in: state.context)
        let request = requestName
        if drawn != own.labelled { try redraw(own, as: drawn, of: coordinator, request) }
    }
}
