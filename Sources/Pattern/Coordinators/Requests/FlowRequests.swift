// Flows.
extension Navigator {
    /// Starts a child on this coordinator's stack: the one on which `push` would put a screen.
    public mutating func start(_ child: some Coordinator) {
        record(Start(child: child))
    }

    /// Starts a child over everything, on a stack of its own.
    ///
    /// - Parameters:
    ///   - detent: how high a sheet opens; `nil` to leave it to the client.
    ///   - isDismissable: whether the user may dismiss the flow; by default a sheet but not a full screen, as in UIKit. If
    ///     not, only a coordinator can, as with `isModalInPresentation`.
    public mutating func present(
        _ child: some Coordinator, as style: PresentedFlow.Style = .sheet, detent: PresentedFlow.Detent? = nil,
        isDismissable: Bool? = nil
    ) {
        let presentation = Presentation(style, detent, isDismissable: isDismissable)
        record(Present(child: child, presentation: presentation))
    }

    /// Shows one of this coordinator's own screens over everything: a flow without a coordinator of its own, for example a
    /// text to read. Its events are this coordinator's. What is pushed or started while it is visible comes on top of it.
    ///
    /// - Parameters: see `present(_:as:detent:isDismissable:)`.
    public mutating func present(
        _ screen: Screen, as style: PresentedFlow.Style = .sheet, detent: PresentedFlow.Detent? = nil,
        isDismissable: Bool? = nil
    ) {
        let presentation = Presentation(style, detent, isDismissable: isDismissable)
        record(PresentScreen(screen: screen, presentation: presentation))
    }

    /// Dismisses the presented flow that this coordinator's stack is in, and all flows above it. The parent of the presented
    /// coordinator gets `childWasDismissed`; to end with a result, call `finish` instead. Nothing happens if it is not in
    /// one.
    public mutating func dismiss() {
        record(Dismiss())
    }

    /// Dismisses all flows that are presented over this coordinator's stack.
    public mutating func dismissPresented() {
        record(DismissPresented())
    }

    /// Ends this coordinator: removes it, its descendants and all their screens, then calls its parent's
    /// `childDidFinish`. No request may follow except `alert`, `tell`, `rotateToken`, `requestPairingCode`, `signIn`,
    /// `signOut` and `endSessions`.
    public mutating func finish() {
        record(Finish())
    }

    /// Removes all descendants of this coordinator at once, wherever their screens are shown, without a call of
    /// `childDidFinish` or `childWasDismissed`. For signing out.
    ///
    /// - Parameter asking: whether `shouldLeave` of their screens is asked first. If not, the screens are left in any
    ///   case.
    public mutating func endChildren(asking: Bool = true) {
        record(EndChildren(asking: asking))
    }
}

private struct Start: Request {
    let child: any Coordinator
    var name: String { "start(\(type(of: child).name))" }

    func perform(in run: inout TransitionRun, by parent: LivingCoordinator) throws(NavigationError) {
        try run.start(child, on: run.state.stackID(for: parent), by: parent)
    }
}

private struct Present: Request {
    let child: any Coordinator
    let presentation: Presentation
    var name: String { "present(\(type(of: child).name))" }

    func perform(in run: inout TransitionRun, by parent: LivingCoordinator) throws(NavigationError) {
        try run.checkDepth(by: parent)
        let key = run.state.nextKey("p")
        let stack = ScreenStack(id: run.state.nextID())
        try run.start(child, on: stack.id, by: parent)
        run.state.presented.append(
            PresentedFlow(key: key, presentation: presentation, stack: stack, coordinator: run.state.lastID))
    }
}

private struct PresentScreen: Request {
    let screen: Screen
    let presentation: Presentation
    var name: String { "present(\(screen.name))" }

    func perform(in run: inout TransitionRun, by coordinator: LivingCoordinator) throws(NavigationError) {
        try run.checkDepth(by: coordinator)
        let key = run.state.nextKey("p")
        let stack = ScreenStack(id: run.state.nextID())
        run.state.presented.append(
            PresentedFlow(key: key, presentation: presentation, stack: stack, coordinator: coordinator.id))
        try run.place(screen, on: stack.id, of: coordinator)
    }
}

private struct Dismiss: Request {
    var name: String { "dismiss()" }

    func perform(in run: inout TransitionRun, by coordinator: LivingCoordinator) {
        if let own = run.state.flow(ofStack: run.state.stackID(for: coordinator)) { run.dismissFlows(from: own) }
    }
}

private struct DismissPresented: Request {
    var name: String { "dismissPresented()" }

    func perform(in run: inout TransitionRun, by coordinator: LivingCoordinator) {
        let above = run.state.flow(ofStack: coordinator.home).map { $0 + 1 } ?? 0
        if above < run.state.presented.count { run.dismissFlows(from: above) }
    }
}

private struct Finish: Request {
    var name: String { "finish()" }
    var endsCoordinator: Bool { true }

    func perform(in run: inout TransitionRun, by coordinator: LivingCoordinator) throws(NavigationError) {
        guard let parent = coordinator.parent else { throw run.impossible("the root lives as long as the session") }
        run.drop([coordinator.id], finisher: coordinator.id)
        run.finished.append(coordinator.name)
        run.agenda.append(.call(.childDidFinish(coordinator.coordinator), parent))
    }
}

private struct EndChildren: Request {
    let asking: Bool
    var name: String { "endChildren(\(asking ? "" : "asking: false"))" }

    func perform(in run: inout TransitionRun, by coordinator: LivingCoordinator) {
        let children = run.state.children(of: coordinator.id).map(\.id)
        run.drop(Set(children), asking: asking, for: .removed)
    }
}

extension TransitionRun {
    /// Adds a child on the stack of that id, and puts its start on the agenda.
    mutating func start(
        _ child: any Coordinator, on stack: Int, by parent: LivingCoordinator
    ) throws(NavigationError) {
        guard let type = app.type(of: child) else { throw impossible("the app's list of coordinators lacks it") }
        newcomers.removeAll { $0 == parent.id }
        try add(child, type: type, parent: parent.id, home: stack)
    }

    /// Adds the root of the tree, and puts its start on the agenda.
    mutating func startRoot() throws(NavigationError) {
        try add(app.root(), type: app.rootType, parent: nil, home: state.stack.id)
    }

    private mutating func add(
        _ coordinator: any Coordinator, type: CoordinatorType, parent: Int?, home: Int
    ) throws(NavigationError) {
        let id = state.nextID()
        state.coordinators.append(
            try LivingCoordinator(
                id: id, parent: parent, home: home, type: type, coordinator: coordinator, in: state.context))
        newcomers.append(id)
        agenda.append(.call(.start, id))
    }

    /// Requires that another flow may be presented.
    fileprivate func checkDepth(by parent: LivingCoordinator) throws(NavigationError) {
        guard state.presented.count + 2 > app.limits.depth else { return }
        // Clients present one flow after the other. If one event presents most of them, the app is at fault; of a link the
        // client may have chosen the length.
        let newOnes = state.presented.count { flow in !original.presented.contains { $0.key == flow.key } }
        throw linkProgress == nil && newOnes > state.presented.count / 2
            ? .runawayTransition(coordinator: parent.name) : .depthLimit(coordinator: parent.name)
    }
}

// Moving a flow. The child of that type moves, the last one started if there are several, with its descendants on the
// same stack and with all their screens, which keep their keys, their order and what is in their tabs. No screen is left,
// so none is asked. A sheet from which the flow moves is dismissed; a flow that would leave another stack empty, that has
// presented a flow, or over which one is presented, is not moved.
extension Navigator {
    /// Moves a child's flow to the top of a tab's stack, on the innermost of this coordinator's own screens that has
    /// such a tab. The tab is not selected.
    ///
    /// ```swift
    /// navigator.move(PlayerCoordinator.self, toTab: "listen")
    /// navigator.selectTab("listen")
    /// ```
    public mutating func move(_ child: any Coordinator.Type, toTab id: String) {
        record(Move(child: child, place: .tab(id)))
    }

    /// Moves a child's flow to the top of this coordinator's stack: the one on which `push` would put a screen.
    public mutating func moveToStack(_ child: any Coordinator.Type) {
        record(Move(child: child, place: .stack))
    }

    /// Moves a child's flow over everything, to a stack of its own. A flow that is presented already can be presented
    /// in another style.
    ///
    /// - Parameters: see `present(_:as:detent:isDismissable:)`.
    public mutating func present(
        moving child: any Coordinator.Type, as style: PresentedFlow.Style = .sheet,
        detent: PresentedFlow.Detent? = nil, isDismissable: Bool? = nil
    ) {
        let presentation = Presentation(style, detent, isDismissable: isDismissable)
        record(Move(child: child, place: .presented(presentation)))
    }
}

/// Where a living flow is moved to.
private enum FlowPlace {
    /// The stack of the coordinator that moves it.
    case stack
    /// The stack of that coordinator's tab.
    case tab(String)
    case presented(Presentation)
}

/// As the screens keep their keys, a client that performs the operations removes each of them and shows it again elsewhere.
private struct Move: Request {
    let child: any Coordinator.Type
    let place: FlowPlace

    var name: String {
        switch place {
        case .stack: "moveToStack(\(child.name))"
        case .tab(let id): "move(\(child.name), toTab: \(id))"
        case .presented: "present(moving: \(child.name))"
        }
    }

    func perform(in run: inout TransitionRun, by parent: LivingCoordinator) throws(NavigationError) {
        let state = run.state
        guard let child = state.children(of: parent.id).last(where: { Swift.type(of: $0.coordinator) == child }) else {
            throw run.impossible("it has no such child")
        }
        let source = child.home
        let family = state.families(of: [child.id])
        let all = state.stack(source)?.screens ?? []
        let moved = all.filter { family.contains($0.coordinator) }
        guard !moved.isEmpty else { throw run.impossible("the flow has no screen on its stack") }
        let sheet = state.presented.firstIndex { $0.stack.id == source && $0.coordinator == child.id }
        if let other = state.presented.first(where: { $0.stack.id != source && family.contains($0.coordinator) }) {
            throw run.impossible("the flow has presented “\(state.name(of: other))”, which must be dismissed first")
        }
        if let sheet, sheet < state.presented.count - 1 {
            let name = state.name(of: state.presented[sheet + 1])
            throw run.impossible("“\(name)” is presented over the flow, and must be dismissed first")
        }
        let nesting = state.nesting(ofStack: source)
        if case .presented = place, sheet == nil { try run.checkDepth(by: parent) }
        let target = try target(from: source, in: &run, of: parent)
        // It is on top already.
        if target == source, moved.count == all.count || all.suffix(moved.count).elementsEqual(moved, by: ===) {
            return
        }
        try take(moved, from: source, of: all, sheet: sheet, in: &run, by: parent)
        if case .presented(let presentation) = place {
            let key = run.state.nextKey("p")
            run.state.presented.append(
                PresentedFlow(
                    key: key, presentation: presentation, stack: ScreenStack(id: target), coordinator: child.id))
        }
        try run.change(target, of: parent) { $0.screens += moved }
        // A session from before there was a limit may exceed it, but not by more.
        let deepest = run.state.nesting(ofStack: target) + ScreenStack(id: target, screens: moved).depth
        guard deepest <= run.app.limits.nesting || run.state.nesting(ofStack: target) <= nesting
        else { throw .nestingLimit(coordinator: parent.name) }
        for (index, living) in run.state.coordinators.enumerated()
        where living.home == source && family.contains(living.id) {
            run.state.coordinators[index] = try living.moved(to: target, in: run.state.context)
        }
    }

    /// The id of the stack to which the flow is moved, which is yet to be presented if it is a new one.
    private func target(
        from source: Int, in run: inout TransitionRun, of parent: LivingCoordinator
    ) throws(NavigationError) -> Int {
        switch place {
        case .stack: return run.state.stackID(for: parent)
        case .tab(let id):
            let (screen, position) = try run.tab(id, of: parent)
            return screen.tabs?.items[position].stack.id ?? source
        case .presented: return run.state.nextID()
        }
    }

    /// Takes a flow's screens from a stack, which must not become empty, unless it is the flow's own sheet.
    private func take(
        _ moved: [PlacedScreen], from source: Int, of all: [PlacedScreen], sheet: Int?, in run: inout TransitionRun,
        by parent: LivingCoordinator
    ) throws(NavigationError) {
        let isEmptied = moved.count == all.count
        if let sheet {
            guard isEmptied else { throw run.impossible("there are screens of other flows on its stack") }
            run.state.presented.remove(at: sheet)
            return
        }
        guard !isEmptied else { throw run.impossible("the stack that the flow is on would have no screen left") }
        try run.change(source, of: parent) { stack in
            stack.screens.removeAll { screen in moved.contains { $0 === screen } }
        }
    }
}
