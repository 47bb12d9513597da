internal import Coordinators
internal import FoundationEssentials

/// An app whose version is that of the environment variable ODD_VERSION. Version 2 saves the value under another name.
enum Ledger {
    static var app: App {
        let isNew = ProcessInfo.processInfo.environment["ODD_VERSION"] == "2"
        return isNew ? App("ledger", version: 2, root: { NewPage() }) : App("ledger", root: { Page() })
    }

    enum Event: NavigationEvent {
        case update(Int)
        static let examples: [Event] = [.update(1)]
    }
}

private struct Page: Coordinator {
    static let name = "page"

    private var value = 0

    func start(_ navigator: inout Navigator) { navigator.push(Screen("page")) }
    mutating func handle(_ event: Ledger.Event, _ navigator: inout Navigator) {
        if case .update(let value) = event { self.value = value }
    }
    func render(_ screen: inout Screen, in context: NavigationContext) { screen.params = ["value": .integer(value)] }
}

private struct NewPage: Coordinator {
    static let name = "page"

    private struct Entry: Codable { var amount: Int }
    private var entry = Entry(amount: 0)

    func start(_ navigator: inout Navigator) { navigator.push(Screen("page")) }
    mutating func handle(_ event: Ledger.Event, _ navigator: inout Navigator) {
        if case .update(let value) = event { entry.amount = value }
    }
    func render(_ screen: inout Screen, in context: NavigationContext) {
        screen.params = ["value": .integer(entry.amount)]
    }
    static func migrate(_ saved: JSON, from version: Int) -> JSON { ["entry": ["amount": saved["value"] ?? .null]] }
}
