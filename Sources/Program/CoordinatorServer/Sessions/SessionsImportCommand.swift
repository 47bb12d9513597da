internal import ArgumentParser
internal import FoundationEssentials
internal import Glibc
internal import JSONCoding
internal import Sessions

/// `sessions import`: reads what `export` wrote.
struct SessionsImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Reads sessions as JSON lines from standard input.",
        discussion: """
            The store is created if it does not exist; no server may run on one in a file. A session that exists \
            already stays as it is; the exit code is then 1. A line that cannot be imported ends the import, and the \
            error says how many sessions before it were imported. Each session is imported whole or not at all.

            An export --with-secret begins with the secret of its store, which only a store without sessions can take, \
            and on which no server runs. With it, requests that created a session under an Idempotency-Key are \
            answered from the new store as from the old one.
            """)
    @OptionGroup var settings: SettingOptions<Settings.OfStore>

    func run() async throws {
        let store = try settings.store.lasting
        let importing = SessionImport { try await settings.store.open(newSecret: $0) }
        var progress = Progress("import")
        let size = SessionsImportCommand.inputSize
        var number = 0
        var lines = InputLines()
        do {
            while let line = try lines.next() {
                number += 1
                try await importing.take(line)
                progress.show(
                    size == nil ? importing.imported + importing.skipped : Int(lseek(STDIN_FILENO, 0, SEEK_CUR)),
                    of: size)
            }
            try await importing.finish()
        } catch {
            progress.hide()
            await importing.close()
            let error = store.reported(error)
            if let code = error as? ExitCode { throw code }
            let count = importing.imported
            let rest = count == 0 ? "nothing was imported" : "sessions imported before it: \(count)"
            let line = (error as? SessionImport.Unfit)?.line ?? number
            throw ExitCode.cannotStart(EX_DATAERR, "line \(line): \(error); \(rest)")
        }
        progress.hide()
        await importing.close()
        print("imported: \(importing.imported), existed already: \(importing.skipped)")
        if importing.skipped > 0 { throw ExitCode(1) }
    }
}

extension SessionsImportCommand {
    /// The size of standard input in bytes; `nil` if it is not a file.
    fileprivate static var inputSize: Int? {
        var info = stat()
        let isFile = fstat(STDIN_FILENO, &info) == 0 && info.st_mode & S_IFMT == S_IFREG && info.st_size > 0
        return isFile ? Int(info.st_size) : nil
    }
}

/// The lines of standard input as bytes: Swift's own `readLine` replaces what is not UTF-8.
private struct InputLines {
    private var buffer: [UInt8] = []
    /// Where the next line begins in the buffer.
    private var start = 0

    private static let chunk = 1 << 16
    /// Much more than any record has.
    private static let longest = 64 << 20

    /// - Returns: a line without its end; `nil` at the end of the input.
    mutating func next() throws -> [UInt8]? {
        var searched = start
        while true {
            if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                defer { start = end + 1 }
                return InputLines.line(buffer[start..<end])
            }
            buffer.removeSubrange(..<start)
            start = 0
            searched = buffer.count
            guard searched <= InputLines.longest else {
                throw SessionImport.Unfit(description: "it is longer than 64 MiB")
            }
            let count = try read()
            if count == 0 {
                defer { buffer = [] }
                return buffer.isEmpty ? nil : InputLines.line(buffer[...])
            }
        }
    }

    private mutating func read() throws -> Int {
        var count = 0
        let chunk = [UInt8](unsafeUninitializedCapacity: InputLines.chunk) { bytes, initialized in
            count = Glibc.read(STDIN_FILENO, bytes.baseAddress, bytes.count)
            initialized = max(0, count)
        }
        guard count >= 0 else {
            throw ExitCode.cannotStart(EX_IOERR, "standard input cannot be read: \(String.systemError())")
        }
        buffer += chunk
        return count
    }

    private static func line(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        Array(bytes.last == UInt8(ascii: "\r") ? bytes.dropLast() : bytes)
    }
}

/// Imports exported sessions into a store. The lines come session by session: its versions in order, then its answers.
/// The first line may be the store's secret.
final class SessionImport {
    /// Opens the store, and gives it the secret if that is possible. Called for the first batch of sessions, so that
    /// input which cannot be imported creates no store.
    private let open: (StoreSecret?) async throws -> any WritableStore
    private var opened: (any WritableStore)?
    private var secret: StoreSecret?
    /// The sessions of the lines so far.
    private var known: Set<SessionID> = []
    private(set) var imported = 0
    private(set) var skipped = 0
    private var isFirst = true
    /// The session whose lines are being read; `nil` before the first one.
    private var current: (id: SessionID, isKnown: Bool, versions: [SessionRecord], answers: [StoredAnswer])?
    /// Whole sessions to insert, and the number and size of their lines.
    private var waiting: [StoredSession] = []
    private var lines = 0
    private var bytes = 0

    /// Lines, or bytes of lines, after which sessions are inserted; no session is split.
    private static let batchSize = (lines: 1000, bytes: 4 << 20)

    private let latestTime = Date.latestSoundTime

    struct Unfit: Error, CustomStringConvertible {
        let description: String
        /// `nil` for the line that was read last.
        var line: Int?
    }

    init(_ open: @escaping (StoreSecret?) async throws -> any WritableStore) {
        self.open = open
    }

    func close() async { await opened?.close() }

    /// - Throws: `Unfit`, or what the store throws.
    func take(_ line: [UInt8]) async throws {
        defer { isFirst = false }
        if isFirst, let secret = StoreSecret(parsing: line) {
            self.secret = secret
            return
        }
        do {
            try await add(try SessionRecord(parsing: line))
        } catch let error as RecordError {
            guard let answer = try? StoredAnswer(parsing: line) else {
                throw Unfit(description: "not a record: \(error)")
            }
            try add(answer)
        }
        lines += 1
        bytes += line.count
    }

    private func store() async throws -> any WritableStore {
        if let opened { return opened }
        let store = try await open(secret)
        opened = store
        guard secret == nil || secret == StoreSecret(store.secret) else {
            throw Unfit(
                description: """
                    the store has a secret of its own: a secret can be imported only into a store without sessions, on \
                    which no server runs; leave the line out to import the sessions alone
                    """, line: 1)
        }
        return store
    }

    private func add(_ record: SessionRecord) async throws {
        if record.id != current?.id {
            endSession()
            if lines >= SessionImport.batchSize.lines || bytes >= SessionImport.batchSize.bytes { try await insert() }
            current = (record.id, isKnown: !known.insert(record.id).inserted, [], [])
        }
        let version = current?.versions.last?.version ?? 0
        guard version == 0 || record.version == version + 1 else {
            throw Unfit(description: "version \(record.version) follows version \(version)")
        }
        guard record.version <= SessionRecord.importLimit else {
            throw Unfit(description: "not a record: its “version” is out of range")
        }
        guard record.identity.createdAt <= latestTime else {
            throw Unfit(description: "its “createdAt” is more than a day ahead of this machine's clock")
        }
        guard record.time <= latestTime else {
            throw Unfit(
                description:
                    "its “time” is more than a day ahead of this machine's clock, \(record.time.timestamp)")
        }
        current?.versions.append(record)
    }

    private func add(_ answer: StoredAnswer) throws {
        guard answer.session == current?.id else { throw Unfit(description: "an answer without its session") }
        current?.answers.append(answer)
    }

    private func endSession() {
        guard let current, let last = current.versions.last else { return }
        if current.isKnown {
            skipped += 1
        } else {
            let stamp = SessionStamp(version: last.version)
            waiting.append(
                StoredSession(id: current.id, stamp: stamp, versions: current.versions, answers: current.answers))
        }
        self.current = nil
    }

    /// Inserts the sessions that were read last.
    func finish() async throws {
        endSession()
        try await insert()
        if secret != nil { _ = try await store() }
    }

    private func insert() async throws {
        let sessions = waiting
        (waiting, lines, bytes) = ([], 0, 0)
        guard !sessions.isEmpty else { return }
        let existing = try await store().insert(sessions)
        imported += sessions.count - existing.count
        skipped += existing.count
    }
}

extension Date {
    /// A day from now. A record with a later time was written by a wrong clock, and a server would continue from that
    /// time.
    static var latestSoundTime: Date { Date() + 86_400 }
}
