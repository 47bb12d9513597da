import Coordinators

/// What `docs/pattern.md` shows beside the reference apps: a tab bar with a delegate, and a parent that is told when a
/// child is gone.
enum PatternExamples {
    static let app = App(
        "examples", root: AppCoordinator.init, coordinators: [TabCoordinator.self, HelpCoordinator.self])
}

extension PatternExamples {
    struct AppCoordinator: Coordinator {
        private(set) var closed: [String] = []

        func start(_ navigator: inout Navigator) {
            navigator.start(TabCoordinator())
        }

        mutating func childWasDismissed(_ child: any Coordinator, _ navigator: inout Navigator) {
            if child is HelpCoordinator { closed.append("help") }
        }

        func needsHelp(_ navigator: inout Navigator) {
            navigator.start(HelpCoordinator())
        }
    }

    struct TabCoordinator: Coordinator, TabBarDelegate {
        private(set) var visits: [String: Int] = [:]

        enum Event: NavigationEvent, CaseIterable { case refresh, help }

        /// The tabs. Each one's screen has the name of its tab.
        enum TabBarPage: String, CaseIterable { case home, plus }

        func start(_ navigator: inout Navigator) {
            navigator.push(Screen("tabs"), tabs: TabBarPage.allCases.map { Tab($0.rawValue, Screen($0.rawValue)) })
        }

        func handle(_ event: Event, _ navigator: inout Navigator) {
            switch event {
            case .refresh:
                guard let page = currentPage(navigator) else { return }
                navigator.update(page.rawValue) { $0.title = "Fresh" }
            case .help:
                navigator.tell(AppCoordinator.self) { parent, navigator in parent.needsHelp(&navigator) }
            }
        }

        func currentPage(_ navigator: Navigator) -> TabBarPage? {
            navigator.selectedTab.flatMap(TabBarPage.init)
        }

        mutating func didSelectTab(_ tab: String, _ navigator: inout Navigator) {
            visits[tab, default: 0] += 1
        }
    }

    struct HelpCoordinator: Coordinator {
        enum Event: NavigationEvent, CaseIterable { case more, close }

        func start(_ navigator: inout Navigator) {
            navigator.push(Screen("help", title: "Help"))
        }

        func handle(_ event: Event, _ navigator: inout Navigator) {
            switch event {
            case .more: navigator.push(Screen("chapter"))
            case .close: navigator.finish()
            }
        }
    }
}

/// A wizard whose back button leads through its steps, in tabs of which one comes when the user joins.
extension PatternExamples {
    static let trips = App(
        "trips", root: BarCoordinator.init, coordinators: [TripCoordinator.self, DatesCoordinator.self])

    struct BarCoordinator: Coordinator {
        enum Event: NavigationEvent, CaseIterable { case join }

        static let everywhere = Event.allCases

        func start(_ navigator: inout Navigator) {
            navigator.push(Screen("bar"), tabs: tabs(isMember: false))
        }

        func handle(_ event: Event, _ navigator: inout Navigator) {
            switch event {
            case .join: navigator.setTabs(tabs(isMember: true))
            }
        }

        func tabs(isMember: Bool) -> [Tab] {
            let trip = Tab("trip", starting: TripCoordinator())
            return isMember ? [trip, Tab("points", Screen("points"))] : [trip]
        }
    }

    struct TripCoordinator: Coordinator {
        private(set) var dates: Dates?

        func start(_ navigator: inout Navigator) {
            navigator.push(Screen("trip"))
            navigator.start(DatesCoordinator())
        }

        mutating func childDidDeliver(
            _ value: any Sendable, from child: any Coordinator, _ navigator: inout Navigator
        ) {
            guard let dates = value as? Dates else { return }
            self.dates = dates
            navigator.push(Screen("rooms", title: "\(dates.nights) nights"))
        }
    }

    struct Dates: Codable, Equatable {
        var arrival = 1
        var departure: Int?
        var nights: Int { (departure ?? arrival) - arrival }
    }

    struct DatesCoordinator: Coordinator {
        private(set) var dates = Dates()

        enum Event: NavigationEvent {
            case arrive(day: Int)
            case leave(day: Int)
            static let examples: [Event] = [.arrive(day: 1), .leave(day: 3)]
        }

        func start(_ navigator: inout Navigator) {
            navigator.push(Screen("arrival", events: ["arrive"]))
        }

        mutating func handle(_ event: Event, _ navigator: inout Navigator) {
            switch event {
            case .arrive(let day):
                dates.arrival = day
                navigator.push(Screen("departure", events: ["leave"]))
            case .leave(let day):
                dates.departure = day
                navigator.deliver(dates)
            }
        }
    }
}

extension PatternExamples.DatesCoordinator: StackDelegate {
    mutating func screenWasRemoved(_ screen: Screen, _ navigator: inout Navigator) {
        if screen.name == "departure" { dates.departure = nil }
    }
}
