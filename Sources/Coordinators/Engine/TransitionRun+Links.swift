internal import JSONCoding

/// What has happened to a link in this transition.
enum LinkProgress: Sendable, Equatable {
    /// It is being offered from the root down, because the user opened it.
    case offered
    /// It is being offered again to the coordinator that keeps it.
    case retried
    /// A coordinator has taken it, or keeps it.
    case settled
}

/// Offers links to coordinators, down the tree.
extension TransitionRun {
    /// Offers a link to the root after everything that is on the agenda.
    mutating func open(_ link: Link) throws(NavigationError) {
        guard let root = state.coordinators.first else { throw .linkNotTaken }
        linkProgress = .offered
        agenda.insert(.call(.open(link), root.id), at: 0)
    }

    /// Offers a link to a coordinator.
    mutating func offer(_ link: Link, to index: Int) async throws(NavigationError) {
        guard linkProgress != .settled else { return }
        let living = state.coordinators[index]
        var coordinator = living.coordinator
        var navigator = navigator(for: living)
        var decision = LinkDecision.passedOn
        do {
            try await surround(RunningCall(.open(link), of: living)) {
                decision = try await coordinator.open(link, &navigator)
            }
        } catch {
            return try refuse(error, thrownBy: .open(link), of: living)
        }
        switch decision {
        case .pending where linkProgress == .retried && state.pendingLink?.coordinator == living.id:
            // Still pending: what it asked for when the link was first offered must not be performed again.
            return linkProgress = .settled
        case .pending:
            state.pendingLink = PendingLink(path: link.path, coordinator: living.id)
            linkProgress = .settled
        case .taken:
            state.pendingLink = nil
            linkProgress = .settled
        case .passedOn: agenda.append(.passOn(link, from: living.id))
        }
        try accept(coordinator, navigator, at: index)
    }

    /// Offers a link to the children of a coordinator, those on the way to the visible screen first.
    mutating func passOn(_ link: Link, from id: Int) {
        guard linkProgress != .settled else { return }
        let inSight = state.visible.map { state.lineage(of: $0.coordinator) } ?? []
        // What is last on the agenda is done first.
        for isInSight in [false, true] {
            for child in state.coordinators.reversed()
            where child.parent == id && inSight.contains(child.id) == isInSight {
                agenda.append(.call(.open(link), child.id))
            }
        }
    }

    /// Refuses an opened link that no coordinator took or kept; drops a pending link that no coordinator keeps any
    /// longer.
    mutating func settleLink() throws(NavigationError) {
        switch linkProgress {
        case .offered?: throw .linkNotTaken
        case .retried?:
            state.pendingLink = nil
            linkProgress = .settled
        case .settled?, nil: break
        }
    }

    /// Offers a pending link again to the coordinator that keeps it, once per transition.
    mutating func retryPendingLink() -> Bool {
        guard linkProgress == nil, let pending = state.pendingLink, let link = try? app.link(pending.path),
            let keeper = state[pending.coordinator] ?? state.coordinators.first
        else { return false }
        linkProgress = .retried
        agenda.append(.call(.open(link), keeper.id))
        return true
    }
}

extension NavigationState {
    /// A coordinator and its ancestors.
    func lineage(of id: Int) -> [Int] {
        var lineage: [Int] = []
        var next: Int? = id
        while let id = next {
            lineage.append(id)
            next = self[id]?.parent
        }
        return lineage
    }
}
