internal import ArgumentParser
internal import FoundationEssentials
internal import Glibc
internal import SQLiteStore
internal import Sessions

/// `sessions`: looks at the stored sessions, takes them elsewhere, removes them.
struct SessionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sessions", abstract: "Lists, shows, exports, imports and purges stored sessions.",
        subcommands: [List.self, Show.self, Export.self, Import.self, Purge.self])

    /// One line for each session.
    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists the sessions, one a line.",
            discussion: "Those that are damaged are marked, and named on standard error; then the exit code is 1.")
        @OptionGroup var stored: StoredOptions

        func run() throws {
            let snapshot = try stored.snapshot()
            let isWhole = try stored.forEach(
                in: snapshot, damaged: { print("\($0.text) damaged") },
                { id throws(SQLiteStoreError) in
                    if let record = try snapshot.load(id) { print(record.line.printable) }
                })
            guard isWhole else { throw ExitCode(1) }
        }
    }

    /// All versions of a session that are kept.
    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows a session: its versions, and the record of the last one.",
            discussion: "The exit code is 1 where it is damaged, or there is none.")
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
            print(String(decoding: last.text, as: UTF8.self).printable)
        }
    }

    /// Every record and every answer.
    struct Export: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Writes sessions as JSON lines to standard output: their versions and kept answers.",
            discussion: """
                A session is written whole or not at all. Those that are damaged are left out, and named on standard error; \
                then the exit code is 1.
                """)
        @OptionGroup var stored: StoredOptions
        @Argument(help: "The sessions' ids; all where there are none.", transform: SessionID.parse) var ids:
            [SessionID] = []

        func run() throws {
            let snapshot = try stored.snapshot()
            var unknown: [SessionID] = []
            let isWhole = try stored.forEach(
                ids, in: snapshot,
                { id throws(SQLiteStoreError) in
                    let texts = try snapshot.versions(of: id).map(\.text) + snapshot.answers(of: id).map(\.text)
                    for text in texts { print(String(decoding: text, as: UTF8.self)) }
                    if texts.isEmpty { unknown.append(id) }
                })
            // Of those that nobody has named, some may have been forgotten meanwhile.
            if ids.isEmpty { unknown = [] }
            for id in unknown { StandardError.print("Error: there is no session \(id.text)") }
            guard isWhole, unknown.isEmpty else { throw ExitCode(1) }
        }
    }

    /// What was exported.
    struct Import: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Reads sessions as JSON lines from standard input.",
            discussion:
                """
                The store is made where it is missing; no server may run on it. A session that is there already stays as it \
                is; then the exit code is 1.
                """
        )
        @OptionGroup var stored: StoredOptions

        func run() async throws {
            let store = try stored.open()
            let importing = SessionImport(into: store, known: try stored.sessions())
            var number = 0
            while let line = readLine() {
                number += 1
                do {
                    try await importing.take(Array(line.utf8))
                } catch {
                    await store.close()
                    throw ExitCode.cannotStart(EX_DATAERR, "line \(number): \(error)")
                }
            }
            try await importing.finish()
            await store.close()
            print("imported: \(importing.imported), there already: \(importing.skipped)")
            if importing.skipped > 0 { throw ExitCode(1) }
        }
    }

    /// Gone for good.
    struct Purge: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Forgets sessions: those that are named, or all that have ended or expired.",
            discussion: """
                No server may run on the store. Damaged sessions go when they are named; with --over they are named on \
                standard error, and stay. The exit code is 1 where a session was not there, or stays.
                """)
        @OptionGroup var stored: StoredOptions
        @Flag(help: "All that have ended or expired.") var over = false
        @Argument(help: "The sessions' ids.", transform: SessionID.parse) var ids: [SessionID] = []

        func validate() throws {
            guard over != !ids.isEmpty else { throw ValidationError("Name sessions, or say --over.") }
        }

        func run() async throws {
            var (rest, isWhole) = over ? try sessionsThatAreOver() : (ids, true)
            var purged = 0
            for isLast in [false, true] {
                let store = try stored.openExisting()
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
                // A store whose damage was in the way is rebuilt when it is opened again.
                if rest.isEmpty { break }
            }
            print("purged: \(purged)")
            guard isWhole, rest.isEmpty else { throw ExitCode(1) }
        }

        /// What is damaged is left where it is: nobody can tell whether its time is over.
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
    fileprivate static func parse(_ argument: String) throws -> SessionID {
        guard let id = SessionID(argument) else { throw ValidationError("“\(argument)” is no session's id.") }
        return id
    }
}

extension SessionRecord {
    fileprivate func isOver(at now: Date) -> Bool {
        expiresAt.map { $0 <= now } ?? true
    }

    /// Id, app, version, when it was made, what led to it, until when it lives.
    fileprivate var line: String {
        let end = expiresAt.map { "expires \($0.formatted(.iso8601))" } ?? "ended"
        return "\(id.text) \(identity.app) \(version) \(time.formatted(.iso8601)) \(event ?? "-") \(end)"
    }
}
