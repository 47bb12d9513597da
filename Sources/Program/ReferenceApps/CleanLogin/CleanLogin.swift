public import Coordinators

/// Clean architecture: a view model is handed a use case, and the coordinator never sees the repository behind it.
public enum CleanLogin {
    /// - Parameter repository: where the accounts are stored.
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

extension CleanLogin {
    /// Shows the login, then the main screen. When the user logs out or relaunches the app, the old token becomes
    /// worthless.
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
            navigator.rotateToken(endingOthers: true)
            navigator.signOut()
        }
    }

    struct LoginCoordinator: Coordinator {
        static let dependencies: [any Any.Type] = [LoginUseCase.self]

        enum Event: NavigationEvent {
            case login(email: String, password: Secret)
            static let examples: [Event] = [.login(email: "ann@example.com", password: "correct horse")]
            var fields: [Field] { [Field("email", "E-mail", format: .email)] }
        }

        func start(_ navigator: inout Navigator) {
            navigator.push(Screen("login"))
        }

        func render(_ screen: inout Screen, in context: NavigationContext) {
            let title = context.client.language == "de" ? "Anmelden" : "Login"
            screen.title = title
            screen.events = [Control(title, sends: "login")]
        }

        func handle(_ event: Event, _ navigator: inout Navigator) async throws {
            switch event {
            case .login(let email, let password):
                let viewModel = LoginViewModel(useCase: try navigator.resolve())
                try await viewModel.logIn(email: email, password: password, from: navigator.address) {
                    navigator.rotateToken(endingOthers: true)
                    navigator.signIn(user: AccountName(email)?.text ?? email)
                    navigator.finish()
                } onLoginFailure: { alert in
                    navigator.update("login") { $0.params = ["email": .string(email)] }
                    navigator.alert(alert)
                }
            }
        }
    }

    /// Also shows where the user is logged in, and logs the user out there.
    struct MainCoordinator: Coordinator {
        enum Event: NavigationEvent {
            case logout
            case devices
            case logoutThere(session: String)
            case logoutElsewhere
            static let examples: [Event] = [
                .logout, .devices, .logoutThere(session: "s_vGNoFnEWTqnck"), .logoutElsewhere,
            ]
        }

        func start(_ navigator: inout Navigator) {
            navigator.push(Screen("main", title: "Main", events: ["logout", "devices"]))
        }

        func handle(_ event: Event, _ navigator: inout Navigator) async throws {
            switch event {
            case .logout: navigator.finish()
            case .devices:
                let own = navigator.session
                let sessions =
                    if let user = own.user { try await navigator.sessions(ofUser: user) } else { [UserSession]() }
                let params: JSONObject = ["sessions": .array(sessions.map { line($0, isThis: $0.id == own.id) })]
                navigator.push(
                    Screen(
                        "devices", title: "Where you are logged in", params: params,
                        events: ["logoutThere", "logoutElsewhere"]))
            case .logoutThere(let session): end(.one(session), &navigator)
            case .logoutElsewhere: end(.others, &navigator)
            }
        }

        private func end(_ sessions: UserSessions, _ navigator: inout Navigator) {
            if let user = navigator.session.user { navigator.endSessions(ofUser: user, sessions) }
            navigator.pop()
        }

        private func line(_ session: UserSession, isThis: Bool) -> JSON {
            [
                "session": .string(session.id), "isThis": .bool(isThis),
                "devices": .array(session.devices.map { .string($0) }),
            ]
        }
    }
}
