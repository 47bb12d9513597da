internal import Glibc
internal import SQLite
internal import Sessions

/// Rebuilds a store from its journal, because what is derived from the journal is damaged. The new file replaces the old one in one step. After a crash before that step, the old one is as good as
/// before: at most its log was copied into it, and damaged interior pages were rewritten.
struct StoreRebuild {
    private let directory: StoreDirectory
    private let retention: Retention
    private let report: @Sendable (String) -> Void
    private let source: OldJournal
    private let draft: StoreDraft
    private let target: JournalWriter
    private let tail = SharedTail(Tail())
    /// The sessions that damaged rows name, as far as they can be read; after `findLosses`, those that have lost
    /// something.
    private var suspects: Set<String> = []

    /// Rebuilds the store if it was found damaged.
    static func rebuildIfNeeded(
        _ directory: StoreDirectory, _ retention: Retention, _ report: @escaping @Sendable (String) -> Void
    ) throws(SQLiteStoreError) {
        guard try isPossible(directory) else { return }
        if access(directory.marker, F_OK) == 0 {
            try rebuild(directory, retention, because: "it was found damaged", report)
        } else if let page = damagedInteriorPage(of: directory) {
            let reason = "page \(page), which only points to other pages, is damaged"
            try rebuild(directory, retention, because: reason, report)
        }
    }

    /// A damaged interior page, which hides every page below it; `nil` if there is a log, which may have the page
    /// intact.
    private static func damagedInteriorPage(of directory: StoreDirectory) -> Int? {
        guard !directory.hasLog else { return nil }
        return directory.withDatabase { PageTree($0)?.damaged.first } ?? nil
    }

    /// Repairs damaged interior pages, so that they hide no rows of the journal.
    private static func repairTree(_ directory: StoreDirectory) {
        do throws(SQLiteError) {
            let database = try SQLiteDatabase(path: directory.database, isGuarded: true)
            database.setLogKept(true)
            // SQLite finds a log only when it reads.
            _ = try database.integer("PRAGMA user_version")
            try database.checkpoint(isRestarted: true)
        } catch {
            return
        }
        directory.withDatabase { PageTree($0)?.repair() }
    }

    /// Whether there is a journal of this schema.
    static func isPossible(_ directory: StoreDirectory) throws(SQLiteStoreError) -> Bool {
        do throws(SQLiteError) {
            // Read-only, because otherwise the log might be copied into the file.
            return try SQLiteDatabase(path: directory.database, isReadOnly: true, isGuarded: true)
                .integer("PRAGMA user_version") == Schema.version
        } catch {
            throw SQLiteStoreError(error)
        }
    }

    /// - Throws: `damaged`, if it is unknown what is lost; then the store is as good as before.
    static func rebuild(
        _ directory: StoreDirectory, _ retention: Retention, because reason: String,
        _ report: @escaping @Sendable (String) -> Void
    ) throws(SQLiteStoreError) {
        report("rebuilding \(directory.database) from its journal, because \(reason)")
        // Until it is done: a repaired tree, or a log that was copied into the file, would not show that it has to be.
        StoreDirectory.touch(directory.marker)
        try directory.flush()
        // The new file may be as large as the old one, which stays if this fails.
        defer { directory.removeDraft() }
        repairTree(directory)
        let draft = try StoreDraft(in: directory)
        var rebuild: StoreRebuild
        let isDamaged: Bool
        do throws(SQLiteError) {
            rebuild = try StoreRebuild(directory, draft, retention, report)
            isDamaged = try rebuild.copy()
        } catch {
            throw SQLiteStoreError(error)
        }
        try rebuild.finish(keepingOld: isDamaged)
    }

    private init(
        _ directory: StoreDirectory, _ draft: StoreDraft, _ retention: Retention,
        _ report: @escaping @Sendable (String) -> Void
    ) throws(SQLiteError) {
        self.directory = directory
        self.draft = draft
        self.retention = retention
        self.report = report
        source = try OldJournal(directory.database, secretCopy: directory.secretCopy)
        try JournalWriter.create(draft.database, secret: source.secret)
        do throws(SQLiteStoreError) {
            target = try JournalWriter(path: draft.database, durability: .relaxed, retention: retention) { _ in }
        } catch {
            throw SQLiteError(code: 0, message: "\(draft.database) cannot be opened: \(error)")
        }
        try target.statements.set(StoredValue.generation, source.generation)
    }

    /// Rows that are written in one transaction, and their bytes.
    private static let (batchSize, batchBytes) = (4096, 8 << 20)

    /// - Returns: whether the old file is damaged.
    private mutating func copy() throws(SQLiteError) -> Bool {
        let dropped = source.dropped
        let known = try source.damagedSessions()
        var progress = OpeningProgress("rebuilding", last: source.last, report)
        while let (rows, unsound) = try source.next(StoreRebuild.batchSize, bytes: StoreRebuild.batchBytes) {
            suspects.formUnion(unsound)
            try changing { target throws(SQLiteError) in
                for (seq, row) in rows where !dropped.contains(seq) {
                    guard let id = SessionID(row.session) else { continue }
                    try target.adopt(row, at: seq, of: id, tail)
                }
            }
            progress.show(source.seq)
            if tail.withLock({ $0.recentCount >= JournalWriter.compactionRows }) {
                try compact()
            }
        }
        try compact()
        if source.isDamaged { try findLosses() }
        suspects.formUnion(known)
        try markDamagedSessions()
        return source.isDamaged
    }

    /// Finds the sessions that lack something that the old tables point to, or that their last version needs.
    ///
    /// The new store alone does not show this: it also lacks rows that the old store's uncompacted tail has replaced.
    private mutating func findLosses() throws(SQLiteError) {
        let reader = try JournalReader(path: draft.database, retention: retention)
        // The session that a damaged row names may be wrong as well: only sessions in the table count.
        let lacking = suspects.union(try source.sessionsWithLostAnswers())
        suspects = []
        for (id, version, hasLosses) in try source.lastVersions() {
            do throws(ReadError) {
                let found = try SessionID(id).flatMap { id throws(ReadError) in try reader.load(id, token: nil, []) }
                guard let last = found?.record.wanted.first, last.version >= version else { throw .damaged("") }
                // A session that has ended needs nothing else.
                if last.kind != .end, hasLosses || lacking.contains(id) { suspects.insert(id) }
            } catch {
                suspects.insert(id)
            }
        }
    }

    private func markDamagedSessions() throws(SQLiteError) {
        try changing { target throws(SQLiteError) in
            for id in suspects {
                try target.statements.addDamage(
                    "part of what was acknowledged was lost when the disk was damaged", of: id)
            }
            try target.statements.countDamages()
        }
        for id in suspects.sorted() { report("session \(id) is damaged, and refused from now on") }
    }

    private func compact() throws(SQLiteError) {
        try writing { target throws(CommitFailure) in try target.compactAll(tail) }
    }

    private func changing(_ work: (JournalWriter) throws(SQLiteError) -> Void) throws(SQLiteError) {
        try writing { target throws(CommitFailure) in
            try target.transaction(tail) { () throws(SQLiteError) in try work(target) }
        }
    }

    /// Does the work, and copies the log into the file now and then. Otherwise the log would grow as large as the file.
    private func writing(_ work: (JournalWriter) throws(CommitFailure) -> Void) throws(SQLiteError) {
        do throws(CommitFailure) {
            try work(target)
            try target.checkpoint(from: JournalWriter.restartedLogLimit, nil)
        } catch {
            throw SQLiteError(code: 0, message: "\(error)")
        }
    }

    /// Replaces the old file with the new one.
    ///
    /// - Parameter isKept: whether the old file stays, as `sessions.sqlite.damaged`, so that more may be recovered from
    ///   it.
    private consuming func finish(keepingOld isKept: Bool) throws(SQLiteStoreError) {
        // Both files must be complete without a log: SQLite would apply the old one to the new file.
        source.close()
        do throws(SQLiteError) {
            try target.database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        } catch {
            throw SQLiteStoreError(error)
        }
        for log in [draft.database + "-wal", directory.log] where !StoreRebuild.isEmpty(log) {
            throw .unavailable(reason: "\(log) cannot be copied into its database")
        }
        unlink(directory.log)
        let old = directory.database + ".damaged"
        if isKept {
            unlink(old)
            guard link(directory.database, old) == 0 else { throw .system("\(old) cannot be created") }
        }
        try draft.place()
        unlink(directory.database + "-shm")
        unlink(directory.marker)
        try directory.flush()
        try directory.openDatabase()
        report("rebuilt \(directory.database)\(isKept ? "; the damaged one is kept as \(old)" : "")")
    }

    private static func isEmpty(_ path: String) -> Bool {
        var info = stat()
        return stat(path, &info) != 0 || info.st_size == 0
    }
}
