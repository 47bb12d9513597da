public import Coordinators

/// Parent and child on one stack, and the back button: no coordinator starts a back, yet the child whose screen it pops
/// must be removed. The children call their parent by its type, as with `weak var parent: AppCoordinator?` in UIKit.
public enum LoginHome {
    public static let app = App(
        "login-home", root: AppCoordinator.init, coordinators: [LoginCoordinator.self, HomeCoordinator.self])
}

extension LoginHome {
    /// Shows no screen of its own; it starts the children, and pops them.
    struct AppCoordinator: Coordinator {
        func start(_ navigator: inout Navigator) {
            navigator.start(LoginCoordinator())
        }

        func didLogIn(_ navigator: inout Navigator) {
            navigator.start(HomeCoordinator())
        }

        func didLogOut(_ navigator: inout Navigator) {
            navigator.pop()
        }
    }

    struct LoginCoordinator: Coordinator {
        enum Event: NavigationEvent, CaseIterable {
            case login
            var title: String { "로그인" }
        }

        func start(_ navigator: inout Navigator) {
            navigator.push(Screen("login", title: "Login"))
        }

        func handle(_ event: Event, _ navigator: inout Navigator) {
            switch event {
            case .login: navigator.tell(AppCoordinator.self) { parent, navigator in parent.didLogIn(&navigator) }
            }
        }
    }

    struct HomeCoordinator: Coordinator {
        enum Event: NavigationEvent, CaseIterable {
            case logout
            var title: String { "로그아웃" }
        }

        func start(_ navigator: inout Navigator) {
            navigator.push(Screen("home", title: "Home"))
        }

        func handle(_ event: Event, _ navigator: inout Navigator) {
            switch event {
            case .logout: navigator.tell(AppCoordinator.self) { parent, navigator in parent.didLogOut(&navigator) }
            }
        }
    }
}
