extension Operation {
    var isSelection: Bool {
        if case .selectTab = self { true } else { false }
    }

    /// Of what comes, goes or changes.
    fileprivate var key: String {
        switch self {
        case .push(let key, _), .pop(let key, _), .replace(let key, _, _), .update(let key), .present(let key, _),
            .dismiss(let key), .selectTab(let key, _), .alert(let key), .dismissAlert(let key):
            key
        }
    }

    /// Whether it only says how something is that came in the same transition.
    fileprivate var isDetail: Bool {
        switch self {
        case .update, .selectTab: true
        default: false
        }
    }

    /// Whether the screen of that key comes with it.
    fileprivate func brings(_ screen: String) -> Bool {
        switch self {
        case .push(let key, _), .replace(let key, _, _): key == screen
        default: false
        }
    }
}

extension [Operation] {
    /// The operations without what came and went in the same transition, which a client could not draw: no state
    /// contains it.
    ///
    /// - Parameters:
    ///   - lastKey: the number of the last key before the transition.
    ///   - state: the state after it.
    func net(since lastKey: Int, to state: NavigationState) -> [Operation] {
        guard count > 1 else { return self }
        let isNew = { (key: String) in (Int(key.dropFirst()) ?? 0) > lastKey }
        guard contains(where: { isNew($0.key) }) else { return self }
        var net: [Operation] = []
        for operation in self {
            switch operation {
            case .pop(let key, _) where isNew(key): net.remove(key)
            case .replace(let key, let replaced, _) where isNew(replaced): net.replace(replaced, by: key)
            default: net.append(operation)
            }
        }
        var keys = Set(state.presented.map(\.key))
        state.forEachScreen { keys.insert($0.key) }
        if let alert = state.alert { keys.insert(alert.key) }
        return net.filter { !isNew($0.key) || keys.contains($0.key) && !$0.isDetail }
    }

    /// The screen that came before has gone again. What it replaced has gone for good.
    private mutating func remove(_ screen: String) {
        guard let index = firstIndex(where: { $0.brings(screen) }) else { return }
        if case .replace(_, let replaced, let stack) = self[index] {
            self[index] = .pop(key: replaced, stack: stack)
        } else {
            remove(at: index)
        }
    }

    /// Another screen has taken the place of one that came before.
    private mutating func replace(_ screen: String, by key: String) {
        guard let index = firstIndex(where: { $0.brings(screen) }) else { return }
        switch self[index] {
        case .push(_, let stack): self[index] = .push(key: key, stack: stack)
        case .replace(_, let replaced, let stack): self[index] = .replace(key: key, replaced: replaced, stack: stack)
        default: break
        }
    }
}
