internal import ArgumentParser
internal import FoundationEssentials
internal import Glibc
internal import SQLiteStore
internal import Sessions

/// Copies of a store in a file: copying it into another file, and making it from such a copy.
///
/// Functions that throw an exit code have printed the reason to standard error.
struct StoreCopies {
    fileprivate let directory: String

    /// The store as it is now, whether a server uses it or not.
    func store() throws -> CopySource {
        try CopySource("\(directory)/sessions.sqlite", as: .backup, "backup", { .cannotRead(directory, $0) }) {
            try DirectoryOwner.act(in: directory) { try StoreSnapshot(directory: directory) }
        }
    }

    /// Remembers that a backup has been made, for the metrics of the server.
    func noteBackup() {
        let isNoted = try? DirectoryOwner.act(in: directory) { SQLiteStore.noteBackup(in: directory) }
        guard isNoted != true else { return }
        StandardError.print("Warning: \(directory) cannot be written: metrics do not show this backup")
    }

    /// A file that `backup` has written.
    func backup(_ file: String) throws -> CopySource {
        try CopySource(file, as: .store, "restore", { .cannotRestore(file, $0) }) {
            var info = stat()
            let isThere = stat(file, &info) == 0
            guard isThere || errno != ENOENT else { throw SQLiteStoreError.missing }
            guard !isThere || info.st_mode & S_IFMT == S_IFREG else { throw SQLiteStoreError.damaged("it is no file") }
            guard try StoreSnapshot.isBackup(file) else {
                throw SQLiteStoreError.damaged("it has not the form of a backup")
            }
            return try StoreSnapshot(file: file)
        }
    }

    /// Makes the store, unless there is one that has sessions or is in use.
    ///
    /// - Returns: how many sessions it has, and how many of them are damaged.
    func restore(_ backup: CopySource) async throws -> (count: Int, damaged: Int) {
        let vacancy = try DirectoryOwner.act(in: directory, newVacancy)
        defer { vacancy.close() }
        let damaged = try await backup.check()
        try DirectoryOwner.become(in: directory)
        let count = try NewFile.make(vacancy.file, replacing: vacancy.hasEmptyStore, in: vacancy.draft) {
            try backup.copy(to: $0, for: vacancy.file)
        }
        return (count, damaged)
    }

    private func newVacancy() throws -> StoreVacancy {
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

extension StoreChoice {
    /// `nil` for a store that is not in a file.
    var copies: StoreCopies? {
        if case .sqlite(let directory) = self { StoreCopies(directory: directory) } else { nil }
    }
}

/// A store in a file, or a backup, to be copied.
struct CopySource {
    private let path: String
    private let form: StoreSnapshot.CopyForm
    /// What copying is called, for `Progress`.
    private let work: String
    private let cannotRead: (SQLiteStoreError) -> ExitCode
    private let snapshot: StoreSnapshot

    fileprivate init(
        _ path: String, as form: StoreSnapshot.CopyForm, _ work: String,
        _ cannotRead: @escaping (SQLiteStoreError) -> ExitCode, open: () throws -> StoreSnapshot
    ) throws {
        (self.path, self.form, self.work, self.cannotRead) = (path, form, work, cannotRead)
        do { snapshot = try open() } catch let error as SQLiteStoreError { throw cannotRead(error) }
    }

    /// See `StoreSnapshot.newestChange`.
    var newestChange: Date? { snapshot.newestChange }

    /// Copies it into a new file, and shows the progress.
    ///
    /// - Parameters:
    ///   - draft: where the copy is made.
    ///   - file: where it belongs.
    /// - Returns: how many sessions the copy has. Counting reads the copy's journal, so that a copy which a server
    ///   would refuse fails before it gets its name.
    func copy(to draft: String, for file: String) throws -> Int {
        var progress = Progress(work)
        defer { progress.hide() }
        do throws(SQLiteStoreError) {
            try snapshot.copy(to: draft, as: form) { progress.show($0, of: $1) }
            return try StoreSnapshot(file: draft).page(after: nil).total
        } catch .unavailable(let reason) {
            // The source was sound when it was opened, so writing the copy has failed.
            throw ExitCode.cannotStart(EX_IOERR, "\(file) cannot be written: \(reason)")
        } catch {
            throw cannotRead(error)
        }
    }

    /// Reads every page and every session.
    ///
    /// - Returns: how many sessions are damaged; they are reported on standard error.
    fileprivate func check() async throws -> Int {
        var progress = Progress("\(work), check of pages")
        if let page = snapshot.damagedPages({ progress.show($0, of: $1) }).first {
            throw cannotRead(.damaged("page \(page)"))
        }
        var damaged = 0
        do {
            let isWhole = try await snapshot.scan(
                .answers, "\(work), check of sessions", another: { try StoreSnapshot(file: path) }
            ) {
                $1.damage
            } each: { _ in
                damaged += 1
            }
            guard isWhole else { throw SQLiteStoreError.damaged("sessions may be missing") }
        } catch let error as SQLiteStoreError {
            throw cannotRead(error)
        }
        return damaged
    }
}

extension ExitCode {
    /// A backup cannot be read: prints to standard error what is wrong with it.
    fileprivate static func cannotRestore(_ file: String, _ error: SQLiteStoreError) -> ExitCode {
        let reason: String
        switch error {
        case .missing: return cannotStart(EX_NOINPUT, "there is no file \(file)")
        case .inUse: return cannotStart(EX_IOERR, "\(file) cannot be read: it is in use by another process")
        case .unavailable(let reason): return cannotStart(EX_IOERR, "\(file) cannot be read: \(reason)")
        case .newer(let schema): reason = "it was written by a newer build, with schema \(schema)"
        case .damaged(let what): reason = "it is damaged: \(what)"
        case .incomplete(let what): reason = what
        }
        return cannotStart(EX_DATAERR, "\(file) cannot be restored: \(reason); nothing was changed")
    }
}
