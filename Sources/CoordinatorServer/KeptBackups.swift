internal import ArgumentParser
internal import ByteText
internal import FoundationEssentials
internal import Glibc

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
