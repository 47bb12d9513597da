public import Coordinators

/// One coordinator, events with payloads, transitions from any screen to any screen: a screen knows only the
/// coordinator, never the next screen.
public enum Main {
    public static let app = App("main", root: MainCoordinator.init)
}

extension Main {
    struct MainCoordinator: Coordinator {
        enum Event: NavigationEvent {
            case button01Tapped(Int)
            case button02Tapped(String)
            static let examples: [Event] = [.button01Tapped(7), .button02Tapped("hello")]
        }

        func start(_ navigator: inout Navigator) {
            navigator.push(Screen("a", title: "A"))
        }

        func handle(_ event: Event, _ navigator: inout Navigator) {
            switch event {
            case .button01Tapped(let number):
                let (name, title) = number.isMultiple(of: 2) ? ("b", "B") : ("c", "C")
                navigator.push(Screen(name, title: title, params: ["number": .integer(number)]))
            case .button02Tapped(let text):
                navigator.push(Screen("f", title: "F", params: ["text": .string(text)]))
            }
        }
    }
}
