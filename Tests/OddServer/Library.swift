internal import CoreMetrics
internal import Coordinators
internal import FoundationEssentials

/// An app whose version is that of the environment variable ODD_VERSION. Version 2 has no help any more, and calls a
/// book a volume.
enum Library {
    static var app: App {
        let isNew = ProcessInfo.processInfo.environment["ODD_VERSION"] == "2"
        return isNew
            ? App("library", version: 2, root: { NewShelf() })
            : App("library", root: { Shelf() }, coordinators: [Help.self])
    }
}

private struct Shelf: Coordinator {
    static let name = "shelf"

    private static let booksRead = Counter(label: "library.books.read", dimensions: [("shelf", "main")])

    enum Event: NavigationEvent, CaseIterable { case help, read }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("shelf", title: "Shelf")) }

    func handle(_ event: Event, _ navigator: inout Navigator) {
        switch event {
        case .help: navigator.start(Help())
        case .read:
            Shelf.booksRead.increment()
            navigator.push(Screen("book"))
        }
    }
}

private struct Help: Coordinator {
    static let name = "help"
    func start(_ navigator: inout Navigator) { navigator.push(Screen("help")) }
}

private struct NewShelf: Coordinator {
    static let name = "shelf"

    enum Event: NavigationEvent, CaseIterable { case read }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("shelf")) }
    func handle(_ event: Event, _ navigator: inout Navigator) { navigator.push(Screen("volume")) }
    func render(_ screen: inout Screen, in context: NavigationContext) { screen.title = "New \(screen.name)" }
}
