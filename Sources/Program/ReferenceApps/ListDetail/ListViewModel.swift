internal import Coordinators

/// What the view model asks its coordinator for.
protocol ListNavigation {
    func showItem(_ id: Int, title: String, _ navigator: inout Navigator)
    func showEditor(_ navigator: inout Navigator)
    func showTitle(_ title: String, in items: JSON, _ navigator: inout Navigator)
    func store(_ title: String, of id: Int, _ navigator: inout Navigator)
    func showNotFound(_ navigator: inout Navigator)
    func showNotSaved(_ title: String, _ navigator: inout Navigator)
}

/// The items, and the selected one. Knows no screen.
struct ListViewModel: Codable, Sendable {
    private var titles: [Int: String] = [:]
    private var selected: Int?

    /// The items as the list shows them.
    var items: JSON {
        .array((1...3).map { ["id": .integer($0), "title": .string(title(of: $0))] })
    }

    mutating func select(_ id: Int, _ coordinator: some ListNavigation, _ navigator: inout Navigator) {
        guard (1...3).contains(id) else { return coordinator.showNotFound(&navigator) }
        selected = id
        coordinator.showItem(id, title: title(of: id), &navigator)
    }

    func edit(_ coordinator: some ListNavigation, _ navigator: inout Navigator) {
        coordinator.showEditor(&navigator)
    }

    /// Shows a new title at once, and has it stored meanwhile.
    mutating func save(_ title: String, _ coordinator: some ListNavigation, _ navigator: inout Navigator) {
        guard let selected else { return }
        titles[selected] = title
        coordinator.showTitle(title, in: items, &navigator)
        coordinator.store(title, of: selected, &navigator)
    }

    /// A title could not be stored.
    func storingFailed(_ title: String, _ coordinator: some ListNavigation, _ navigator: inout Navigator) {
        coordinator.showNotSaved(title, &navigator)
    }

    /// What the detail of an item shows beside its title.
    func content(of id: Int) -> JSONObject {
        let title = title(of: id)
        return ["title": .string(title), "letters": .integer(title.count)]
    }

    private func title(of id: Int) -> String {
        titles[id] ?? "Item"
    }
}

/// Where titles are saved.
public protocol ItemStore: Sendable {
    /// To save the same title again changes nothing.
    func save(_ title: String, of id: Int) async throws
}

/// Keeps nothing.
public struct ForgetfulItemStore: ItemStore {
    private let latency: Duration

    public init(latency: Duration) {
        self.latency = latency
    }

    public func save(_ title: String, of id: Int) async throws {
        try await Task.sleep(for: latency)
    }
}
