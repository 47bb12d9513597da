internal import ArgumentParser
internal import FoundationEssentials
internal import Glibc
internal import SQLiteStore
internal import Sessions

/// `sessions`: shows, exports, imports, restores and removes stored sessions.
struct SessionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sessions",
        abstract: "Lists, shows, exports, imports, restores, ends and purges stored sessions.",
        subcommands: [
            List.self, Show.self, Export.self, Import.self, Restore.self, SessionsEndCommand.self, Purge.self,
        ])

    /// One line for each session.
    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists the sessions, one per line.",
            discussion: """
                The columns: id, app, version, the time and the event of that version, and when the session expires. \
                Damaged sessions are marked, and reported on standard error; the exit code is then 1.
                """)
        @OptionGroup var stored: StoredOptions
        @Option(help: "Only those that this user is signed in to.") var user: String?

        func run() throws {
            let snapshot = try stored.snapshot()
            let ids = try user.map { user in try stored.sessions(ofUser: user, in: snapshot) }
            if ids == [] { return }
            let isWhole = try stored.forEach(
                ids ?? [], in: snapshot, damaged: { print("\($0.text) damaged") },
                { id throws(SQLiteStoreError) in
                    guard let record = try snapshot.load(id), user == nil || record.identity.user == user else {
                        return
                    }
                    print(record.line.printable)
                })
            guard isWhole else { throw ExitCode(1) }
        }
    }

    /// All versions of a session that are kept.
    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows a session: its versions, and the record of the last one.",
            discussion: "The exit code is 1 if the session is damaged or does not exist.")
        @OptionGroup var stored: StoredOptions
        @Argument(help: "The session's id.", transform: SessionID.parse) var id: SessionID

        func run() throws {
            let snapshot = try stored.snapshot()
            var versions: [SessionRecord] = []
            let isWhole = try stored.forEach(
                [id], in: snapshot, { id throws(SQLiteStoreError) in versions = try snapshot.versions(of: id) })
            guard isWhole else { throw ExitCode(1) }
            guard let last = versions.last else {
                throw ExitCode.cannotStart(1, "there is no session \(id.text)")
            }
            for record in versions { print(record.line.printable) }
            print(String(decoding: last.encoded.text, as: UTF8.self).printable)
        }
    }

    /// Every record and every answer.
    struct Export: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Writes sessions as JSON lines to standard output: their versions and kept answers.",
            discussion: """
                A session is written whole or not at all. Damaged sessions are left out, and reported on standard \
                error; the exit code is then 1.
                """)
        @OptionGroup var stored: StoredOptions
        @Argument(help: "The sessions' ids; without any, all sessions.", transform: SessionID.parse) var ids:
            [SessionID] = []

        func run() throws {
            let snapshot = try stored.snapshot()
            var unknown: [SessionID] = []
            let isWhole = try stored.forEach(
                ids, in: snapshot,
                { id throws(SQLiteStoreError) in
                    let records = try snapshot.versions(of: id).map(\.encoded.text)
                    let texts = records + (try snapshot.answers(of: id).map(\.encoded))
                    for text in texts { print(String(decoding: text, as: UTF8.self)) }
                    if texts.isEmpty { unknown.append(id) }
                })
            // Without ids as arguments, a session may have been removed since it was listed.
            if ids.isEmpty { unknown = [] }
            for id in unknown { StandardError.print("Error: there is no session \(id.text)") }
            guard isWhole, unknown.isEmpty else { throw ExitCode(1) }
        }
    }

    /// Reads what `export` wrote.
    struct Import: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Reads sessions as JSON lines from standard input.",
            discussion:
                """
                The store is created if it does not exist; no server may run on it. A session that exists already \
                stays as it is; the exit code is then 1. A line that cannot be imported ends the import, and the error \
                says how many sessions before it were imported. Each session is imported whole or not at all.
                """
        )
        @OptionGroup var stored: StoredOptions

        func run() async throws {
            let importing = SessionImport { (try stored.open(), try stored.sessions()) }
            var number = 0
            do {
                while let line = readLine() {
                    number += 1
                    try await importing.take(Array(line.utf8))
                }
                try await importing.finish()
            } catch {
                await importing.close()
                if let code = error as? ExitCode { throw code }
                let count = importing.imported
                let rest = count == 0 ? "nothing was imported" : "sessions imported before it: \(count)"
                throw ExitCode.cannotStart(EX_DATAERR, "line \(number): \(error); \(rest)")
            }
            await importing.close()
            print("imported: \(importing.imported), existed already: \(importing.skipped)")
            if importing.skipped > 0 { throw ExitCode(1) }
        }
    }

    /// Returns a session to one of its versions.
    struct Restore: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Returns a session to an earlier version, as its next version.",
            discussion: """
                For a session that a build has relaunched or reduced and that should be as it was before: with a build \
                that can restore that version. `sessions show` lists the versions. No server may run on the store. \
                Versions from before the session's token was replaced, at a sign-in or a sign-out, stay sealed.
                """)
        @OptionGroup var stored: StoredOptions
        @Argument(help: "The session's id.", transform: SessionID.parse) var id: SessionID
        @Argument(help: "The version to return to.") var version: Int

        func run() async throws {
            let store = try stored.openExisting { StandardError.print($0) }
            do {
                let restored = try await restore(try stored.snapshot(), store)
                await store.close()
                print("\(id.text): version \(restored) is as version \(version) was")
            } catch {
                await store.close()
                throw error
            }
        }

        private func restore(_ snapshot: StoreSnapshot, _ store: SQLiteStore) async throws -> Int {
            let versions = try stored.reading { () throws(SQLiteStoreError) in try snapshot.versions(of: id) }
            guard let last = versions.last else { throw ExitCode.cannotStart(1, "there is no session \(id.text)") }
            let record: EncodedRecord
            do throws(ReturnError) {
                guard let past = versions.first(where: { $0.version == version }) else { throw .unknownVersion }
                record = try last.returning(to: past, at: Date())
            } catch {
                throw ExitCode.cannotStart(1, reason(error, versions))
            }
            let change = SessionChange(id: id, expected: SessionStamp(version: last.version), record: record)
            if case .success(let conflicts) = await store.commit([change]), conflicts.isEmpty { return record.version }
            throw ExitCode.cannotStart(EX_IOERR, "the version cannot be written")
        }

        private func reason(_ error: ReturnError, _ versions: [SessionRecord]) -> String {
            switch error {
            case .over: "session \(id.text) has ended or expired"
            case .unknownVersion:
                """
                session \(id.text) has no earlier version \(version); kept are \(versions.first?.version ?? 1) to \
                \(versions.last?.version ?? 1)
                """
            case .sealed: "version \(version) was made before the session's token was replaced, and stays sealed"
            }
        }
    }

    /// Removes sessions for good.
    struct Purge: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Removes sessions: those that are named, or all that have ended or expired.",
            discussion: """
                No server may run on the store. Damaged sessions are removed if they are named; with --over they \
                stay, and are reported on standard error. The exit code is 1 if a session does not exist, or stays.
                """)
        @OptionGroup var stored: StoredOptions
        @Flag(help: "All that have ended or expired.") var over = false
        @Argument(help: "The sessions' ids.", transform: SessionID.parse) var ids: [SessionID] = []

        func validate() throws {
            if over, !ids.isEmpty { throw ValidationError("Give either session ids or --over, not both.") }
            if !over, ids.isEmpty { throw ValidationError("Name sessions, or give --over.") }
        }

        func run() async throws {
            var (rest, isWhole) = over ? try sessionsThatAreOver() : (ids, true)
            var purged = 0
            let named = ids.map(\.text)
            for isLast in [false, true] {
                // What is wrong with the named sessions does not matter any more.
                let store = try stored.openExisting { report in
                    if !named.contains(where: { report.contains($0) }) { StandardError.print(report) }
                }
                var failed: [SessionID] = []
                for id in rest {
                    do {
                        if try await store.forget(id) {
                            purged += 1
                        } else {
                            StandardError.print("Error: there is no session \(id.text)")
                            isWhole = false
                        }
                    } catch {
                        failed.append(id)
                        if isLast { StandardError.print("Error: session \(id.text) cannot be purged: \(error)") }
                    }
                }
                await store.close()
                rest = failed
                // If damage was in the way, the store is rebuilt when it is opened again.
                if rest.isEmpty { break }
            }
            print("purged: \(purged)")
            guard isWhole, rest.isEmpty else { throw ExitCode(1) }
        }

        /// Without the damaged sessions: it is not known whether those have expired.
        private func sessionsThatAreOver() throws -> ([SessionID], isWhole: Bool) {
            let snapshot = try stored.snapshot()
            var over: [SessionID] = []
            let isWhole = try stored.forEach(
                in: snapshot,
                { id throws(SQLiteStoreError) in
                    if try snapshot.load(id)?.isOver(at: Date()) == true { over.append(id) }
                })
            return (over, isWhole)
        }
    }
}

extension SessionID {
    static func parse(_ argument: String) throws -> SessionID {
        guard let id = SessionID(argument) else {
            throw ValidationError(
                """
                “\(argument)” is not a session's id. An id is s_ and 13 characters; `sessions list` shows them.
                """)
        }
        return id
    }
}

extension SessionRecord {
    fileprivate func isOver(at now: Date) -> Bool {
        expiresAt.map { $0 <= now } ?? true
    }

    /// Id, app, version, the version's time and event, and when the session expires.
    fileprivate var line: String {
        let end = expiresAt.map { "\($0 <= Date() ? "expired" : "expires") \($0.formatted(.iso8601))" } ?? "ended"
        return "\(id.text) \(identity.app) \(version) \(time.formatted(.iso8601)) \(event ?? "-") \(end)"
    }
}
