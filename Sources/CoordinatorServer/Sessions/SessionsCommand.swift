internal import ArgumentParser
internal import FoundationEssentials
internal import Glibc
internal import Sessions
internal import Synchronization

/// `sessions`: shows, exports, imports, restores and removes stored sessions.
struct SessionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sessions",
        abstract: "Lists, shows, exports, imports, restores, ends and purges stored sessions.",
        subcommands: [
            List.self, Show.self, Export.self, SessionsImportCommand.self, SessionsRestoreCommand.self,
            SessionsEndCommand.self, SessionsPurgeCommand.self,
        ])

    /// One line for each session.
    struct List: AsyncParsableCommand, SettingsCommand {
        static let settings = storeSettings
        static let configuration = CommandConfiguration(
            abstract: "Lists the sessions, one per line.",
            discussion: """
                The columns: id, app, version, the time and the event of that version, and when the session expires. \
                Damaged sessions are marked, and reported on standard error; the exit code is then 1.
                """)
        @OptionGroup var stored: StoredOptions
        @Option(help: "Only those that this user is signed in to.") var user: String?

        func run() async throws {
            let reader = try stored.reader()
            let ids = try user.map(reader.sessions(ofUser:))
            if ids == [] { return }
            let isWhole = try await reader.forEach(ids, reader.loaded, damaged: { print("\($0.text) damaged") }) {
                _, session in
                guard let record = session?.record, user == nil || record.identity.user == user else { return }
                print(record.line.printable)
            }
            guard isWhole else { throw ExitCode(1) }
        }
    }

    /// All versions of a session that are kept.
    struct Show: AsyncParsableCommand, SettingsCommand {
        static let settings = storeSettings
        static let configuration = CommandConfiguration(
            abstract: "Shows a session: its versions, and the record of the last one.",
            discussion: "The exit code is 1 if the session is damaged or does not exist.")
        @OptionGroup var stored: StoredOptions
        @Argument(help: "The session's id.", transform: SessionID.parse) var id: SessionID

        func run() async throws {
            let reader = try stored.reader()
            var versions: [SessionRecord] = []
            let isWhole = try await reader.forEach([id], reader.contents) { _, session in
                versions = session?.versions ?? []
            }
            guard isWhole else { throw ExitCode(1) }
            guard let last = versions.last else {
                throw ExitCode.cannotStart(1, "there is no session \(id.text)")
            }
            for record in versions { print(record.line.printable) }
            print(String(decoding: last.encoded.text, as: UTF8.self).printable)
        }
    }

    /// Every record and every answer.
    struct Export: AsyncParsableCommand, SettingsCommand {
        static let settings = storeSettings
        static let configuration = CommandConfiguration(
            abstract: "Writes sessions as JSON lines to standard output: their versions and kept answers.",
            discussion: """
                A session is written whole or not at all. Damaged sessions are left out, and reported on standard \
                error; the exit code is then 1.
                """)
        @OptionGroup var stored: StoredOptions
        @Flag(
            help: """
                Writes first the store's secret, from which the tokens of sessions that are created with an \
                Idempotency-Key are derived: for a move to another store. Keep such an export as a password is kept.
                """)
        var withSecret = false
        @Argument(help: "The sessions' ids; without any, all sessions.", transform: SessionID.parse) var ids:
            [SessionID] = []

        func run() async throws {
            let reader = try stored.reader()
            if withSecret { print(String(decoding: try reader.secret().encoded, as: UTF8.self)) }
            var unknown: [SessionID] = []
            var progress = Progress("export")
            let isWhole = try await reader.forEach(
                ids.isEmpty ? nil : ids, reader.contents, progress: { progress.show($0, of: $1) }
            ) { id, session in
                guard let session else { return unknown.append(id) }
                StandardError.erase()
                let texts = session.versions.map(\.encoded.text) + session.answers.map(\.encoded)
                for text in texts { print(String(decoding: text, as: UTF8.self)) }
            }
            progress.hide()
            // Without ids as arguments, a session may have been removed since it was listed.
            if ids.isEmpty { unknown = [] }
            for id in unknown { StandardError.print("Error: there is no session \(id.text)") }
            guard isWhole, unknown.isEmpty else { throw ExitCode(1) }
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
    func isOver(at now: Date) -> Bool {
        expiresAt.map { $0 <= now } ?? true
    }

    /// Id, app, version, the version's time and event, and when the session expires.
    fileprivate var line: String {
        let end = expiresAt.map { "\($0 <= Date() ? "expired" : "expires") \($0.formatted(.iso8601))" } ?? "ended"
        return "\(id.text) \(identity.app) \(version) \(time.formatted(.iso8601)) \(event ?? "-") \(end)"
    }
}

/// Reads many stored sessions, on several threads, while a server may be running.
struct SessionScan {
    private let workers: [Worker]
    /// Sessions that one thread reads in one snapshot.
    private static let batch = 512

    /// A reader is used by one thread at a time.
    private final class Worker: Sendable {
        let reader: Mutex<any StoreReading>

        init(_ reader: sending any StoreReading) {
            self.reader = Mutex(reader)
        }
    }

    /// - Parameter reader: makes a reader of the store; called for each thread.
    init(reader: () throws -> sending any StoreReading) throws {
        let threads = min(max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1), 16)
        workers = try (0..<threads).map { _ in Worker(try reader()) }
    }

    /// - Parameters:
    ///   - withPast: whether all versions of a session have to be readable, not only the last one.
    ///   - convert: called for each session, on several threads.
    ///   - each: called with the results in order, those that are `nil` left out, and how many sessions are done.
    func forEach<Value: Sendable>(
        _ ids: [SessionID], withPast: Bool,
        _ convert: @escaping @Sendable (SessionID, Result<SessionRecord?, SessionDamage>) -> Value?,
        each: ([Value], _ done: Int) -> Void
    ) async throws {
        var done = 0
        while done < ids.count {
            let batches = workers.indices.map { index in
                ids[min(done + index * SessionScan.batch, ids.count)...].prefix(SessionScan.batch)
            }
            try await withThrowingTaskGroup(of: (Int, [Value]).self) { group in
                for (index, batch) in batches.enumerated() where !batch.isEmpty {
                    let worker = workers[index]
                    group.addTask {
                        try worker.reader.withLock { reader in
                            (index, try reader.checked(batch, withPast: withPast).compactMap(convert))
                        }
                    }
                }
                var results: [[Value]] = batches.map { _ in [] }
                for try await (index, values) in group { results[index] = values }
                done += batches.reduce(0) { $0 + $1.count }
                each(results.flatMap(\.self), done)
            }
        }
    }
}
