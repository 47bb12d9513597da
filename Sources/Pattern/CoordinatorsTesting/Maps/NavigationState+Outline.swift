internal import Coordinators

extension NavigationState {
    /// The parts of a state that decide where it can lead, as far as exploring is concerned: names and an alert's
    /// title, but no keys, numbers, other titles or parameters. An app has finitely many outlines, however deep its
    /// stacks become.
    var outline: JSON {
        [
            "stack": stack.outline,
            "presented": .array(withoutLoops(presented.map { [.string($0.style.rawValue), $0.stack.outline] })),
            "alert": alert.map { .string($0.alert.title) } ?? .null,
            "coordinators": .array(Set(coordinators.map(kinship)).sorted().map { .string($0) }),
            "events": .array(acceptedEvents.map { .string($0) }),
            "asks": .bool(backPlan.map(asks) ?? false),
            "agreed": agreedEvent.map { .string($0) } ?? .null,
        ]
    }

    private func kinship(_ coordinator: LivingCoordinator) -> String {
        let parent = coordinator.parent.flatMap { self[$0]?.name } ?? ""
        return "\(parent)/\(coordinator.name) \(coordinator.enabledEvents.map(\.name).joined(separator: " "))"
    }
}

extension ScreenStack {
    fileprivate var outline: JSON {
        .array(withoutLoops(screens.map(\.outline)))
    }
}

extension PlacedScreen {
    fileprivate var outline: JSON {
        guard let tabs else { return .string(screen.name) }
        return [.string(screen.name), .string(tabs.selected.id), .array(tabs.items.map(\.stack.outline))]
    }
}

/// The path to the last of these, without its loops: going from a to b and back to a leads nowhere new.
///
/// What lies just below the last stays, because `back` shows it.
private func withoutLoops(_ path: [JSON]) -> [JSON] {
    guard let last = path.last else { return [] }
    var simple: [JSON] = []
    for step in path.dropLast() {
        if let first = simple.firstIndex(of: step) {
            simple.removeSubrange((first + 1)...)
        } else {
            simple.append(step)
        }
    }
    return simple + [last]
}
