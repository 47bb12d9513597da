internal import ArgumentParser
internal import ByteText
internal import FoundationEssentials
internal import Glibc
internal import SQLiteStore
internal import Sessions

/// The value of `--store`: the kind of store, and where it is. Only this file, `PostgresDatabase` and `StoreCopies` know
/// the kinds: the functions that open a store return a `StoreReader` or a `WritableStore`.
///
/// Functions that throw an exit code have printed the reason to standard error.
enum StoreChoice: Equatable, CustomStringConvertible {
    case memory
    case sqlite(directory: String)
    case postgres(PostgresDatabase)

    /// How each kind is written, for help and errors.
    static let forms = "sqlite:DIRECTORY, \(PostgresDatabase.form.map { "\($0), " } ?? "")or memory"

    @Sendable static func parse(_ text: String) throws -> StoreChoice {
        let scheme = "sqlite:"
        if text == "memory" { return .memory }
        // Not checked here: the error for an argument repeats the argument, which may contain a password.
        if ["postgresql:", "postgres:"].contains(where: text.begins) { return .postgres(PostgresDatabase(uri: text)) }
        if let (other, _) = text.cut(at: ":"), !text.begins(with: scheme), !other.has("/") {
            throw ValidationError("There is no store “\(other)”: write \(forms).")
        }
        guard text.begins(with: scheme), text != scheme else {
            let directory = text.isEmpty || text == scheme ? "DIRECTORY" : text
            throw ValidationError("Write sqlite:\(directory) for the directory \(directory).")
        }
        return .sqlite(directory: String(Substring(text.utf8.dropFirst(scheme.utf8.count))))
    }

    var isPostgres: Bool {
        if case .postgres = self { true } else { false }
    }

    /// - Throws: `ValidationError`, if the URI is malformed or contains a secret, or if this program cannot use the
    ///   store.
    func validate() throws {
        if case .postgres(let database) = self { try database.validate() }
    }

    /// Without secrets.
    var description: String {
        switch self {
        case .memory: "memory"
        case .sqlite(let directory): "sqlite:\(directory)"
        case .postgres(let database): database.description
        }
    }
}

/// The password of a database at the moment of a call; `nil` if libpq has to look for one.
typealias DatabasePassword = @Sendable () -> String?

/// The value of `--durability`.
enum DurabilityChoice: String, CaseIterable {
    case strict, relaxed
}

// Opening a store. The store in memory is not opened here: no command can use it.
extension StoreChoice {
    /// The store as it is now, whether servers run on it or not.
    ///
    /// - Throws: an error that `reported` turns into an exit code.
    func reader(_ password: DatabasePassword?) throws -> any StoreReader {
        switch self {
        case .memory: throw ExitCode(EX_USAGE)
        case .sqlite(let directory):
            return try DirectoryOwner.act(in: directory) { try StoreSnapshot(directory: directory) }
        case .postgres(let database): return try database.reader(password)
        }
    }

    /// Checks that there is a store, not that it can be used.
    ///
    /// - Throws: an error that `reported` turns into an exit code.
    func checkExistence(_ password: DatabasePassword?) throws {
        if case .sqlite(let directory) = self {
            try DirectoryOwner.act(in: directory) { try StoreSnapshot.checkExistence(in: directory) }
        } else {
            _ = try reader(password)
        }
    }

    /// Opens the store for changes; creates it if it does not exist and is in a file, or `creating` says so. Unless it is shared, no other process may use it.
    ///
    /// - Parameters:
    ///   - durability: `nil` for a command's, which loses nothing that the store's servers would not lose.
    ///   - newSecret: the secret of a store that is created, or has no sessions yet; `nil` for a random one.
    ///   - report: receives what an operator should know, and whether it is critical.
    ///   - failed: called when only opening the store again can show what is in it.
    func open(
        by user: DirectoryUser, _ password: DatabasePassword?, creating: Bool = true,
        durability: DurabilityChoice? = nil,
        _ retention: Retention, sizeLimit: Int = 0, newSecret: StoreSecret? = nil,
        report: @escaping @Sendable (_ text: String, _ isCritical: Bool) -> Void,
        failed: @escaping @Sendable (String) -> Void
    ) async throws -> any WritableStore {
        switch self {
        case .memory: throw ExitCode(EX_USAGE)
        case .sqlite(let directory):
            if user == .command { try DirectoryOwner.become(in: directory) }
            do throws(SQLiteStoreError) {
                return try SQLiteStore(
                    directory: directory, durability: durability == .relaxed ? .relaxed : .strict,
                    retention: retention, sizeLimit: sizeLimit, newSecret: newSecret, report: { report($0, false) },
                    failed: failed)
            } catch {
                throw ExitCode.cannotUse(directory, error, by: user)
            }
        case .postgres(let database):
            return try await database.open(
                password, creating: creating, durability: durability, retention, newSecret: newSecret, report: report)
        }
    }

    /// Makes the directory of a server's store, if it is on disk and missing; refuses one that another server uses.
    func makeDirectory() throws {
        guard case .sqlite(let directory) = self else { return }
        do throws(SQLiteStoreError) { try SQLiteStore.makeDirectory(directory) } catch {
            throw ExitCode.cannotUse(directory, error, by: .server)
        }
    }

    /// Says what becomes of the damage that a command has found; makes the next start rebuild what is derived from the
    /// journal, if the store has one.
    ///
    /// - Returns: a sentence without its full stop; `nil` if no start rebuilds such a store.
    func requestRebuild() -> String? {
        guard case .sqlite(let directory) = self else { return nil }
        let isMarked = try? DirectoryOwner.act(in: directory) { SQLiteStore.requestRebuild(in: directory) }
        let start =
            isMarked == true
            ? "the next start on \(directory)"
            : "\(directory) cannot be written, so the next start only finds the damage, and the start after that"
        return "\(start) rebuilds what is derived from the journal, if the journal is sound"
    }

    /// The error that a command ends with: an exit code if the store cannot be read, otherwise the error itself.
    func reported(_ error: any Error) -> any Error {
        switch (self, error) {
        case (.sqlite(let directory), let error as SQLiteStoreError): ExitCode.cannotRead(directory, error)
        case (.sqlite(let directory), let damage as SessionDamage):
            ExitCode.cannotRead(directory, .damaged(damage.what))
        case (.postgres(let database), _): database.reported(error)
        default: error
        }
    }

    /// Makes or upgrades the tables of a shared store, or removes what only servers of earlier builds need.
    ///
    /// - Returns: the schema before and after; with `contracting`, the oldest schema whose servers are admitted, before
    ///   and after; `nil` for a store that is upgraded when it is opened.
    func migrate(_ password: DatabasePassword?, contracting: Bool = false) async throws -> (before: Int, after: Int)? {
        guard case .postgres(let database) = self else { return nil }
        return try await database.migrate(password, contracting: contracting)
    }
}

extension ExitCode {
    /// A store cannot be used: prints to standard error what is wrong with it.
    static func cannotUse(_ directory: String, _ error: SQLiteStoreError, by user: DirectoryUser) -> ExitCode {
        switch error {
        case .missing:
            cannotStart(
                EX_NOINPUT, "there is no store in \(directory); name its directory with --store sqlite:DIRECTORY")
        case .inUse(let path):
            cannotStart(
                EX_UNAVAILABLE,
                "\(path) is in use by another process"
                    + (user == .command ? ": stop the server that uses the store first" : ""))
        case .newer(let schema):
            cannotStart(EX_DATAERR, "\(directory) was written by a newer build, with schema \(schema)")
        case .damaged(let what):
            cannotStart(
                EX_DATAERR,
                """
                \(directory) is damaged: \(what). Restore a backup into another directory. If there is none, and \
                `sessions export` can still read the store, `sessions import` makes a new one of its undamaged \
                sessions.
                """)
        case .incomplete(let what): cannotStart(EX_DATAERR, what)
        case .unavailable(let reason):
            if let fault = Directory(path: directory).fault(option: "--store sqlite:DIRECTORY", for: user) {
                cannotStart(EX_CONFIG, fault)
            } else {
                cannotStart(EX_IOERR, reason.begins(with: directory) ? reason : "\(directory): \(reason)")
            }
        }
    }

    /// A command cannot read a store.
    static func cannotRead(_ directory: String, _ error: SQLiteStoreError) -> ExitCode {
        guard case .damaged(let what) = error else { return .cannotUse(directory, error, by: .command) }
        return .cannotStart(
            EX_DATAERR,
            """
            \(directory) is damaged, and this command cannot read it: \(what). Start a server on it, or restart the \
            one that runs: the start rebuilds what is derived from the journal. If the start is refused, only a backup helps.
            """)
    }
}
