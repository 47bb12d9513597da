internal import ArgumentParser
internal import ByteText
internal import FoundationEssentials
internal import Glibc
internal import SQLiteStore
internal import Sessions

/// `backup`: copies the store as it is at one moment, while a server continues to use it.
struct BackupCommand: ParsableCommand, SettingsCommand {
    static let settings = storeSettings
    static let configuration = CommandConfiguration(
        commandName: "backup", abstract: "Copies the stored sessions into a new file; a server may be running.",
        discussion: """
            `restore` makes a store of it. The file is written in a directory beside it, FILE.XXXXXX, which may be \
            removed if kill -9 has left it. A PostgreSQL database is backed up with PostgreSQL's own pg_dump or \
            pg_basebackup.
            """)

    @OptionGroup var stored: StoredOptions

    @Option(
        help: """
            Takes FILE as a directory, writes a new file sessions-TIME.sqlite in it, and removes the oldest ones, so that \
            this many are left.
            """)
    var keep: Int?

    @Argument(help: "The file to create. It must not exist yet.")
    var file: String

    func validate() throws {
        guard !stored.store.isPostgres else {
            throw ValidationError(
                """
                `backup` copies a store in a file. Back up a PostgreSQL database with pg_dump, or its server with \
                pg_basebackup.
                """)
        }
        guard keep ?? 1 > 0 else { throw ValidationError("--keep takes a number from 1.") }
    }

    func run() throws {
        guard case .sqlite(let directory) = stored.store else { return }
        // Reaching the file's size limit then fails the write instead of ending the process.
        signal(SIGXFSZ, SIG_IGN)
        let snapshot: StoreSnapshot
        do {
            snapshot = try DirectoryOwner.act(in: directory) { try StoreSnapshot(directory: directory) }
        } catch let error as SQLiteStoreError {
            throw ExitCode.cannotRead(directory, error)
        }
        try DirectoryOwner.become(in: keep == nil ? Directory.parent(of: file) ?? "." : file)
        let kept = try keep.map { try KeptBackups(in: self.file, count: $0) }
        let file = kept?.next() ?? self.file
        let count = try NewFile.make(file) { draft in
            do throws(SQLiteStoreError) {
                return try snapshot.checkedCopy(to: draft, as: .backup, "backup")
            } catch .unavailable(let reason) {
                // The store was sound when it was opened, so it is the copy that failed.
                throw ExitCode.cannotStart(EX_IOERR, "\(file) cannot be written: \(reason)")
            } catch {
                throw ExitCode.cannotRead(directory, error)
            }
        }
        kept?.removeOld(but: file)
        print("\(file): \(count) sessions")
    }
}

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

/// The last backups of a store, in a directory: files named for their times. The directory is locked as long as this
/// value lives, so that one backup at a time is made in it.
final class KeptBackups {
    private let directory: String
    private let count: Int
    /// Owned: locked and closed with this value.
    private let lock: CInt

    /// - Parameter count: how many to keep.
    /// - Throws: an exit code, after printing the reason to standard error.
    init(in directory: String, count: Int) throws {
        self.directory = directory
        self.count = count
        lock = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard lock >= 0 else { throw KeptBackups.unusable(directory, EX_CANTCREAT) }
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else { throw KeptBackups.unusable(directory, EX_UNAVAILABLE) }
        // Nobody else makes backups here, so what is not whole was left by kill -9 or a power failure.
        for draft in names(matching: KeptBackups.draft) where isDraft(draft) {
            try? FileManager.default.removeItem(atPath: draft)
        }
    }

    deinit { close(lock) }

    private static func unusable(_ directory: String, _ code: CInt) -> ExitCode {
        let reason =
            errno == EWOULDBLOCK
            ? "another backup is being made in it" : String(cString: strerror(errno)).lowercased()
        return .cannotStart(code, "\(directory) cannot be used: \(reason)")
    }

    private static var backup: Regex<Substring> { /sessions-[0-9]{8}T[0-9]{6}\.[0-9]{3}Z\.sqlite/ }
    private static var draft: Regex<Substring> { /sessions-[0-9]{8}T[0-9]{6}\.[0-9]{3}Z\.sqlite\.[0-9A-Za-z]{6}/ }

    /// Whether it is a directory that has nothing but a backup and SQLite's files beside it, see `NewFile`. Other files
    /// may have such names, too: `….sqlite.sha256`.
    private func isDraft(_ path: String) -> Bool {
        let backup = URL(filePath: path).deletingPathExtension().lastPathComponent
        // Fails for what is no directory.
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else { return false }
        return names.allSatisfy { $0.begins(with: backup) }
    }

    /// The path of a new backup.
    func next() -> String {
        let time = Date().formatted(
            Date.ISO8601FormatStyle(dateSeparator: .omitted, timeSeparator: .omitted, includingFractionalSeconds: true))
        return "\(directory)/sessions-\(time).sqlite"
    }

    /// Removes all but the newest ones, and keeps the one that has just been made, wherever its time stands: a clock
    /// may have been set back.
    func removeOld(but newest: String) {
        let others = names(matching: KeptBackups.backup).filter { $0 != newest }
        for old in others.dropLast(count - 1) {
            if unlink(old) != 0 {
                StandardError.print(
                    "Warning: \(old) cannot be removed: \(String(cString: strerror(errno)).lowercased())")
            }
        }
    }

    /// In order.
    private func names(matching pattern: Regex<Substring>) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return names.filter { $0.wholeMatch(of: pattern) != nil }.sorted().map { "\(directory)/\($0)" }
    }
}

/// Shows on standard error how far work is: on a terminal as a bar, elsewhere as a line now and then. Work that takes
/// less than a second shows nothing.
struct Progress {
    private static let width = 40
    private static let isTerminal =
        isatty(STDERR_FILENO) == 1 && getenv("TERM").map { String(cString: $0) } != "dumb"
    private static let interval: Duration = isTerminal ? .milliseconds(200) : .seconds(10)

    private let work: String
    private let unit: String
    private var next = ContinuousClock.now + .seconds(1)

    /// - Parameters:
    ///   - work: what is done, as a line begins: `backup`.
    ///   - unit: what is counted where the whole is not known: `sessions`.
    init(_ work: String, unit: String = "sessions") {
        self.work = work
        self.unit = unit
    }

    /// - Parameter total: the whole; `nil` if it is not known.
    mutating func show(_ done: @autoclosure () -> Int, of total: Int?) {
        guard ContinuousClock.now >= next else { return }
        next = .now + Progress.interval
        guard let total else { return put("\(work): \(done()) \(unit) so far") }
        // What is counted may have grown since it was.
        let share = total > 0 ? min(max(0, Double(done()) / Double(total)), 1) : 1
        let percent = "\(Int(100 * share)) %"
        guard Progress.isTerminal else { return put("\(work): \(percent)") }
        let filled = Int(Double(Progress.width) * share)
        let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: Progress.width - filled)
        put("\(work) [\(bar)] \(percent)")
    }

    /// Removes the bar. Also call it before writing to standard output, which may be the same terminal.
    func hide() { StandardError.erase() }

    private func put(_ text: String) {
        if Progress.isTerminal { StandardError.draw(text) } else { StandardError.print(text) }
    }
}
