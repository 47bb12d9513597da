internal import Coordinators

extension NavigationState {
    /// The parts of a state on which exploring distinguishes states: names, the alert's title and the event that it is
    /// about, but no keys, numbers, other titles or parameters. An app has finitely many outlines, however deep its
    /// stacks become.
    var outline: JSON {
        [
            "stack": stack.outline,
            "presented": .array(withoutLoops(presented.map { [.string($0.style.rawValue), $0.stack.outline] })),
            // The same alert continues another event, and so leads elsewhere, if another one was held up.
            "alert": alert.map { [.string($0.alert.title), .string($0.subject ?? "")] } ?? .null,
            "coordinators": .array(Set(coordinators.map(summary)).sorted().map { .string($0) }),
            "events": .array(acceptedEvents.map { .string($0) }),
            "asks": .bool(backPlan.map(asks) ?? false),
            "pending": .array(Set(pending.map(summary)).sorted().map { .string($0) }),
            "agreed": agreedEvent.map { .string($0) } ?? .null,
        ]
    }

    /// The names of an effect or a timer's signal and of its coordinator. An id may be another one each time.
    private func summary(_ work: PendingWork) -> String {
        "\(self[work.coordinator]?.name ?? "") \(work.effect.map { "performs \($0)" } ?? "awaits \(work.signal ?? "")")"
    }

    /// The names of a coordinator, its parent and its enabled events.
    private func summary(_ coordinator: LivingCoordinator) -> String {
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

/// The elements, bottom first, without loops: an element that equals one below it is removed together with all elements
/// between the two.
///
/// The last element stays in any case, and below it lies the one that `back` shows.
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
