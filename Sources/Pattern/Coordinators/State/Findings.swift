/// What trying out an app has found that breaks no rule, but that its author can hardly want: a flow that nothing ends,
/// a screen that is pushed where the user cannot see it, and a function that blocks its thread.
package struct Findings: Sendable {
    /// The names of coordinators that were shown over screens of others.
    private var flows: Set<String> = []
    /// The names of coordinators that an event other than `relaunch` has ended.
    private var ended: Set<String> = []
    /// See `hiddenScreens`.
    private var hidden: Set<String> = []
    /// See `blockingCalls`.
    private var blocking: Set<String> = []

    package init() {}

    /// - Parameter event: the type of the posted event; `nil` for the first transition.
    package mutating func note(_ event: String?, from before: NavigationState, to result: TransitionResult) {
        let state = result.state
        for coordinator in state.coordinators where state.isFlow(coordinator) { flows.insert(coordinator.name) }
        let cause = result.transition.cause
        if cause != .event || event != BuiltInEvent.relaunch.rawValue {
            ended.formUnion(result.transition.finished + result.transition.dismissed)
        }
        // A signal comes without the user, who may have opened any flow meanwhile.
        guard cause == .event else { return }
        let covering = Set(before.presented.map(\.key))
        guard !covering.isEmpty else { return }
        // A flow that is moved was shown already.
        let known = Set(before.screens.map(\.key))
        for operation in result.transition.operations {
            switch operation {
            case .push(let key, _), .replace(let key, _, _):
                guard !known.contains(key), let (screen, flow) = state.cover(of: key), covering.contains(flow.key)
                else { continue }
                let owner = state[screen.coordinator]?.name ?? ""
                let above = state.name(of: flow)
                hidden.insert(
                    "“\(owner)” shows screen “\(screen.screen.name)” under the flow “\(above)”, where the user does not see it"
                )
            default: break
            }
        }
    }

    package mutating func formUnion(_ other: Findings) {
        flows.formUnion(other.flows)
        ended.formUnion(other.ended)
        hidden.formUnion(other.hidden)
        blocking.formUnion(other.blocking)
    }

    /// - Parameter calls: sentences without their full stops.
    package mutating func note(blocking calls: [String]) { blocking.formUnion(calls) }

    /// The functions that held their thread for long, each as a sentence without its full stop, in alphabetical order.
    package var blockingCalls: [String] { blocking.sorted() }

    /// The screens that were pushed under a presented flow, each as a sentence without its full stop, in alphabetical
    /// order.
    package var hiddenScreens: [String] { hidden.sorted() }

    /// The flows that never ended, each as a sentence without its full stop, in alphabetical order. An event that was
    /// not tried may end one of them.
    package var endlessFlows: [String] {
        flows.subtracting(ended).sorted().map {
            "nothing that was tried ends the flow “\($0)”: it neither finishes, nor does the user get back from it"
        }
    }
}

extension NavigationState {
    /// Whether a coordinator is shown over screens of others, so that users expect to return to these.
    fileprivate func isFlow(_ coordinator: LivingCoordinator) -> Bool {
        let isPresented = presented.contains { $0.coordinator == coordinator.id && $0.stack.id == coordinator.home }
        if isPresented { return true }
        guard let first = stack(coordinator.home)?.screens.first, coordinator.parent != nil else { return false }
        return !families(of: [coordinator.id]).contains(first.coordinator)
            && screens.contains { $0.coordinator == coordinator.id }
    }

    /// The screen of that key, and the presented flow directly above it; `nil` if no flow covers it.
    fileprivate func cover(of key: String) -> (PlacedScreen, PresentedFlow)? {
        guard !presented.isEmpty else { return nil }
        for (position, stack) in ([stack] + presented.dropLast().map(\.stack)).enumerated() {
            var found: PlacedScreen?
            stack.forEachScreen { if $0.key == key { found = $0 } }
            if let found { return (found, presented[position]) }
        }
        return nil
    }
}
