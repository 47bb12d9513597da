// oddserver: a server with what `coordinatord` has no example of: apps that depend on the command line, names that a
// drawing has to escape, an event that replaces the session's token.

internal import ArgumentParser
internal import CoordinatorServer
internal import Coordinators
internal import Glibc

@main
struct OddServer: NavigationServer {
    static let version: String? = "7.1"

    struct Options: ParsableArguments {
        @Option(help: "The weather: fair; stormy, when a service fails; or foggy, when it does not stop.") var weather =
            "fair"
    }

    static func apps(_ setup: inout ServerSetup<Options>) async throws -> [App] {
        // As if it had to connect to something first.
        try await Task.sleep(for: .milliseconds(1))
        if setup.options.weather != "fair" { setup.services = [Weather(name: setup.options.weather)] }
        switch setup.dataDirectory {
        case "/tmp/nowhere"?: throw Unusable(directory: "/tmp/nowhere")
        case "/tmp/misspelt"?: return [App("misspelt", root: MisspeltCoordinator.init)]
        case "/tmp/failing"?: return [App("failing", root: FailingCoordinator.init)]
        default: break
        }
        return [
            App(setup.isDevelopment ? "development" : "production", root: OddCoordinator.init), Library.app,
            Ledger.app, Booking.app,
            App("traced", root: { TracedCoordinator() }, coordinators: [TracedChild.self]),
            App("slow", root: { SlowCoordinator() }),
            App("freezing", root: { FreezingCoordinator() }),
            App("workshop", root: { WorkshopCoordinator() }),
            App("marks", root: { MarksCoordinator() }, coordinators: [CopyCoordinator.self]),
            App("naming", root: { NamingCoordinator() }, coordinators: [NamingChild.self]),
        ]
    }

    struct Unusable: Error, CustomStringConvertible {
        let directory: String
        var description: String { "\(directory)\nis no place for data" }
    }
}

/// Runs with the server; fails soon if it is stormy.
struct Weather: Service {
    struct Lightning: Error {}
    let name: String

    func run() async throws {
        say("is \(name)")
        if name == "stormy" {
            try await Task.sleep(for: .milliseconds(300))
            throw Lightning()
        }
        while name == "foggy" { try? await Task.sleep(for: .milliseconds(100)) }
    }

    func stop() { say("is over") }

    private func say(_ what: String) {
        print("the weather", what)
        fflush(nil)
    }
}

/// Shows two tabs; the screen of the one that is not selected misspells an event.
struct MisspeltCoordinator: Coordinator {
    enum Event: NavigationEvent, CaseIterable { case login }

    func start(_ navigator: inout Navigator) {
        navigator.push(
            Screen("tabs"),
            tabs: [Tab("a", Screen("a", events: [Event.login])), Tab("b", Screen("b", events: ["logn"]))])
    }

    func handle(_ event: Event, _ navigator: inout Navigator) {}
}

/// Three screens, and an event that waits, whether or not it is cancelled.
struct SlowCoordinator: Coordinator {
    private var screens = 1

    enum Event: NavigationEvent, CaseIterable { case wait, next }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("1")) }

    func isEnabled(_ event: Event, in context: NavigationContext) -> Bool { event == .wait || screens < 3 }

    mutating func handle(_ event: Event, _ navigator: inout Navigator) async throws {
        if event == .wait { await Task { try? await Task.sleep(for: .seconds(3600)) }.value }
        screens += 1
        navigator.push(Screen("\(screens)"))
    }
}

/// Blocks all threads that Swift's tasks run on.
struct FreezingCoordinator: Coordinator {
    enum Event: NavigationEvent, CaseIterable { case freeze }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("1")) }

    func handle(_ event: Event, _ navigator: inout Navigator) {
        for _ in 0...sysconf(CInt(_SC_NPROCESSORS_ONLN)) { Task.detached { sleep(1000) } }
    }
}

/// Cannot start: `start` throws.
struct FailingCoordinator: Coordinator {
    struct Failure: Error {}

    func start(_ navigator: inout Navigator) throws { throw Failure() }
}

struct OddCoordinator: Coordinator {
    enum Event: NavigationEvent, CaseIterable { case ask, enter, fail, tick }

    static let links: [LinkPattern] = ["/help", "/items/{id:integer}"]

    func start(_ navigator: inout Navigator) {
        navigator.push(Screen(#"a "b" \ <c>; %d"#))
    }

    func handle(_ event: Event, _ navigator: inout Navigator) throws {
        switch event {
        case .ask:
            navigator.alert(Alert("Sure?", buttons: [.cancel, AlertButton("go", title: "Go", sends: Event.tick)]))
        case .enter: navigator.rotateToken()
        case .fail: throw Failure()
        case .tick: break
        }
    }

    func open(_ link: Link, _ navigator: inout Navigator) -> LinkDecision {
        navigator.push(Screen("help"))
        return .taken
    }

    struct Failure: Error {}
}
