public import JSONCoding

/// Why a saved state cannot be restored.
public enum RestoreError: Error, Equatable, Sendable {
    /// The text is not what `NavigationState.encoded` writes.
    case damaged(JSONDecodingError)
    /// A newer version of the app saved it.
    case newer(version: Int)
    /// An app of the same version but with another declaration saved it, and parts of it do not fit this one. Only an
    /// app of a higher version removes parts.
    case sameVersion([Loss])
    /// An older version of the app saved it, and this one can keep none of its screens.
    case nothingLeft([Loss])
}

/// A saved state as the app's present declaration restores it.
public struct Restoration: Sendable {
    /// The version of the app that saved the state.
    public let version: Int
    /// The removed parts; empty if the state is as complete as when it was saved.
    public let losses: [Loss]
    /// The result of the transition if the coordinators that it notifies make no requests. It is also how a session is
    /// restored if one of them fails.
    public let prospect: TransitionResult
    let run: TransitionRun

    /// The state of `prospect`.
    public var state: NavigationState { prospect.state }

    /// Whether `transition` must be carried out, because something was removed, a client sees a change, or a
    /// coordinator has to be notified.
    public var needsTransition: Bool {
        !losses.isEmpty || !prospect.transition.operations.isEmpty || !run.agenda.isEmpty
    }

    /// The transition from the saved state to the restored one. It calls the parents of the removed coordinators.
    public func transition(at now: Date) -> TransitionRun {
        var run = run
        run.now = now
        return run
    }
}

extension App {
    /// Restores an encoded state. Of the coordinators' functions only `migrate`, `isEnabled` and `render` are called.
    /// Without `Loss`es, and if no screen is drawn differently, the result is equal to the original.
    public func restore(_ saved: JSON) throws(RestoreError) -> Restoration {
        let version: Int
        do {
            version = try saved.count("version")
        } catch {
            throw .damaged(error)
        }
        guard version <= self.version else { throw .newer(version: version) }
        var migration = Migration(of: self, from: version)
        let state: NavigationState
        do {
            state = try migration.state(saved)
        } catch {
            throw .damaged(error)
        }
        guard (try? state.checkInvariants()) != nil, state.isSound else {
            throw .damaged(JSONDecodingError(path: [], reason: "contradicts itself"))
        }
        let run = migration.run(from: state)
        guard migration.losses.isEmpty || version < self.version else { throw .sameVersion(migration.losses) }
        guard let prospect = run.prospect, !prospect.state.stack.screens.isEmpty else {
            throw .nothingLeft(migration.losses)
        }
        return Restoration(version: version, losses: migration.losses, prospect: prospect, run: run)
    }
}

extension NavigationState {
    /// Whether every number occurs once and will not be given out again, and whether the root and every flow has the
    /// stack on which it was started, or its presenter's screen.
    fileprivate var isSound: Bool {
        var stacks: [Int] = []
        stack.forEachStack { stacks.append($0.id) }
        for flow in presented { flow.stack.forEachStack { stacks.append($0.id) } }
        // A key is a letter and a number.
        var keys = screens.map { Int($0.key.dropFirst()) }
        keys += presented.map { Int($0.key.dropFirst()) }
        keys += alerts.map { Int($0.key.dropFirst()) }
        let numbers = keys.compactMap(\.self)
        return numbers.count == keys.count && numbers.areDistinct(upTo: lastKey)
            && coordinators.map(\.id).areDistinct(upTo: lastID) && stacks.areDistinct(upTo: lastID)
            && coordinators.first?.parent == nil && coordinators.first?.home == stack.id
            && presented.allSatisfy { flow in
                self[flow.coordinator]?.home == flow.stack.id
                    || flow.stack.screens.first?.coordinator == flow.coordinator
            }
            && pending.map(\.number).areDistinct(upTo: lastID)
    }
}

extension [Int] {
    fileprivate func areDistinct(upTo limit: Int) -> Bool {
        let sorted = sorted()
        return sorted.first ?? 0 >= 0 && sorted.last ?? 0 <= limit
            && zip(sorted, sorted.dropFirst()).allSatisfy { $0 < $1 }
    }
}

/// A part of a saved session that the app's new declaration cannot keep.
public enum Loss: Equatable, Sendable {
    /// A coordinator; `reason` says in words why, `nil` if it was removed together with another one.
    case coordinator(name: String, reason: String?)
    case screen(name: String)
    /// A property that the coordinator no longer has, though the app's version is the same. A higher version may drop
    /// properties.
    case property(name: String, coordinator: String)
    case tab(id: String)
    /// An alert. One of its buttons sends the event `lacking`, which no longer exists; `nil` if the alert has another
    /// reason to go, such as the removal of its coordinator.
    case alert(lacking: String?)
    /// A control of a screen: its event does not exist. `isDrawn`: it is `render` that draws it, and it was not saved.
    case control(event: String, screen: String, isDrawn: Bool = false)
    /// A shared value, or a member of one; `reason` says in words why, `nil` if it is not known.
    case shared(name: String, reason: String?)
    /// A link that was kept for later.
    case pendingLink
    /// An effect under way or a timer; `reason` says in words why, `nil` if its coordinator was removed.
    case work(id: String, coordinator: String, reason: String?)
}

extension Loss: CustomStringConvertible {
    /// What is lost, in words. It contains nothing that a user has typed.
    public var description: String {
        switch self {
        case .coordinator(let name, let reason): "coordinator “\(name)”" + (reason.map { " (\($0))" } ?? "")
        case .property(let name, let coordinator): "property “\(name)” of coordinator “\(coordinator)”"
        case .screen(let name): "screen “\(name)”"
        case .tab(let id): "tab “\(id)”"
        case .alert(let event): "the alert" + (event.map { ", whose button sends “\($0)”" } ?? "")
        case .control(let event, let screen, let isDrawn):
            "event “\(event)” of screen “\(screen)”"
                + (isDrawn ? ", which `render` draws, and the coordinator does not declare" : "")
        case .shared(let name, let reason): "shared state “\(name)”" + (reason.map { " (\($0))" } ?? "")
        case .pendingLink: "the pending link"
        case .work(let id, let coordinator, let reason):
            "effect or timer “\(id)” of coordinator “\(coordinator)”" + (reason.map { " (\($0))" } ?? "")
        }
    }
}

/// Restores a state under a declaration of the app that may differ from the one that saved it.
///
/// First everything is put back where it was: screens as they were saved, and a `RemovedCoordinator` in the place of
/// each coordinator that cannot be restored. Then a transition removes the parts that cannot stay, and redraws the
/// screens.
struct Migration {
    private(set) var losses: [Loss] = []
    private let app: App
    /// The version of the app that saved the state.
    private let version: Int
    private var coordinatorsToRemove: Set<Int> = []
    private var screensToRemove: Set<String> = []
    /// The screens that `Coordinator.migrate` changed, by their keys.
    private var migratedScreens: [String: Screen] = [:]

    init(of app: App, from version: Int) {
        self.app = app
        self.version = version
    }

    /// The state as it was saved, with substitutes for the coordinators that cannot be restored.
    mutating func state(_ saved: JSON) throws(JSONDecodingError) -> NavigationState {
        var state = NavigationState()
        state.lastKey = try saved.count("lastKey")
        state.lastID = try saved.count("lastID")
        let defaults: JSONObject = try saved.member("defaults")
        state.defaults = Defaults(defaults)
        if let client: JSON = try saved.member(ifAny: "client") { state.client = try ClientInfo(client) }
        state.role = app.role(try saved.member(ifAny: "role"))
        state.inheritedID = try saved.count(ifAny: "inheritedID") ?? 0
        let coordinators: [SavedCoordinator] = try saved.member("coordinators")
        let session = SavedSession(version: version, defaults: defaults, coordinators: coordinators)
        let values: JSONObject = try saved.member(ifAny: "shared") ?? [:]
        let (shared, lost) = SharedValues.restored(values, of: session, as: app.sharedTypes)
        state.shared = shared
        losses += lost
        for coordinator in coordinators { state.coordinators.append(try living(coordinator, in: state.context)) }
        let stack: SavedStack = try saved.member("stack")
        state.stack = try stack.restored(in: state)
        let presented: [SavedFlow] = try saved.member(ifAny: "presented") ?? []
        for flow in presented { state.presented.append(try flow.restored(in: state)) }
        state.alert = try saved.member(ifAny: "alert")
        if !app.aliases.isEmpty {
            state.alerts = state.alerts.map { $0.renamingEvents(by: state[$0.coordinator]?.type.aliases ?? [:]) }
        }
        state.pendingLink = try saved.member(ifAny: "pendingLink")
        state.agreement = try Agreement(saved: saved)
        if version < app.version { state.forEachScreen { migrate($0, in: state) } }
        let pending: [PendingWork] = try saved.member(ifAny: "pending") ?? []
        for work in pending {
            if let work = restored(work, in: state) { state.pending.append(work) }
        }
        return state
    }

    private mutating func living(
        _ saved: SavedCoordinator, in context: NavigationContext
    ) throws(JSONDecodingError) -> LivingCoordinator {
        let reason: String
        if let type = app.types.first(where: { $0.name == saved.name }) {
            do {
                let coordinator = try type.restore(saved.state, from: version)
                let living = try living(saved, type, coordinator, in: context)
                if version == app.version, let member = living.memberMissing(of: saved.state) {
                    losses.append(.property(name: member, coordinator: saved.name))
                }
                return living
            } catch {
                let remedy = error.code == .required && !type.hasBlank ? "; “static let blank” can supply it" : ""
                reason = error.explanation(of: "what it has saved") + remedy
            }
        } else {
            reason = "there is no such coordinator"
        }
        coordinatorsToRemove.insert(saved.id)
        losses.append(.coordinator(name: saved.name, reason: reason))
        let removed = RemovedCoordinator(name: saved.name, saved: saved.state)
        return try living(saved, CoordinatorType(removed: saved.name, of: app), removed, in: context)
    }

    private func living(
        _ saved: SavedCoordinator, _ type: CoordinatorType, _ coordinator: any Coordinator,
        in context: NavigationContext
    ) throws(JSONDecodingError) -> LivingCoordinator {
        do {
            return try LivingCoordinator(
                id: saved.id, parent: saved.parent, home: saved.home, type: type, coordinator: coordinator, in: context)
        } catch {
            throw JSONDecodingError(path: [], reason: "cannot be encoded again")
        }
    }

    private mutating func migrate(_ placed: PlacedScreen, in state: NavigationState) {
        guard let type = state[placed.coordinator]?.type.type, type != RemovedCoordinator.self else { return }
        let before = placed.labelled
        guard let migrated = try? type.migrate(before, from: version) else {
            screensToRemove.insert(placed.key)
            return
        }
        guard migrated != before else { return }
        migratedScreens[placed.key] = migrated
        for label in before.tabs where !migrated.tabs.contains(where: { $0.stack == label.stack }) {
            // A tab without a screen is removed.
            for screen in state.stack(label.stack)?.screens ?? [] { screensToRemove.insert(screen.key) }
        }
    }

    /// An effect or timer as this declaration of the app knows it; `nil` if it does not know it. That of a coordinator
    /// which cannot be restored stays until the coordinator is removed.
    private mutating func restored(_ work: PendingWork, in state: NavigationState) -> PendingWork? {
        guard let living = state[work.coordinator], !coordinatorsToRemove.contains(living.id) else { return work }
        let reason: String
        do {
            let migrated = version < app.version ? try living.type.migrated(work, from: version) : work
            if let migrated {
                let isTaken = version < app.version && state.hasWork(migrated.id, of: living.id)
                let problem = isTaken ? "its id “\(migrated.id)” is taken" : living.type.problem(of: migrated)
                guard let problem else { return migrated }
                reason = problem
            } else {
                reason = "migrate has removed it"
            }
        } catch {
            reason = "cannot be migrated from version \(version)"
        }
        losses.append(.work(id: work.id, coordinator: living.name, reason: reason))
        return nil
    }

    /// The transition from `state` to the state that this declaration of the app can keep, up to the first call of a
    /// coordinator that has to be notified.
    mutating func run(from state: NavigationState) -> TransitionRun {
        var run = TransitionRun(
            of: app, on: state, at: .distantPast, event: PostedEvent(BuiltInEvent.migration))
        run.leavesWithoutAsking = true
        run.removeLost(coordinators: coordinatorsToRemove, screens: screensToRemove)
        for screen in run.state.screens { draw(screen, in: &run) }
        var outcome = run
        outcome.settleWithoutCalls()
        recordLosses(from: state, to: outcome.state)
        run.prospect = outcome.unchecked()
        return run
    }

    private mutating func draw(_ placed: PlacedScreen, in run: inout TransitionRun) {
        guard let coordinator = run.state[placed.coordinator] else { return }
        var migrated = migratedScreens[placed.key] ?? placed.labelled
        migrated.renameEvents(by: coordinator.type.aliases)
        var screen = coordinator.drawing(of: migrated, in: run.state.context)
        for (index, label) in screen.tabs.enumerated() {
            if let id = migrated.tabs.first(where: { $0.stack == label.stack })?.id { screen.tabs[index].id = id }
        }
        let lost = screen.removeControls { control in
            coordinator.type.event(control.event) == nil
                || !control.isEnabled && !coordinator.type.accepts(control.carried)
        }
        losses += lost.map { .control(event: $0, screen: screen.name, isDrawn: !migrated.offers($0)) }
        guard screen != placed.labelled else { return }
        run.draw(PlacedScreen(placed, screen: screen, of: coordinator), labels: screen.tabs) {
            $0.migrated(to: screen.tabs)
        }
    }

    private mutating func recordLosses(from before: NavigationState, to after: NavigationState) {
        for coordinator in before.coordinators
        where after[coordinator.id] == nil && !coordinatorsToRemove.contains(coordinator.id) {
            losses.append(.coordinator(name: coordinator.name, reason: nil))
        }
        let kept = after.screens
        for screen in before.screens {
            guard let same = kept.first(where: { $0.key == screen.key }) else {
                losses.append(.screen(name: screen.screen.name))
                continue
            }
            for tab in screen.tabs?.items ?? []
            where same.tabs?.items.contains(where: { $0.stack.id == tab.stack.id }) != true {
                losses.append(.tab(id: tab.id))
            }
        }
        let alerts = after.alerts.map(\.key)
        for alert in before.alerts where !alerts.contains(alert.key) {
            let type = before[alert.coordinator]?.type
            let gone = alert.alert.buttons.first { button in button.event.map { type?.accepts($0) != true } ?? false }
            losses.append(.alert(lacking: gone?.eventName))
        }
        if before.pendingLink != nil, after.pendingLink == nil { losses.append(.pendingLink) }
        for work in before.pending where after.work(work.number) == nil {
            losses.append(
                .work(id: work.id, coordinator: before[work.coordinator]?.name ?? "", reason: nil))
        }
    }
}

// The events of what was saved, under their present names, see `NavigationEvent.aliases`.
extension Screen {
    fileprivate mutating func renameEvents(by aliases: [String: String]) {
        guard !aliases.isEmpty else { return }
        events = events?.map { $0.renamed(by: aliases) }
        for index in rows.indices { rows[index].control = rows[index].control?.renamed(by: aliases) }
    }
}

extension Control {
    fileprivate func renamed(by aliases: [String: String]) -> Control {
        guard let name = aliases[event] else { return self }
        var renamed = Control(title, role, name, payload)
        renamed.isEnabled = isEnabled
        renamed.values = values
        return renamed
    }
}

extension PresentedAlert {
    fileprivate func renamingEvents(by aliases: [String: String]) -> PresentedAlert {
        var alert = alert
        for index in alert.buttons.indices {
            guard let event = alert.buttons[index].event, let name = aliases[event.name] else { continue }
            alert.buttons[index].event = EncodedEvent(name: name, payload: event.payload)
        }
        return with(alert, of: coordinator, next)
    }
}

extension CoordinatorType {
    /// The type of a coordinator that cannot be restored.
    convenience init(removed name: String, of app: App) {
        // It has no events to number.
        var numbers = EventNumbers()
        self.init(RemovedCoordinator.self, named: name, linksOfApp: [], version: app.version, words: nil, &numbers)
    }
}
