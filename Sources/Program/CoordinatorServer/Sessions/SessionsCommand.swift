internal import ArgumentParser
internal import Coordinators
internal import FoundationEssentials
internal import Glibc
internal import JSONCoding
internal import Sessions

/// `sessions`: shows, exports, imports, restores and removes stored sessions.
struct SessionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sessions",
        abstract: "Lists, shows, exports, imports, restores, ends and purges stored sessions.",
        subcommands: [
            List.self, Show.self, Export.self, SessionsImportCommand.self, SessionsRestoreCommand.self,
            SessionsEndCommand.self, SessionsPurgeCommand.self, ResetClock.self,
        ])

    /// Gets a store out of the future.
    struct ResetClock: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "reset-clock", abstract: "Forgets a later time than this machine's that the store has had.",
            discussion: """
                For a store that was used while the clock was far ahead: its time goes on from there, so no session can \
                be created. Set the clock of the machine first. No server may run on the store. Sessions that have \
                expired meanwhile, and are still kept, live again; those that were made then expire when their records \
                say: `sessions list` has the times.
                """)
        @OptionGroup var settings: SettingOptions<Settings.OfStore>

        func run() async throws {
            let now = Date()
            let isReset = try await settings.store.write { store in
                do throws(StoreError) { return try await store.reset(clock: now) } catch {
                    throw ExitCode.cannotStart(EX_IOERR, "the time cannot be written: \(error)")
                }
            }
            guard isReset else { throw ExitCode.cannotStart(EX_USAGE, "a shared store has the time of its database") }
            print("the time is \(now.timestamp)")
        }
    }

    /// One line for each session.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists the sessions, one per line.",
            discussion: """
                The columns: id, app, version, the time and the event of that version, and when the session expires. \
                What was no event is marked: effect:NAME, timer:NAME or signal:NAME. \
                Damaged sessions are marked, and reported on standard error; the exit code is then 1.
                """)
        @OptionGroup var settings: SettingOptions<Settings.OfStore>
        @Option(help: "Only those that this user is signed in to.") var user: String?

        func run() async throws {
            let isWhole = try await settings.store.read { reader in
                let ids = try user.map(reader.sessions(ofUser:))
                if ids == [] { return true }
                return try await reader.forEach(
                    ids, reader.lastVersions, damaged: { print("\($0.text) damaged") }
                ) { _, session in
                    guard let record = session?.record, user == nil || record.identity.user == user else { return }
                    print(record.line.printable)
                }
            }
            guard isWhole else { throw ExitCode(1) }
        }
    }

    /// All versions of a session that are kept.
    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows a session: its versions, what it waits for, and the record of the last version.",
            discussion: "The exit code is 1 if the session is damaged or does not exist.")
        @OptionGroup var settings: SettingOptions<Settings.OfStore>
        @Argument(help: "The session's id.", transform: SessionID.parse) var id: SessionID

        func run() async throws {
            var versions: [SessionRecord] = []
            let isWhole = try await settings.store.read { reader in
                try await reader.forEach([id], reader.contents) { versions = $1?.versions ?? [] }
            }
            guard isWhole else { throw ExitCode(1) }
            guard let last = versions.last else {
                throw ExitCode.cannotStart(1, "there is no session \(id.text)")
            }
            for record in versions { print(record.line.printable) }
            for (work, coordinator) in last.work { print(work.line(of: coordinator).printable) }
            print(String(decoding: last.encoded.text, as: UTF8.self).printable)
        }
    }

    /// Every record and every answer.
    struct Export: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Writes sessions as JSON lines to standard output: their versions and kept answers.",
            discussion: """
                A session is written whole or not at all. Damaged sessions are left out, and reported on standard \
                error; the exit code is then 1.
                """)
        @OptionGroup var settings: SettingOptions<Settings.OfStore>
        @Flag(
            help: """
                Writes first the store's secret, from which the tokens of sessions that are created with an \
                Idempotency-Key are derived: for a move to another store. Keep such an export as a password is kept.
                """)
        var withSecret = false
        @Argument(help: "The sessions' ids; without any, all sessions.", transform: SessionID.parse) var ids:
            [SessionID] = []

        func run() async throws {
            var unknown: [SessionID] = []
            let isWhole = try await settings.store.read { reader in
                if withSecret { print(String(decoding: try reader.secret().encoded, as: UTF8.self)) }
                var progress = Progress("export")
                defer { progress.hide() }
                return try await reader.forEach(
                    ids.isEmpty ? nil : ids, reader.contents, progress: { progress.show($0, of: $1) }
                ) { id, session in
                    guard let session else { return unknown.append(id) }
                    progress.hide()
                    let texts = session.versions.map(\.encoded.text) + session.answers.map(\.encoded)
                    for text in texts { print(String(decoding: text, as: UTF8.self)) }
                }
            }
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
        let end = expiresAt.map { "\($0 <= Date() ? "expired" : "expires") \($0.timestamp)" } ?? "ended"
        let cause = note?.cause.flatMap { $0 == Transition.Cause.event.rawValue ? nil : $0 + ":" } ?? ""
        return "\(id.text) \(identity.app) \(version) \(time.timestamp) \(cause)\(event ?? "-") \(end)"
    }
}

extension PendingWork {
    /// What is under way and since when, or what a timer sends and when.
    fileprivate func line(of coordinator: String) -> String {
        let what =
            if let cleanUp, let since {
                "clean-up (\(cleanUp.reason.rawValue)) since \(since.timestamp)"
            } else if let effect, let since {
                "effect \(effect) since \(since.timestamp)"
            } else {
                "timer \(signal ?? "?") due \(due?.timestamp ?? "?")\(waitsForIdleness ? ", if the user does nothing" : "")"
            }
        return "pending: \(id) of \(coordinator), \(what)"
    }
}
