public import Coordinators
internal import FoundationEssentials
internal import Glibc
internal import SQLite
internal import Sodium
internal import Synchronization

/// The accounts, in a SQLite file that holds their email addresses and the Argon2id hashes of their passwords.
///
/// Passwords are checked on the store's own threads, at most one per core at a time; each check uses 64 MiB while it
/// runs. A name without an account is treated like any other: its password is checked against a decoy. If there are
/// more logins than can be checked, clients take turns.
public final class AccountStore: LoginRepository {
    public typealias Clock = @Sendable () -> ContinuousClock.Instant

    private let path: String?
    private let table: Mutex<OpenTable>
    private let failures = Mutex(LoginFailures())
    let lanes: WorkLanes<ClientAddress?>
    /// How many passwords have been compared with a hash, or with the decoy.
    let comparisons = Atomic(0)
    private let isDevelopment: Bool
    private let now: Clock

    /// Opens the file; creates it, and its table, if they do not exist. Only its owner can read it.
    ///
    /// - Parameters:
    ///   - path: the file's path; `nil` for accounts in memory, which are gone when the store is.
    ///   - isDevelopment: adds the development account and permits logins to it. Blocks the thread while the password
    ///     is hashed.
    ///   - waitingLimit: passwords that may wait to be checked; further ones are `.busy`.
    ///   - now: the clock that measures the delays after wrong passwords.
    public init(
        path: String?, isDevelopment: Bool = false, waitingLimit: Int = 16, now: @escaping Clock = { .now }
    ) throws(AccountStoreError) {
        self.path = path
        table = Mutex(try OpenTable(path))
        lanes = WorkLanes(count: ProcessInfo.processInfo.activeProcessorCount, waitingLimit: waitingLimit)
        self.isDevelopment = isDevelopment
        self.now = now
        guard isDevelopment, let account = AccountName(DevelopmentAccount.email) else { return }
        _ = try add(account, DevelopmentAccount.password, isDevelopment: true)
    }

    /// Adds an account. Blocks the thread while the password is hashed.
    ///
    /// - Returns: whether it was added; an existing account keeps its password.
    public func add(email: String, password: String) throws(AccountStoreError) -> Bool {
        guard let account = AccountName(new: email) else { throw .invalidEmail(email) }
        return try add(account, password, isDevelopment: false)
    }

    /// Removes an account.
    ///
    /// - Returns: whether there was such an account.
    public func remove(email: String) throws(AccountStoreError) -> Bool {
        guard let account = AccountName(email) else { return false }
        return try withTable { table throws(SQLiteError) in try table.remove(account) }
    }

    /// All accounts, in the order of their addresses.
    public func accounts() throws(AccountStoreError) -> [Account] {
        try withTable { table throws(SQLiteError) in try table.all() }
    }

    /// Copies the file, as it is at one moment, into a new one that only its owner can read. Others may use it meanwhile.
    ///
    /// - Parameter path: must not exist.
    public func copy(to path: String) throws(AccountStoreError) {
        // What `kill -9` leaves of one is in nobody's way.
        let draft = "\(path).\(getpid())"
        let file = open(draft, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw .system(draft) }
        defer {
            close(file)
            unlink(draft)
        }
        try withTable { table throws(SQLiteError) in try table.copy(to: draft) }
        guard fsync(file) == 0, link(draft, path) == 0 else { throw .system(path) }
    }

    public func verify(
        email: String, password: String, from client: ClientAddress?
    ) async throws(LoginError) {
        // No account can have such a name, so the refusal reveals nothing.
        guard let account = AccountName(email) else { throw .refused }
        let attempt = LoginAttempt(account: account, client: client)
        try failures.withLock { failures throws(LoginError) in try failures.check(attempt, at: now()) }
        let outcome = await lanes.run(for: client) {
            Result { () throws(LoginError) in try self.check(password, attempt) }
        }
        guard let outcome else { throw .busy }
        try outcome.get()
    }

    private func add(
        _ account: AccountName, _ password: String, isDevelopment: Bool
    ) throws(AccountStoreError) -> Bool {
        let hash: PasswordHash
        do { hash = try PasswordHash(of: password) } catch { throw .unavailable(reason: "\(error)") }
        return try withTable { table throws(SQLiteError) in
            try table.add(account, hash, isDevelopment: isDevelopment)
        }
    }

    private func withTable<Value: Sendable>(
        _ body: (borrowing AccountTable) throws(SQLiteError) -> Value
    ) throws(AccountStoreError) -> Value {
        try table.withLock { open throws(AccountStoreError) in
            // A file that was replaced is opened again: accounts that are no longer in it must not sign in.
            if let path, FileIdentity(path) != open.file {
                guard FileIdentity(path) != nil else { throw .unavailable(reason: "\(path) was removed") }
                open = try OpenTable(path)
            }
            do throws(SQLiteError) { return try body(open.table) } catch {
                throw .unavailable(reason: error.description)
            }
        }
    }

    /// The accounts' table, and the file that it is in.
    private struct OpenTable: ~Copyable {
        let table: AccountTable
        /// `nil` in memory.
        let file: FileIdentity?

        init(_ path: String?) throws(AccountStoreError) {
            if let path { try PrivateFile.prepare(path) }
            do throws(SQLiteError) { table = try AccountTable(path: path ?? ":memory:") } catch {
                throw .unavailable(reason: error.description)
            }
            file = path.flatMap(FileIdentity.init)
        }
    }

    /// Runs on a lane.
    private func check(_ password: String, _ attempt: LoginAttempt) throws(LoginError) {
        // Checked again, because others may have failed while this attempt waited.
        try failures.withLock { failures throws(LoginError) in try failures.begin(attempt, at: now()) }
        guard try isRight(password, of: attempt.account) else {
            failures.withLock { $0.fail(attempt, at: now()) }
            throw .refused
        }
        failures.withLock { $0.succeed(attempt) }
    }

    private func isRight(_ password: String, of account: AccountName) throws(LoginError) -> Bool {
        do {
            let hash = try withTable { table throws(SQLiteError) in
                try table.hash(of: account, isDevelopment: isDevelopment)
            }
            comparisons.add(1, ordering: .relaxed)
            let matches = try (hash ?? .decoy).matches(password)
            return matches && hash != nil
        } catch {
            throw .unavailable
        }
    }
}

public enum AccountStoreError: Error, Equatable {
    /// The file cannot be used, or there is not enough memory to hash a password.
    case unavailable(reason: String)
    /// Not an email address.
    case invalidEmail(String)
}

extension AccountStoreError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unavailable(let reason): "the accounts cannot be used: \(reason)"
        case .invalidEmail(let text): "“\(text)” is not an email address (name@example.com)"
        }
    }
}
