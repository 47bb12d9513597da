public import Coordinators

/// The same as `LoginHome`, but the children know their parent only by a protocol: a delegate.
public enum LoginHomeDelegate {
    public static let app = App(
        "login-home-delegate", root: AppCoordinator.init, coordinators: [LoginCoordinator.self, HomeCoordinator.self])
}

extension LoginHomeDelegate {
    protocol LoginDelegate {
        func didLogIn(_ navigator: inout Navigator)
    }

    protocol HomeDelegate {
        func didLogOut(_ navigator: inout Navigator)
    }

    struct AppCoordinator: Coordinator, LoginDelegate, HomeDelegate {
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
            case .login:
                navigator.tell((any LoginDelegate).self) { delegate, navigator in delegate.didLogIn(&navigator) }
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
            case .logout:
                navigator.tell((any HomeDelegate).self) { delegate, navigator in delegate.didLogOut(&navigator) }
            }
        }
    }
}
