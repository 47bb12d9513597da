public import Coordinators

/// Parent and child on one stack, and the back button: no coordinator starts a back, yet the child whose screen it took
/// away must not stay.
public enum LoginHome {
    public static let app = App(
        "login-home", root: AppCoordinator.init, coordinators: [LoginCoordinator.self, HomeCoordinator.self])
}

extension LoginHome {
    /// Lives below everything and shows no screen of its own.
    struct AppCoordinator: Coordinator, LoginDelegate {
        func start(_ navigator: inout Navigator) {
            navigator.start(LoginCoordinator())
        }

        func didLogIn(_ navigator: inout Navigator) {
            navigator.start(HomeCoordinator())
        }

        /// The home coordinator has finished: the login lies below it.
        func childDidFinish(_ child: any Coordinator, _ navigator: inout Navigator) {}
    }

    /// The login stays when it has succeeded, so it tells its parent instead of finishing.
    protocol LoginDelegate {
        mutating func didLogIn(_ navigator: inout Navigator)
    }

    struct LoginCoordinator: Coordinator {
        enum Event: NavigationEvent, CaseIterable { case login }

        func start(_ navigator: inout Navigator) {
            navigator.push(Screen("login", title: "Login"))
        }

        func handle(_ event: Event, _ navigator: inout Navigator) {
            switch event {
            case .login:
                navigator.tell((any LoginDelegate).self) { parent, navigator in parent.didLogIn(&navigator) }
            }
        }
    }

    /// A logout ends the home, so it finishes.
    struct HomeCoordinator: Coordinator {
        enum Event: NavigationEvent, CaseIterable { case logout }

        func start(_ navigator: inout Navigator) {
            navigator.push(Screen("home", title: "Home"))
        }

        func handle(_ event: Event, _ navigator: inout Navigator) {
            switch event {
            case .logout: navigator.finish()
            }
        }
    }
}
