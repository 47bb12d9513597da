internal import ArgumentParser
internal import ByteText
internal import FoundationEssentials
internal import Glibc
internal import JSONCoding

/// `backup`: copies the store as it is at one moment, while a server continues to use it.
struct BackupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup", abstract: "Copies the stored sessions into a new file; a server may be running.",
        discussion: """
            `restore` makes a store of it. The file is written in a directory beside it, FILE.XXXXXX, which may be \
            removed if kill -9 has left it. A PostgreSQL database is backed up with PostgreSQL's own pg_dump or \
            pg_basebackup.
            """)

    @OptionGroup var settings: SettingOptions<Settings.OfStore>

    @Option(
        help: """
            Takes FILE as a directory, writes a new file sessions-TIME.sqlite in it, and removes the oldest ones, so \
            that this many are left.
            """)
    var keep: Int?

    @Argument(help: "The file to create. It must not exist yet.")
    var file: String

    func validate() throws {
        guard keep ?? 1 > 0 else { throw ValidationError("--keep takes a number from 1.") }
    }

    func run() throws {
        guard let copies = try settings.store.lasting.copies else {
            throw ValidationError(
                """
                `backup` copies a store in a file. Back up a PostgreSQL database with pg_dump, or its server with \
                pg_basebackup.
                """)
        }
        // Reaching the file's size limit then fails the write instead of ending the process.
        signal(SIGXFSZ, SIG_IGN)
        try DirectoryOwner.become(in: keep == nil ? Directory.parent(of: file) ?? "." : file)
        let store = try copies.store()
        let kept = try keep.map { try KeptBackups(in: self.file, count: $0) }
        let file = kept?.next() ?? self.file
        let count = try NewFile.make(file) { try store.copy(to: $0, for: file) }
        kept?.removeOld(but: file)
        copies.noteBackup()
        print("\(file): \(count) sessions")
    }
}

/// `restore`: makes a store of a backup.
struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore", abstract: "Makes a store of a backup: whole, or not at all.",
        discussion: """
            The backup is checked first: each of its pages and each session. The store's directory must be new, or \
            without sessions, and no server may run on it; it is created if it is missing. A store that has sessions \
            is never replaced: move its directory away. The exit code is 1 if the backup has damaged sessions: they \
            are restored, too, and servers refuse them.

            What was acknowledged after the backup is lost. Clients that have seen it get the restored states: no \
            entity tag from before the restore is that of a state after it.
            """)

    @OptionGroup var settings: SettingOptions<Settings.OfStore>

    @Argument(help: "A file that `backup` has written.")
    var file: String

    func run() async throws {
        guard let copies = try settings.store.lasting.copies else {
            throw ValidationError(
                "`restore` makes a store in a file. Restore a PostgreSQL database with its own tools.")
        }
        // Reaching the file's size limit then fails the write instead of ending the process.
        signal(SIGXFSZ, SIG_IGN)
        let backup = try copies.backup(file)
        let (count, damaged) = try await copies.restore(backup)
        let newest = backup.newestChange.map { ", the newest change of \($0.timestamp)" } ?? ""
        print("\(settings.store.location): \(count) sessions, damaged: \(damaged)\(newest)")
        if damaged > 0 { throw ExitCode(1) }
    }
}

/// The last backups of a store: files in a directory, named for their times. The directory is locked as long as this
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
        // No other backup is being made here, so a draft was left by kill -9 or a power failure.
        for draft in names(matching: KeptBackups.draft) where isDraft(draft) {
            try? FileManager.default.removeItem(atPath: draft)
        }
    }

    deinit { close(lock) }

    private static func unusable(_ directory: String, _ code: CInt) -> ExitCode {
        let reason = errno == EWOULDBLOCK ? "another backup is being made in it" : String.systemError()
        return .cannotStart(code, "\(directory) cannot be used: \(reason)")
    }

    private static var backup: Regex<Substring> { /sessions-[0-9]{8}T[0-9]{6}\.[0-9]{3}Z\.sqlite/ }
    private static var draft: Regex<Substring> { /sessions-[0-9]{8}T[0-9]{6}\.[0-9]{3}Z\.sqlite\.[0-9A-Za-z]{6}/ }

    /// Whether it is a directory that has nothing but a backup and SQLite's files beside it, see `NewFile`. Other files
    /// may have such names, too: `….sqlite.sha256`.
    private func isDraft(_ path: String) -> Bool {
        let backup = URL(filePath: path).deletingPathExtension().lastPathComponent
        // Fails if the path is not a directory.
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else { return false }
        return names.allSatisfy { $0.begins(with: backup) }
    }

    /// The path of a new backup.
    func next() -> String {
        let time = Date().timestampWithMilliseconds.substituting("-", with: "").substituting(":", with: "")
        return "\(directory)/sessions-\(time).sqlite"
    }

    /// Removes all but the last backups. Keeps `newest`, which has just been made, even if its time is not the latest
    /// because the clock was set back.
    func removeOld(but newest: String) {
        let others = names(matching: KeptBackups.backup).filter { $0 != newest }
        for old in others.dropLast(count - 1) {
            if unlink(old) != 0 {
                StandardError.print("Warning: \(old) cannot be removed: \(String.systemError())")
            }
        }
    }

    /// Paths, in the order of their names.
    private func names(matching pattern: Regex<Substring>) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return names.filter { $0.wholeMatch(of: pattern) != nil }.sorted().map { "\(directory)/\($0)" }
    }
}
