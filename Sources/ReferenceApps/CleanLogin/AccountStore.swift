public import Coordinators
internal import FoundationEssentials
internal import SQLite
internal import Sodium
internal import Synchronization

/// The accounts, in a SQLite file that holds their email addresses and the Argon2id hashes of their passwords.
///
/// A password is checked on threads of the store's own, at most one a core at a time; each check takes 64 MiB for as
/// long as it lasts. A name without an account is treated like any other: its password is checked against a decoy. Where
/// more want to log in than can be, clients take turns.
public final class AccountStore: LoginRepository {
    public typealias Clock = @Sendable () -> ContinuousClock.Instant

    private let table: Mutex<AccountTable>
    private let failures = Mutex(LoginFailures())
    private let lanes: WorkLanes<ClientAddress?>
    private let now: Clock

    /// Opens the file; makes it, and its table, where they are missing.
    ///
    /// - Parameters:
    ///   - path: of the file; `:memory:` for accounts that go with the store.
    ///   - waitingLimit: passwords that may wait to be checked; more are `.busy`.
    ///   - now: the clock that slowed-down accounts wait by.
    public init(path: String, waitingLimit: Int = 16, now: @escaping Clock = { .now }) throws(AccountStoreError) {
        do throws(SQLiteError) {
            table = Mutex(try AccountTable(path: path))
        } catch {
            throw .unavailable(reason: error.description)
        }
        lanes = WorkLanes(count: ProcessInfo.processInfo.activeProcessorCount, waitingLimit: waitingLimit)
        self.now = now
    }

    /// Adds an account, for development; one that is there keeps its password. Blocks the thread for as long as a hash
    /// takes: to be called at start-up.
    public func seed(email: String, password: String) throws(AccountStoreError) {
        guard let account = AccountName(email) else { throw .invalidEmail }
        do {
            let hash = try PasswordHash(of: password)
            try table.withLock { table throws(SQLiteError) in try table.add(account, hash) }
        } catch {
            throw .unavailable(reason: "\(error)")
        }
    }

    public func verify(
        email: String, password: String, from client: ClientAddress?
    ) async throws(LoginError) {
        // No account can have such a name, so there is none to hide.
        guard let account = AccountName(email) else { throw .refused }
        let attempt = LoginAttempt(account: account, client: client)
        try failures.withLock { failures throws(LoginError) in try failures.check(attempt, at: now()) }
        let outcome = await lanes.run(for: client) {
            Result { () throws(LoginError) in try self.check(password, attempt) }
        }
        guard let outcome else { throw .busy }
        try outcome.get()
    }

    /// On a lane.
    private func check(_ password: String, _ attempt: LoginAttempt) throws(LoginError) {
        // Again, for others may have failed while this one waited.
        try failures.withLock { failures throws(LoginError) in try failures.begin(attempt, at: now()) }
        guard try isRight(password, of: attempt.account) else {
            failures.withLock { $0.fail(attempt, at: now()) }
            throw .refused
        }
        failures.withLock { $0.succeed(attempt) }
    }

    private func isRight(_ password: String, of account: AccountName) throws(LoginError) -> Bool {
        do {
            let hash = try table.withLock { table throws(SQLiteError) in try table.hash(of: account) }
            let matches = try (hash ?? .decoy).matches(password)
            return matches && hash != nil
        } catch {
            throw .unavailable
        }
    }
}

public enum AccountStoreError: Error, Equatable {
    /// The file cannot be used, or the memory to hash a password is not there.
    case unavailable(reason: String)
    /// No address is that long.
    case invalidEmail
}
