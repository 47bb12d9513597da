/// What is drawn for one tab of a screen that is shown.
///
/// ```swift
/// screen.tabs["cart"]?.badge = items.isEmpty ? nil : String(items.count)
/// ```
public struct TabLabel: Sendable, Equatable {
    /// Unique among the screen's tabs. Only `Coordinator.migrate` can change it.
    public var id: String
    public var title: String?
    /// The name of an icon that the client knows.
    public var icon: String?
    /// What is shown beside the tab, such as a number.
    public var badge: String?
    /// The id of the tab's stack.
    let stack: Int
}

extension [TabLabel] {
    /// The label of the tab of that id; `nil` if there is none. Assigning `nil` removes it, see `Coordinator.migrate`.
    public subscript(id: String) -> TabLabel? {
        get { first { $0.id == id } }
        set {
            guard let index = firstIndex(where: { $0.id == id }) else { return }
            if let newValue { self[index] = newValue } else { remove(at: index) }
        }
    }
}

extension PlacedTab {
    var label: TabLabel { TabLabel(id: id, title: title, icon: icon, badge: badge, stack: stack.id) }

    convenience init(_ label: TabLabel, stack: ScreenStack) {
        self.init(id: label.id, title: label.title, icon: label.icon, badge: label.badge, stack: stack)
    }
}

extension PlacedTabs {
    /// The same tabs with what these labels say of them, except their ids.
    func drawn(as labels: [TabLabel]) -> PlacedTabs {
        var tabs = self
        for (position, tab) in items.enumerated() {
            guard var label = labels.first(where: { $0.stack == tab.stack.id }) else { continue }
            label.id = tab.id
            if label != tab.label { tabs.items[position] = PlacedTab(label, stack: tab.stack) }
        }
        return tabs
    }
}

extension Screen {
    var withoutLabels: Screen {
        if tabs.isEmpty { return self }
        var screen = self
        screen.tabs = []
        return screen
    }
}

extension PlacedScreen {
    /// The screen with the labels of its tabs.
    var labelled: Screen {
        guard let tabs else { return screen }
        var screen = screen
        screen.tabs = tabs.items.map(\.label)
        return screen
    }
}
