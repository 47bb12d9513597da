internal import Coordinators

extension NavigationState {
    /// What of a state decides where it can lead, as far as exploring goes: names, and no keys, ids, titles or parameters.
    /// An app has finitely many, however deep its stacks become.
    var outline: JSON {
        [
            "stack": stack.outline,
            "presented": .array(withoutRounds(presented.map { [.string($0.style.rawValue), $0.stack.outline] })),
            "alert": alert.map { .string($0.alert.title) } ?? .null,
            "coordinators": .array(Set(coordinators.map(kinship)).sorted().map { .string($0) }),
            "events": .array(acceptedEvents.map { .string($0) }),
        ]
    }

    private func kinship(_ coordinator: LivingCoordinator) -> String {
        let parent = coordinator.parent.flatMap { self[$0]?.name } ?? ""
        return "\(parent)/\(coordinator.name) \(coordinator.enabledEvents.map(\.name).joined(separator: " "))"
    }
}

extension ScreenStack {
    fileprivate var outline: JSON {
        .array(withoutRounds(screens.map(\.outline)))
    }
}

extension PlacedScreen {
    fileprivate var outline: JSON {
        guard let tabs else { return .string(screen.name) }
        return [.string(screen.name), .string(tabs.selected.id), .array(tabs.items.map(\.stack.outline))]
    }
}

/// The way to the last of these, without the rounds in it: whoever goes from a to b and back to a is where he was.
///
/// What lies just below the last stays, for it is what `back` shows.
private func withoutRounds(_ path: [JSON]) -> [JSON] {
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
