internal import Coordinators

/// What may be tried in a state, and how a map names it.
struct Attempt {
    enum Action {
        case post(PostedEvent)
        /// Sends a signal as another system.
        case send(PostedEvent)
        /// Lets time pass until this timer is due.
        case await(PendingWork)
        case perform(PendingWork)
        /// Lets an effect fail, whatever `perform` would do.
        case fail(PendingWork)
        /// Pairs another device.
        case pair
    }

    let action: Action
    /// The label of its edge; for an effect only if it ends without a signal.
    let label: String
    /// Identifies it among those of the app: `coordinator.event`, `coordinator.perform(effect)`, or the label of a
    /// built-in event.
    let name: String
    /// The kind of its edge. A built-in event means the same in every app. The answer to an alert does not.
    let kind: AppMap.Edge.Kind
}

extension NavigationState {
    /// What may happen now: each accepted event with every example, or with what the controls and rows of the visible
    /// screen carry, a built-in event with every payload that a map shows, each signal of other systems with every
    /// example, the next timer, each outcome of each effect, and another device if the root is told of it.
    func attempts(in app: App) -> [Attempt] {
        let events = acceptedEvents.flatMap { name -> [Attempt] in
            if let event = BuiltInEvent(rawValue: name) { return attempts(of: event, in: app) }
            guard let (coordinator, _) = recipient(of: name) else { return [] }
            return payloadsToTry(of: name).prefix(NavigationState.payloadsPerEvent).map { payload in
                let posted = PostedEvent(name, payload: payload)
                return Attempt(action: .post(posted), label: name, name: "\(coordinator.name).\(name)", kind: .event)
            }
        }
        guard app.isToldOfDevices, let root = coordinators.first?.name else { return events + attemptsWithoutUser }
        let pairing = Attempt(
            action: .pair, label: "deviceDidPair", name: "\(root).deviceDidPair", kind: .signal)
        return events + attemptsWithoutUser + [pairing]
    }

    /// A long list need not be tried row by row to draw a map.
    private static let payloadsPerEvent = 32

    private var attemptsWithoutUser: [Attempt] {
        func attempt(_ action: Attempt.Action, _ label: String, _ call: String, of coordinator: Int) -> Attempt {
            let owner = self[coordinator]?.name ?? ""
            return Attempt(action: action, label: label, name: "\(owner).\(call)", kind: .signal)
        }
        let signals = acceptedSignals.flatMap { coordinator, signal in
            signal.unmaskedPayloads.map { payload in
                let posted = PostedEvent(signal.name, payload: payload)
                return attempt(.send(posted), signal.name, "receive(\(signal.name))", of: coordinator.id)
            }
        }
        let timers = timersDue(at: nextTimer ?? .distantPast).prefix(1).map { timer in
            let signal = timer.signal ?? ""
            return attempt(.await(timer), signal, "receive(\(signal))", of: timer.coordinator)
        }
        // A clean-up leads nowhere.
        let effects = self.effects.filter { $0.cleanUp == nil }.flatMap { work in
            let name = work.effect ?? ""
            return [
                attempt(.perform(work), name, "perform(\(name))", of: work.coordinator),
                attempt(.fail(work), "\(name) fails", "effectDidFail(\(name))", of: work.coordinator),
            ]
        }
        return signals + timers + effects
    }

    /// Empty for the events that add nothing to a map: `relaunch` and `describeClient` are possible everywhere, and
    /// `backTo` and `backToRoot` are repeated `back`.
    private func attempts(of event: BuiltInEvent, in app: App) -> [Attempt] {
        func attempt(
            _ payload: JSON?, _ label: String = event.rawValue, _ kind: AppMap.Edge.Kind = .builtIn
        ) -> Attempt {
            let posted = PostedEvent(event.rawValue, payload: payload)
            return Attempt(action: .post(posted), label: label, name: label, kind: kind)
        }
        return switch event {
        case .back, .dismiss: [attempt(nil)]
        case .selectTab: visibleTabs.map { attempt(["tab": .string($0)]) }
        case .answer:
            alert?.alert.buttons.map { attempt(["button": .string($0.id)], "“\($0.title)”", .event) } ?? []
        // While an alert is shown, a link waits.
        case .open: (alert == nil ? paths(in: app) : []).map { attempt(["path": .string($0)], $0) }
        case .backTo, .backToRoot, .relaunch, .describeClient: []
        }
    }

    /// The links without parameters, those that are nothing but a catch-all, and the visible screen's own.
    private func paths(in app: App) -> [String] {
        let fixed = app.examplePaths
        guard let screen = visible?.screen, let own = screen.link?.path(screen.params), !fixed.contains(own) else {
            return fixed
        }
        return fixed + [own]
    }
}
