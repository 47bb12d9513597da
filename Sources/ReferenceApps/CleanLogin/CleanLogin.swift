public import Coordinators

/// Clean architecture: the coordinator is handed a use case, and never sees the repository behind it.
public enum CleanLogin {
    /// - Parameter repository: where accounts are.
    public static func app(_ repository: any LoginRepository) -> App {
        App(
            "clean-login", root: AppCoordinator.init, coordinators: [LoginCoordinator.self, MainCoordinator.self],
            dependencies: .accounts(repository), endsForks: true)
    }
}

extension Dependencies {
    /// The use case, with the repository that it needs.
    static func accounts(_ repository: any LoginRepository) -> Dependencies {
        var dependencies = Dependencies()
        dependencies.register((any LoginRepository).self) { _ in repository }
        dependencies.registerFactory(LoginUseCase.self) { resolver in
            LoginUseCase(repository: try resolver.resolve((any LoginRepository).self))
        }
        return dependencies
    }
}

extension LoginUseCase {
    /// Logs somebody in for a coordinator; the session has another token then.
    ///
    /// - Returns: the alert to show when that was refused; `nil` when it succeeded.
    /// - Throws: `Overloaded` when the password was not looked at.
    static func logIn(email: String, password: Secret, _ navigator: inout Navigator) async throws -> Alert? {
        let useCase = try navigator.resolve(LoginUseCase.self)
        do {
            try await useCase.logIn(email: email, password: password.value, from: navigator.client)
            navigator.rotateToken()
            return nil
        } catch {
            switch error {
            case .refused: return Alert("Error", message: "Fail To Login")
            case .busy: throw Overloaded()
            case .tooManyFailures(let seconds): throw Overloaded(retryAfter: seconds)
            case .unavailable: throw error
            }
        }
    }
}

extension CleanLogin {
    /// Shows the login, then what lies behind it. Whoever logs out, or starts the app anew, leaves a token behind that is
    /// worth nothing any more.
    struct AppCoordinator: Coordinator {
        func start(_ navigator: inout Navigator) {
            if navigator.defaults["isLoggedIn"] == true { logOut(&navigator) }
            navigator.start(LoginCoordinator())
        }

        func childDidFinish(_ child: any Coordinator, _ navigator: inout Navigator) {
            if child is LoginCoordinator {
                navigator.defaults["isLoggedIn"] = true
                navigator.start(MainCoordinator())
            } else {
                logOut(&navigator)
                navigator.start(LoginCoordinator())
            }
        }

        private func logOut(_ navigator: inout Navigator) {
            navigator.defaults["isLoggedIn"] = nil
            navigator.rotateToken()
        }
    }

    struct LoginCoordinator: Coordinator {
        static let dependencies: [any Any.Type] = [LoginUseCase.self]

        enum Event: NavigationEvent {
            case login(email: String, password: Secret)
            static let examples: [Event] = [.login(email: "ann@example.com", password: "correct horse")]
        }

        func start(_ navigator: inout Navigator) {
            navigator.push(Screen("login", title: "Login"))
        }

        func handle(_ event: Event, _ navigator: inout Navigator) async throws {
            switch event {
            case .login(let email, let password):
                guard !email.isEmpty else { return }
                guard let alert = try await LoginUseCase.logIn(email: email, password: password, &navigator) else {
                    return navigator.finish()
                }
                navigator.update("login") { $0.params = ["email": .string(email)] }
                navigator.alert(alert)
            }
        }
    }

    struct MainCoordinator: Coordinator {
        enum Event: NavigationEvent, CaseIterable { case logout }

        func start(_ navigator: inout Navigator) {
            navigator.push(Screen("main", title: "Main"))
        }

        func handle(_ event: Event, _ navigator: inout Navigator) {
            switch event {
            case .logout: navigator.finish()
            }
        }
    }
}
