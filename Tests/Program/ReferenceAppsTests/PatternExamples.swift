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
