extension NavigationState {
    /// The number of screens that one stack may hold.
    public static let stackLimit = 64
    /// How many levels the tree of coordinators may have, the root included.
    public static let depthLimit = 32
}

/// Performs what a coordinator asks for.
extension TransitionRun {
    mutating func perform(_ request: Request, by coordinator: LivingCoordinator) throws(NavigationError) {
        switch request {
        case .push, .pushTabs, .replace, .setStack, .present:
            guard state.alert == nil else { throw coordinator.impossible(request, "an alert is shown over it") }
        default: break
        }
        switch request {
        case .push(let screen, let onlyIfNew): try push(screen, onlyIfNew: onlyIfNew, request, by: coordinator)
        case .pushTabs(let screen, let tabs, let selected, let back):
            try push(screen, tabs, selected: selected, back: back, request, by: coordinator)
        case .pop, .popTo, .popToRoot: try pop(request, by: coordinator)
        case .replace(let screen): try replace(with: screen, request, by: coordinator)
        case .setStack(let screens): try setStack(screens, request, by: coordinator)
        case .update(let reference, let change): try update(reference, change, request, by: coordinator)
        case .selectTab(let id): try selectTab(id, request, by: coordinator)
        case .setBadge(let badge, let tab): try setBadge(badge, ofTab: tab, request, by: coordinator)
        case .alert(let alert): try show(alert, request, by: coordinator)
        case .start(let child): try start(child, on: state.stackID(for: coordinator), request, by: coordinator)
        case .present(let child, let presentation): try present(child, presentation, request, by: coordinator)
        case .dismiss, .dismissPresented: try dismiss(request, by: coordinator)
        case .finish: try finish(coordinator, request)
        case .endChildren: remove(Set(state.children(of: coordinator.id).map(\.id)), by: coordinator.id)
        case .tell(let message): try tell(message, request, by: coordinator)
        case .tellChildren(let message): tellChildren(message, of: coordinator.id)
        case .changeUser(let change):
            try check(change.user, request, by: coordinator)
            userChange = change
        case .endSessions(let ending):
            try check(ending.user, request, by: coordinator)
            if !sessionEndings.contains(ending) { sessionEndings.append(ending) }
        case .rotateToken(let rotation): if tokenRotation != .revokingOthers { tokenRotation = rotation }
        }
    }

    private func check(
        _ user: String?, _ request: Request, by coordinator: LivingCoordinator
    ) throws(NavigationError) {
        guard user.map(UserID.isValid) ?? true else {
            throw coordinator.impossible(request, "a user's id has 1 to \(UserID.limit) bytes, and no zero byte")
        }
    }
}
