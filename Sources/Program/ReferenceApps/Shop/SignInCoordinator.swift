internal import Coordinators

extension Shop {
    /// A sheet that finishes when the password is right.
    struct SignInCoordinator: Coordinator {
        static let dependencies: [any Any.Type] = [LoginUseCase.self]

        enum Event: NavigationEvent {
            case submit(email: String, password: Secret)
            static let examples: [Event] = [.submit(email: "ann@example.com", password: "correct horse")]
            var title: String { "Sign in" }
            var fields: [Field] { [Field("email", "E-mail", format: .email)] }
        }

        func start(_ navigator: inout Navigator) {
            navigator.push(Screen("signIn", title: "Sign in"))
        }

        func handle(_ event: Event, _ navigator: inout Navigator) async throws {
            switch event {
            case .submit(let email, let password):
                let viewModel = LoginViewModel(useCase: try navigator.resolve())
                try await viewModel.logIn(email: email, password: password, from: navigator.address) {
                    navigator.rotateToken()
                    navigator.signIn(user: AccountName(email)?.text ?? email)
                    navigator.finish()
                } onLoginFailure: { alert in
                    navigator.alert(alert)
                }
            }
        }
    }
}
