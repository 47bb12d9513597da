internal import ArgumentParser
internal import FoundationEssentials
internal import Glibc
internal import SQLiteStore
internal import Sessions

/// `restore`: makes a store of a backup.
struct RestoreCommand: AsyncParsableCommand, SettingsCommand {
    static let settings = storeSettings
    static let configuration = CommandConfiguration(
        commandName: "restore", abstract: "Makes a store of a backup: whole, or not at all.",
        discussion: """
            The backup is checked first: each of its pages and each session. The store's directory must be new, or \
            without sessions, and no server may run on it; it is created if it is missing. A store that has sessions is \
            never replaced: move its directory away. The exit code is 1 if the backup has damaged sessions: they are \
            restored, too, and servers refuse them.

            What was acknowledged after the backup is lost. Clients that have seen it get the restored states: no entity \
            tag from before the restore is that of a state after it.
            """)

    @OptionGroup var stored: StoredOptions

    @Argument(help: "A file that `backup` has written.")
    var file: String

    func validate() throws {
        guard !stored.store.isPostgres else {
            throw ValidationError(
                "`restore` makes a store in a file. Restore a PostgreSQL database with its own tools.")
        }
    }

    func run() async throws {
        guard case .sqlite(let directory) = stored.store else { return }
        // Reaching the file's size limit then fails the write instead of ending the process.
        signal(SIGXFSZ, SIG_IGN)
        let backup = try backup()
        let vacancy = try DirectoryOwner.act(in: directory) { try RestoreCommand.vacancy(directory) }
        defer { vacancy.close() }
        let damaged = try await damagedSessions(in: backup)
        try DirectoryOwner.become(in: directory)
        let count = try NewFile.make(vacancy.file, replacing: vacancy.hasEmptyStore, in: vacancy.draft) { draft in
            do throws(SQLiteStoreError) {
                return try backup.checkedCopy(to: draft, as: .store, "restore")
            } catch .unavailable(let reason) {
                // The backup was sound a moment ago, so it is the copy that failed.
                throw ExitCode.cannotStart(EX_IOERR, "\(vacancy.file) cannot be written: \(reason)")
            } catch {
                throw ExitCode.cannotRestore(file, error)
            }
        }
        let newest = count > 0 ? ", the newest change of \(backup.latestTime.formatted(.iso8601))" : ""
        print("\(stored.store.location): \(count) sessions, damaged: \(damaged)\(newest)")
        if damaged > 0 { throw ExitCode(1) }
    }

    private func backup() throws -> StoreSnapshot {
        do throws(SQLiteStoreError) {
            guard access(file, F_OK) == 0 || errno != ENOENT else { throw .missing }
            guard try StoreSnapshot.isBackup(file) else { throw .damaged("it has not the form of a backup") }
            return try StoreSnapshot(file: file)
        } catch {
            throw ExitCode.cannotRestore(file, error)
        }
    }

    /// Reads every page and every session.
    ///
    /// - Returns: how many sessions are damaged; they are reported on standard error.
    private func damagedSessions(in backup: StoreSnapshot) async throws -> Int {
        var progress = Progress("restore, check of pages")
        if let page = backup.damagedPages({ progress.show($0, of: $1) }).first {
            throw ExitCode.cannotRestore(file, .damaged("page \(page)"))
        }
        progress = Progress("restore, check of sessions")
        var damaged = 0
        let reader = try SQLiteReading(backup: file)
        let scan = try SessionScan { try SQLiteReading(backup: file) }
        let isWhole = try await reader.forEachPage { sessions in
            try await scan.forEach(sessions, withPast: false) { id, found in
                found.damage.map { (id, $0) }
            } each: { found, done in
                for (id, damage) in found {
                    StandardError.print("Error: session \(id.text) is damaged: \(damage.what)")
                }
                damaged += found.count
                progress.show(done, of: sessions.count)
            }
        }
        progress.hide()
        guard isWhole else { throw ExitCode.cannotRestore(file, .damaged("sessions may be missing")) }
        return damaged
    }

    private static func vacancy(_ directory: String) throws -> StoreVacancy {
        do throws(StoreVacancy.Failure) {
            return try StoreVacancy(directory)
        } catch .occupied {
            throw ExitCode.cannotStart(
                EX_CANTCREAT,
                """
                \(directory) has a store already, which stays as it is: name a new directory with --store \
                sqlite:DIRECTORY, or move that one away
                """)
        } catch .unusable(let error) {
            throw ExitCode.cannotUse(directory, error, by: .command)
        }
    }
}

extension StoreSnapshot {
    /// Copies the store into a new file, and shows how far it is.
    ///
    /// - Returns: how many sessions the copy has. Its journal is read for that, so that no copy gets its name that a
    ///   server would refuse.
    func checkedCopy(to path: String, as form: CopyForm, _ work: String) throws(SQLiteStoreError) -> Int {
        var progress = Progress(work)
        defer { progress.hide() }
        try copy(to: path, as: form) { progress.show($0, of: $1) }
        return try StoreSnapshot(file: path).sessions().count
    }
}

extension Result where Success == SessionRecord?, Failure == SessionDamage {
    fileprivate var damage: SessionDamage? {
        if case .failure(let damage) = self { damage } else { nil }
    }
}

extension ExitCode {
    /// A backup cannot be read: prints to standard error what is wrong with it.
    static func cannotRestore(_ file: String, _ error: SQLiteStoreError) -> ExitCode {
        switch error {
        case .missing: cannotStart(EX_NOINPUT, "there is no file \(file)")
        case .damaged, .newer, .incomplete:
            cannotStart(EX_DATAERR, "\(file) cannot be restored: \(error.words); nothing was changed")
        case .inUse, .unavailable: cannotStart(EX_IOERR, "\(file) cannot be read: \(error.words)")
        }
    }
}

extension SQLiteStoreError {
    /// What is wrong, for a sentence that names the file.
    fileprivate var words: String {
        switch self {
        case .missing: "it does not exist"
        case .inUse: "it is in use by another process"
        case .newer(let schema): "it was written by a newer build, with schema \(schema)"
        case .damaged(let what): "it is damaged: \(what)"
        case .incomplete(let reason), .unavailable(let reason): reason
        }
    }
}
