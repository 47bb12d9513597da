public import Coordinators

/// Logs somebody in. It knows neither where accounts are kept nor what is shown.
public struct LoginUseCase: Sendable {
    private let repository: any LoginRepository

    public init(repository: any LoginRepository) {
        self.repository = repository
    }

    /// Returns when the password is the account's.
    public func logIn(email: String, password: String, from client: ClientAddress?) async throws(LoginError) {
        try await repository.verify(email: email, password: password, from: client)
    }
}

/// Knows the accounts.
public protocol LoginRepository: Sendable {
    /// Returns when the password is the account's. Whether there is such an account must show neither in the answer nor
    /// in the time it takes.
    ///
    /// - Parameter client: from where it was asked, for limits that keep others out of nothing.
    func verify(email: String, password: String, from client: ClientAddress?) async throws(LoginError)
}

/// Why somebody is not logged in, by what can be done next.
public enum LoginError: Error, Equatable {
    /// No such account, or not its password.
    case refused
    /// Too many are logging in at the moment. The password was not looked at: try again.
    case busy
    /// Too many wrong passwords for this account from this client, in a row. This one was not looked at: try again after so many
    /// seconds.
    case tooManyFailures(retryAfter: Int)
    /// The accounts cannot be read, or the memory to check a password is not there.
    case unavailable
}
