import Coordinators

/// Starts a child on its own stack, notes when it finishes or is dismissed, and makes forbidden requests (`Misuse`).
struct RootCoordinator: Coordinator {
    static let name = "root"
    static let everywhere = Event.examples
    var told: [String] = []

    enum Event: NavigationEvent {
        case login
        case push(Int)
        case ask
        case confirmed(count: Int)
        case nothing
        case remember(String)
        case fail
        case misuse(Misuse)
        static let examples: [Event] = [
            .login, .push(1), .ask, .confirmed(count: 1), .nothing, .remember("x"), .fail, .misuse(.popToNowhere),
        ]
    }

    enum Misuse: String, Codable, CaseIterable {
        case popToNowhere, finishRoot, unlisted, unknownOffer, noTabs, twoTabs, unknownTab, noButton,
            idleChild,
            endless, deep, tooMany, tooLarge, emptyTab
    }

    func start(_ navigator: inout Navigator) {
        navigator.push(Screen("login", title: "Login"))
    }

    mutating func handle(_ event: Event, _ navigator: inout Navigator) throws {
        switch event {
        case .login: navigator.start(HomeCoordinator())
        case .push(let number): navigator.push(Screen("number", params: ["value": .integer(number)]))
        case .ask:
            navigator.alert(
                Alert(
                    "Sure?",
                    buttons: [
                        .cancel, AlertButton("yes", title: "Yes", role: .destructive, sends: Event.confirmed(count: 3)),
                    ]))
        case .confirmed(let count): told.append("confirmed \(count)")
        case .nothing: break
        case .remember(let text): navigator.defaults["text"] = .string(text)
        case .fail:
            told.append("never seen")
            navigator.push(Screen("never"))
            throw TestError()
        case .misuse(let misuse): misuse.ask(&navigator)
        }
    }

    mutating func childDidFinish(_ child: any Coordinator, _ navigator: inout Navigator) {
        told.append("finished \((child as? HomeCoordinator)?.visits ?? -1)")
    }

    mutating func childWasDismissed(_ child: any Coordinator, _ navigator: inout Navigator) {
        told.append("dismissed")
    }
}

struct TestError: Error {}

extension RootCoordinator.Misuse {
    func ask(_ navigator: inout Navigator) {
        switch self {
        case .popToNowhere: navigator.popTo("nowhere")
        case .finishRoot: navigator.finish()
        case .unlisted: navigator.start(UnlistedCoordinator())
        case .unknownOffer: navigator.push(Screen("x", events: ["no such event"]))
        case .noTabs: navigator.push(Screen("x"), tabs: [])
        case .twoTabs: navigator.push(Screen("x"), tabs: [Tab("a", Screen("a")), Tab("a", Screen("b"))])
        case .unknownTab: navigator.selectTab("x")
        case .noButton: navigator.alert(Alert("1", buttons: []))
        case .idleChild: navigator.start(SilentCoordinator())
        case .endless: navigator.start(RestlessCoordinator())
        case .deep: navigator.start(DeepCoordinator())
        case .tooMany: for _ in 0..<64 { navigator.push(Screen("x")) }
        case .tooLarge: navigator.push(Screen("x", params: ["text": .string(String(repeating: "x", count: 70_000))]))
        case .emptyTab: navigator.push(Screen("x"), tabs: [Tab("a", starting: SilentCoordinator())])
        }
    }
}

/// Shows one screen.
struct HomeCoordinator: Coordinator {
    var visits = 0

    enum Event: NavigationEvent, CaseIterable { case visit, logout, logoutTwice }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("home", title: "Home")) }

    mutating func handle(_ event: Event, _ navigator: inout Navigator) {
        switch event {
        case .visit: visits += 1
        case .logout: navigator.finish()
        case .logoutTwice:
            navigator.finish()
            navigator.push(Screen("late"))
        }
    }
}

/// Two tabs: one shows a screen of this coordinator, the other a child's.
struct ShelfCoordinator: Coordinator {
    enum Event: NavigationEvent, CaseIterable { case more, cover }

    func start(_ navigator: inout Navigator) {
        navigator.push(Screen("list"))
        navigator.push(
            Screen("shelf"),
            tabs: [Tab("own", title: "Own", Screen("first")), Tab("home", starting: HomeCoordinator())])
    }

    func handle(_ event: Event, _ navigator: inout Navigator) {
        switch event {
        case .more: navigator.push(Screen("more", events: ["cover"]))
        case .cover: navigator.pop()
        }
    }
}

struct UnlistedCoordinator: Coordinator {
    func start(_ navigator: inout Navigator) { navigator.push(Screen("x")) }
}

/// Never shows anything.
struct SilentCoordinator: Coordinator {
    func start(_ navigator: inout Navigator) {}
}

/// Starts a child that finishes at once, and then another one, for ever.
struct RestlessCoordinator: Coordinator {
    func start(_ navigator: inout Navigator) { navigator.start(HastyCoordinator()) }
    func childDidFinish(_ child: any Coordinator, _ navigator: inout Navigator) { navigator.start(HastyCoordinator()) }
}

struct HastyCoordinator: Coordinator {
    func start(_ navigator: inout Navigator) { navigator.finish() }
}

/// Starts a child of its own type, which does the same, for ever.
struct DeepCoordinator: Coordinator {
    func start(_ navigator: inout Navigator) { navigator.start(DeepCoordinator()) }
}

enum TestApps {
    static let app = App(
        "test", root: { RootCoordinator() },
        coordinators: [
            HomeCoordinator.self, SilentCoordinator.self, RestlessCoordinator.self, HastyCoordinator.self,
            DeepCoordinator.self,
        ])

    static let shelf = App("shelf", root: ShelfCoordinator.init, coordinators: [HomeCoordinator.self])
}
