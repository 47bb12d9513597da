public import JSONCoding

/// Why a saved state cannot be brought back.
public enum RestoreError: Error, Equatable, Sendable {
    /// The text is not what `NavigationState.encoded` writes.
    case damaged(JSONDecodingError)
    /// A newer version of the app saved it.
    case newer(version: Int)
    /// The app has no coordinator of that name any more.
    case unknownCoordinator(name: String)
    /// A coordinator's saved state does not fit its type any more.
    case incompatible(coordinator: String, JSONDecodingError)
}

extension App {
    /// The state that was encoded, equal to what it was. No coordinator is called.
    public func restore(_ saved: JSON) throws(RestoreError) -> NavigationState {
        let decoded: SavedState
        do {
            decoded = try saved.decode()
        } catch {
            throw .damaged(error)
        }
        guard decoded.version <= version else { throw .newer(version: decoded.version) }
        var state = NavigationState()
        state.lastKey = decoded.lastKey
        state.lastID = decoded.lastID
        state.defaults = Defaults(decoded.defaults)
        for coordinator in decoded.coordinators {
            state.coordinators.append(try restore(coordinator, from: decoded.version))
        }
        state.stack = try decoded.stack.restored(in: state)
        for flow in decoded.presented ?? [] {
            let stack = try flow.stack.restored(in: state)
            state.presented.append(
                .init(key: flow.key, style: flow.style, stack: stack, coordinator: flow.coordinator))
        }
        state.alert = decoded.alert?.restored
        state.pendingLink = decoded.pendingLink.map { PendingLink(path: $0.path, coordinator: $0.coordinator) }
        guard (try? state.checkInvariants()) != nil, state.isSound else {
            throw .damaged(JSONDecodingError(path: [], reason: "is not a possible state"))
        }
        return state
    }

    private func restore(
        _ saved: SavedState.Coordinator, from version: Int
    ) throws(RestoreError) -> LivingCoordinator {
        guard let type = types.first(where: { $0.name == saved.name }) else {
            throw .unknownCoordinator(name: saved.name)
        }
        let coordinator: any Coordinator
        do {
            coordinator = try type.restore(saved.state, from: version)
        } catch {
            throw .incompatible(coordinator: saved.name, error)
        }
        do {
            return try LivingCoordinator(
                id: saved.id, parent: saved.parent, home: saved.home, type: type, coordinator: coordinator)
        } catch {
            throw .damaged(JSONDecodingError(path: ["coordinators"], reason: "cannot be encoded again"))
        }
    }
}

extension NavigationState {
    /// Whether every number stands once and none will be given out again, and whether the root and every flow has the
    /// stack on which it was started.
    fileprivate var isSound: Bool {
        var stacks: [Int] = []
        stack.forEachStack { stacks.append($0.id) }
        for flow in presented { flow.stack.forEachStack { stacks.append($0.id) } }
        // A key is a letter and its number.
        var keys = screens.map { Int($0.key.dropFirst()) }
        keys += presented.map { Int($0.key.dropFirst()) }
        if let alert { keys.append(Int(alert.key.dropFirst())) }
        let numbers = keys.compactMap(\.self)
        return isWithinNumbers && numbers.count == keys.count && numbers.areDistinct(upTo: lastKey)
            && coordinators.map(\.id).areDistinct(upTo: lastID) && stacks.areDistinct(upTo: lastID)
            && coordinators.first?.parent == nil && coordinators.first?.home == stack.id
            && presented.allSatisfy { self[$0.coordinator]?.home == $0.stack.id }
    }
}

extension [Int] {
    fileprivate func areDistinct(upTo limit: Int) -> Bool {
        let sorted = sorted()
        return sorted.last ?? 0 <= limit && zip(sorted, sorted.dropFirst()).allSatisfy { $0 < $1 }
    }
}

/// The saved form, as `NavigationState.encoded` writes it.
private struct SavedState: Decodable {
    struct Coordinator: Decodable {
        let id: Int
        let parent: Int?
        let home: Int
        let name: String
        let state: JSON
    }

    struct Stack: Decodable {
        let id: Int
        let screens: [Placed]

        func restored(in state: NavigationState) throws(RestoreError) -> ScreenStack {
            var stack = ScreenStack(id: id)
            for screen in screens { stack.screens.append(try screen.restored(in: state)) }
            return stack
        }
    }

    struct Placed: Decodable {
        let key: String
        let name: String
        let title: String?
        let params: JSONObject?
        let events: [String]?
        let linkPattern: String?
        let back: BackRule?
        let coordinator: Int
        let tabs: Tabs?

        func restored(in state: NavigationState) throws(RestoreError) -> PlacedScreen {
            guard let coordinator = state[coordinator] else {
                throw .damaged(JSONDecodingError(path: ["stack"], reason: "has a screen without a coordinator"))
            }
            let screen = Screen(
                name, title: title, params: params ?? [:], events: events, back: back ?? .allowed,
                link: linkPattern.map { LinkPattern($0) })
            return PlacedScreen(
                key: key, screen: screen, coordinator: coordinator, tabs: try tabs?.restored(in: state))
        }
    }

    struct Tabs: Decodable {
        struct Item: Decodable {
            let id: String
            let title: String?
            let stack: Stack
        }

        let selection: Int
        let back: TabBackRule?
        let history: [Int]?
        let items: [Item]

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            items = try container.decode([Item].self, forKey: .items)
            selection = try container.decode(Int.self, forKey: .selection)
            back = try container.decodeIfPresent(TabBackRule.self, forKey: .back)
            history = try container.decodeIfPresent([Int].self, forKey: .history)
            guard ([selection] + (history ?? [])).allSatisfy(items.indices.contains) else {
                throw DecodingError.dataCorruptedError(forKey: .selection, in: container, debugDescription: "")
            }
        }

        private enum CodingKeys: CodingKey { case selection, back, history, items }

        func restored(in state: NavigationState) throws(RestoreError) -> PlacedTabs {
            var tabs: [PlacedTab] = []
            for item in items {
                tabs.append(PlacedTab(id: item.id, title: item.title, stack: try item.stack.restored(in: state)))
            }
            return PlacedTabs(tabs, selection: selection, back: back ?? .nothing, history: history ?? [])
        }
    }

    struct Alert: Decodable {
        struct Button: Decodable {
            struct Event: Decodable {
                let name: String
                let payload: JSON?
            }

            let id: String
            let title: String
            let role: AlertButton.Role?
            let leaves: Bool?
            let event: Event?
        }

        struct HeldUp: Decodable {
            let type: String
            let payload: JSON?
        }

        let key: String
        let coordinator: Int
        let title: String
        let message: String?
        let buttons: [Button]
        let heldUp: HeldUp?

        var restored: PresentedAlert {
            let buttons = buttons.map { saved in
                var button =
                    saved.leaves == true
                    ? AlertButton.leave(saved.id, title: saved.title, role: saved.role)
                    : AlertButton(saved.id, title: saved.title, role: saved.role)
                button.event = saved.event.map { EncodedEvent(name: $0.name, payload: $0.payload) }
                return button
            }
            return PresentedAlert(
                key: key, alert: .init(title, message: message, buttons: buttons), coordinator: coordinator,
                heldUp: heldUp.map { PostedEvent($0.type, payload: $0.payload) })
        }
    }

    struct Flow: Decodable {
        let key: String
        let style: PresentedFlow.Style
        let coordinator: Int
        let stack: Stack
    }

    struct Link: Decodable {
        let path: String
        let coordinator: Int
    }

    let version: Int
    let lastKey: Int
    let lastID: Int
    let defaults: JSONObject
    let coordinators: [Coordinator]
    let stack: Stack
    let presented: [Flow]?
    let alert: Alert?
    let pendingLink: Link?
}
