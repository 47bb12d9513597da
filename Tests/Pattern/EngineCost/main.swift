// enginecost: carries out events of one session on the engine alone, for `Benchmarks/engine`, which counts instructions.
//
//     enginecost NODES EVENTS
//
// The session has so many coordinators and screens together, in some tabs. Each event is handled by the coordinator of
// the visible screen, which asks for another title of that screen.
import Coordinators
import FoundationEssentials

struct Root: Coordinator {
    func start(_ navigator: inout Navigator) {
        let count = max(2, min(5, nodes / 6))
        let screens = nodes - 2 - count
        navigator.push(
            Screen("tabs"),
            tabs: (0..<count).map { number in
                Tab("tab\(number)", starting: Page(screens: (screens + number) / count))
            })
    }
}

struct Page: Coordinator {
    enum Event: NavigationEvent, CaseIterable {
        case rename
    }

    let screens: Int

    func start(_ navigator: inout Navigator) {
        navigator.setStack((0..<screens).map { Screen("page", title: "Page \($0)", events: [Event.rename]) })
    }

    func handle(_ event: Event, _ navigator: inout Navigator) {
        navigator.update("page") { $0.title = $0.title == "One" ? "Other" : "One" }
    }
}

let arguments = CommandLine.arguments.dropFirst().compactMap { Int($0) }
guard arguments.count == 2 else { fatalError("usage: enginecost NODES EVENTS") }
let (nodes, events) = (arguments[0], arguments[1])
let app = App("cost", root: Root.init, coordinators: [Page.self])
let start = Date(timeIntervalSince1970: 1_800_000_000)
var state = try await app.launch(at: start).state
for _ in 0..<events { state = try await app.apply(PostedEvent("rename"), to: state, at: start).state }
