public import Coordinators

/// Flows that finish, a tab bar, a remembered login.
public enum Tabs {
    public static let app = App(
        "tabs", root: AppCoordinator.init, coordinators: [LoginCoordinator.self, TabCoordinator.self])
}

extension Tabs {
    /// Shows the login or the tabs, depending on what the session remembers.
    struct AppCoordinator: Coordinator {
        func start(_ navigator: inout Navigator) {
            if navigator.defaults["isLoggedIn"] == true {
                navigator.start(TabCoordinator())
            } else {
                navigator.start(LoginCoordinator())
            }
        }

        func childDidFinish(_ child: any Coordinator, _ navigator: inout Navigator) {
            navigator.defaults["isLoggedIn"] = .bool(child is LoginCoordinator)
            start(&navigator)
        }
    }

    struct LoginCoordinator: Coordinator {
        enum Event: NavigationEvent, CaseIterable {
            case login
            var title: String { "로그인" }
        }

        func start(_ navigator: inout Navigator) {
            navigator.push(Screen("login", title: "로그인", hidesNavigationBar: true))
        }

        func handle(_ event: Event, _ navigator: inout Navigator) {
            switch event {
            case .login: navigator.finish()
            }
        }
    }

    /// Three pages; the event of each page selects the next page, and that of the last page leaves the tabs.
    struct TabCoordinator: Coordinator {
        enum Event: NavigationEvent, CaseIterable {
            case home, plus, myPage

            var title: String {
                switch self {
                case .home: "Home"
                case .plus: "Push"
                case .myPage: "MyPage"
                }
            }
        }

        func start(_ navigator: inout Navigator) {
            navigator.push(
                Screen("tabs"),
                tabs: [
                    Tab("home", title: "Home", Screen("home", title: "Home", events: [Event.home])),
                    Tab("plus", title: "Plus", Screen("plus", title: "Plus", events: [Event.plus])),
                    Tab("myPage", title: "MyPage", Screen("myPage", title: "MyPage", events: [Event.myPage])),
                ])
        }

        func handle(_ event: Event, _ navigator: inout Navigator) {
            switch event {
            case .home: navigator.selectTab("plus")
            case .plus: navigator.selectTab("myPage")
            case .myPage: navigator.finish()
            }
        }
    }
}
