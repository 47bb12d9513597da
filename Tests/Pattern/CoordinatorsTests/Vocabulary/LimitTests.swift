import Coordinators
import CoordinatorsTesting
import JSONCoding
import Testing

/// Limits are counted as they are meant, and name what has been reached.
@Suite struct LimitTests {
    @Test func `screens are within each other sixteen deep at most`() async throws {
        var app = try await CoordinatorTester(CrateApp.app)
        for _ in 2...16 { try await app.send(CrateCoordinator.Event.wrap) }
        _ = try app.restored()

        await app.expectRefusal(.nestingLimit(coordinator: "crate")) {
            try await $0.send(CrateCoordinator.Event.wrap)
        }
        await app.expectRefusal(.nestingLimit(coordinator: "letter")) {
            try await $0.send(CrateCoordinator.Event.wrapChild)
        }
        try await app.send(CrateCoordinator.Event.push)

        #expect(app.stack.hasSuffix("tab*: crate, more" + String(repeating: "]", count: 15)))
    }

    @Test func `a session that is deeper already is read, shrinks and does not grow`() async throws {
        var limits = Limits()
        limits.nesting = 40
        let old = Limits.$ofNewApps.withValue(limits) { App("crate", root: { CrateCoordinator() }) }
        var deep = try await CoordinatorTester(old)
        for _ in 2...20 { try await deep.send(CrateCoordinator.Event.wrap) }
        let state = try CrateApp.app.restore(deep.saved).state

        await #expect(throws: NavigationError.nestingLimit(coordinator: "crate")) {
            try await CrateApp.app.apply(PostedEvent("push"), to: state, at: deep.now)
        }
        let smaller = try await CrateApp.app.apply(PostedEvent("replace"), to: state, at: deep.now)

        #expect(smaller.state.screens.count == state.screens.count)
    }

    @Test func `coordinators that each push a screen on one stack are not nested`() async throws {
        var app = try await CoordinatorTester(CrateApp.app)
        for _ in 2...NavigationState.stackLimit { try await app.send(CrateCoordinator.Event.start) }

        await app.expectRefusal(.stackLimit(coordinator: "crate")) {
            try await $0.send(CrateCoordinator.Event.start)
        }
    }

    @Test func `flows that are presented are`() async throws {
        var app = try await CoordinatorTester(CrateApp.app)
        for _ in 2...NavigationState.depthLimit { try await app.send(CrateCoordinator.Event.present) }

        await app.expectRefusal(.depthLimit(coordinator: "crate")) {
            try await $0.send(CrateCoordinator.Event.present)
        }
    }

    @Test(arguments: [
        ("/flows/x", 62, nil), ("/flows/x", 64, NavigationError.stackLimit(coordinator: "crate")),
        ("/flows/x", 200, .stackLimit(coordinator: "crate")), ("/sheets/x", 30, nil),
        ("/sheets/x", 40, .depthLimit(coordinator: "crate")), ("/marks/x", 300, .linkLimit),
    ])
    func `a link that is too long reaches a limit`(link: String, length: Int, limit: NavigationError?) async throws {
        var app = try await CoordinatorTester(CrateApp.app)
        let path = link + String(repeating: "/x", count: length - 1)

        guard let limit else { return try await app.open(path) }
        await app.expectRefusal(limit) { try await $0.open(path) }
    }

    @Test func `popTo orPush pushes the first screen of a flow`() async throws {
        var app = try await CoordinatorTester(CrateApp.app)

        try await app.send(CrateCoordinator.Event.presentLetter)

        #expect(app.stack == "crate + sheet[letter]")
    }

    @Test func `the labels of tabs count in the size of a session`() async throws {
        var app = try await CoordinatorTester(CrateApp.app)
        let before = app.state.size(with: app.state.screens)

        await app.expectRefusal(.stateLimit(bytes: CrateApp.sizeLimit)) {
            try await $0.send(CrateCoordinator.Event.label(4000))
        }
        try await app.send(CrateCoordinator.Event.label(1000))

        #expect(app.state.size(with: app.state.screens) >= before + 1000)
    }
}

private enum CrateApp {
    static let sizeLimit = 64 * 1024
    static let app = App(
        "crate", root: { CrateCoordinator() }, coordinators: [LetterCoordinator.self], sizeLimit: sizeLimit)
}

/// Has a screen with a tab.
struct CrateCoordinator: Coordinator {
    static let everywhere = Event.examples
    static let links: [LinkPattern] = ["/flows/{parts...}", "/sheets/{parts...}", "/marks/{parts...}"]

    enum Event: NavigationEvent {
        case wrap, wrapChild, push, replace, start, present, presentLetter, label(Int)
        static let examples: [Event] = [
            .wrap, .wrapChild, .push, .replace, .start, .present, .presentLetter, .label(1),
        ]
    }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("crate")) }

    func handle(_ event: Event, _ navigator: inout Navigator) {
        switch event {
        case .wrap: navigator.push(Screen("box"), tabs: [Tab("tab", Screen("crate"))])
        case .wrapChild: navigator.push(Screen("box"), tabs: [Tab("tab", starting: LetterCoordinator())])
        case .push: navigator.push(Screen("more"))
        case .replace: navigator.replace(with: Screen("more"))
        case .start: navigator.start(CrateCoordinator())
        case .present: navigator.present(CrateCoordinator())
        case .presentLetter: navigator.present(LetterCoordinator())
        case .label(let count):
            navigator.push(
                Screen("labels"),
                tabs: (0..<20).map { Tab("t\($0)", badge: String(repeating: "b", count: count), Screen("x")) })
        }
    }

    func open(_ link: Link, _ navigator: inout Navigator) -> LinkDecision {
        for _ in link.strings("parts") {
            switch link.pattern.text {
            case "/flows/{parts...}": navigator.start(CrateCoordinator())
            case "/sheets/{parts...}": navigator.present(CrateCoordinator())
            default: navigator.update("crate") { $0.title = "Mark" }
            }
        }
        return .taken
    }
}

struct LetterCoordinator: Coordinator {
    func start(_ navigator: inout Navigator) { navigator.popTo("letter", orPush: Screen("letter")) }
}
