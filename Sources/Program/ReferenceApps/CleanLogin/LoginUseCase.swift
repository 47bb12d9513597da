public import Coordinators

/// Logs a user in. It knows neither where accounts are stored nor what is shown.
public struct LoginUseCase: Sendable {
    private let repository: any LoginRepository

    public init(repository: any LoginRepository) {
        self.repository = repository
    }

    /// Returns if the password is the account's.
    public func logIn(email: String, password: String, from client: ClientAddress?) async throws(LoginError) {
        try await repository.verify(email: email, password: password, from: client)
    }
}

/// Knows the accounts.
public protocol LoginRepository: Sendable {
    /// Returns if the password is the account's. Neither the answer nor the time it takes may reveal whether there is
    /// such an account.
    ///
    /// - Parameter client: where the attempt came from, for limits that do not affect other clients.
    func verify(email: String, password: String, from client: ClientAddress?) async throws(LoginError)
}

/// Why a login failed, by what can be done next.
public enum LoginError: Error, Equatable {
    /// No such account, or not its password.
    case refused
    /// Too many logins at the moment. The password was not checked: try again.
    case busy
    /// Too many wrong passwords in a row for this account from this client. This one was not checked: try again after
    /// that many seconds.
    case tooManyFailures(retryAfter: Int)
    /// The accounts cannot be read, or there is not enough memory to check a password.
    case unavailable
}
