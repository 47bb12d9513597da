public import JSONCoding

/// Why a saved state cannot be restored.
public enum RestoreError: Error, Equatable, Sendable {
    /// The text is not what `NavigationState.encoded` writes.
    case damaged(JSONDecodingError)
    /// A newer version of the app saved it.
    case newer(version: Int)
    /// This version of the app saved it, but from another declaration: parts of it do not fit this one. Nothing is
    /// removed before the app has a higher version.
    case sameVersion([Loss])
    /// An older version of the app saved it, and no screen of it is left.
    case nothingLeft([Loss])
}

/// A state as this declaration of the app restores it.
public struct Restoration: Sendable {
    /// The version of the app that saved the state.
    public let version: Int
    /// What had to be removed; empty if the state is as complete as when it was saved.
    public let losses: [Loss]
    /// The result of the transition if no coordinator does anything when it is told of what was removed. A session is
    /// restored so if a coordinator fails then.
    public let prospect: TransitionResult
    let run: TransitionRun

    /// The state of `prospect`.
    public var state: NavigationState { prospect.state }

    /// Whether a client sees the change, or a coordinator is to be told of it: then the state is the result of a
    /// transition, see `transition`.
    public var needsTransition: Bool { !losses.isEmpty || !run.operations.isEmpty || !run.agenda.isEmpty }

    /// The transition that leads from what was saved to what is restored. It calls the parents of the coordinators
    /// that were removed.
    public func transition(at now: Date) -> TransitionRun { run.at(now) }
}

extension App {
    /// Restores an encoded state. No coordinator is called but to draw its screens; without `Loss`es, and if no screen
    /// is drawn differently, the result is equal to the original.
    public func restore(_ saved: JSON) throws(RestoreError) -> Restoration {
        let version: Int
        let parts: SavedState
        do {
            version = try saved.count("version")
            parts = try SavedState(json: saved)
        } catch {
            throw .damaged(error)
        }
        guard version <= self.version else { throw .newer(version: version) }
        var migration = Migration(of: self, from: version)
        let state: NavigationState
        do {
            state = try migration.state(parts)
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
    /// stack on which it was started.
    fileprivate var isSound: Bool {
        var stacks: [Int] = []
        stack.forEachStack { stacks.append($0.id) }
        for flow in presented { flow.stack.forEachStack { stacks.append($0.id) } }
        // A key is a letter and a number.
        var keys = screens.map { Int($0.key.dropFirst()) }
        keys += presented.map { Int($0.key.dropFirst()) }
        if let alert { keys.append(Int(alert.key.dropFirst())) }
        let numbers = keys.compactMap(\.self)
        return numbers.count == keys.count && numbers.areDistinct(upTo: lastKey)
            && coordinators.map(\.id).areDistinct(upTo: lastID) && stacks.areDistinct(upTo: lastID)
            && coordinators.first?.parent == nil && coordinators.first?.home == stack.id
            && presented.allSatisfy { self[$0.coordinator]?.home == $0.stack.id }
    }
}

extension [Int] {
    fileprivate func areDistinct(upTo limit: Int) -> Bool {
        let sorted = sorted()
        return sorted.first ?? 0 >= 0 && sorted.last ?? 0 <= limit
            && zip(sorted, sorted.dropFirst()).allSatisfy { $0 < $1 }
    }
}
