internal import Coordinators

/// Between a screen and the use case: turns the outcome of a login into what is shown.
struct LoginViewModel {
    let useCase: LoginUseCase

    /// Logs a user in. Without an address or a password nothing is called, and no password is checked.
    ///
    /// - Parameter onLoginFailure: called with the alert to show.
    /// - Throws: `Overloaded` if the password was not checked, because of too many attempts; `LoginError.unavailable`.
    func logIn(
        email: String, password: Secret, from client: ClientAddress?, onLoginSuccess: () -> Void,
        onLoginFailure: (Alert) -> Void
    ) async throws {
        guard !email.isEmpty, !password.value.isEmpty else { return }
        do {
            try await useCase.logIn(email: email, password: password.value, from: client)
            onLoginSuccess()
        } catch {
            switch error {
            case .refused: onLoginFailure(Alert("Error", message: "Fail To Login"))
            case .busy: throw Overloaded()
            case .tooManyFailures(let seconds): throw Overloaded(retryAfter: seconds)
            case .unavailable: throw error
            }
        }
    }
}
