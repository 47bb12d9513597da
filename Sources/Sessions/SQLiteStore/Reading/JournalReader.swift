internal import ByteText
internal import SQLite
internal import Sessions
internal import Sodium

/// A connection that reads. Callers pass the session's places in the uncompacted tail as `tail`, oldest first. The
/// reader finds rows and compares their checksums; callers parse the texts, see `FoundRecords`.
final class JournalReader {
    private let retention: Retention
    let database: SQLiteDatabase
    private let lookup: StoreLookup
    private let answerLookup: Lookup
    private let answers: Lookup
    private let forks: SQLiteStatement
    private let users: SQLiteStatement
    private let begin: SQLiteStatement
    private let end: SQLiteStatement

    init(path: String, retention: Retention) throws(SQLiteStoreError) {
        self.retention = retention
        do throws(SQLiteError) {
            let database = try SQLiteDatabase(path: path, isReadOnly: true, isGuarded: true)
            try database.execute("PRAGMA cache_size = -65536")
            lookup = try StoreLookup(database)
            let answers = "SELECT seq, key, checksum FROM answers WHERE session = ?1"
            answerLookup = try Lookup("\(answers) AND key = ?2 ORDER BY seq DESC LIMIT 1", database)
            self.answers = try Lookup("\(answers) ORDER BY seq DESC", database)
            forks = try database.prepare("SELECT id FROM sessions WHERE origin = ?1")
            users = try database.prepare("SELECT id FROM sessions WHERE user = ?1")
            begin = try database.prepare("BEGIN")
            end = try database.prepare("COMMIT")
            // A single wrong byte in the file's header would turn off the checksums of all pages.
            guard database.hasChecksums else {
                throw .damage("the first page of \(path) says that there are no checksums")
            }
            self.database = database
        } catch {
            throw SQLiteStoreError(error)
        }
    }

    /// Everything that `body` reads comes from one snapshot.
    ///
    /// - Throws: also if there is no snapshot; then `body` was not called.
    func withSnapshot<Value>(_ body: () throws(ReadError) -> Value) throws(ReadError) -> Value {
        do throws(SQLiteError) {
            // Left open by an `end` that failed.
            if database.isInTransaction { try end.run() }
            try begin.run()
        } catch {
            throw .sqlite(error)
        }
        defer { try? end.run() }
        return try body()
    }

    /// The last version.
    ///
    /// - Parameter token: the digest that a token of the session must have; `nil` for any. It is compared before any
    ///   record is read.
    /// - Returns: `nil` if there is no such session, or it has no such token.
    func load(
        _ id: SessionID, token: SHA256Digest?, _ tail: [Place]
    ) throws(ReadError) -> (record: FoundRecords, answeredKeys: [String])? {
        let past = try past(of: id, tail)
        guard let newest = past.versions(from: .max, limit: 1).first else { return nil }
        if let token {
            let known = past.tokens.words.map { SHA256Digest(hex: String($0)) }
            guard !known.isEmpty, !known.contains(nil) else { throw .damaged("the tokens of \(id.text) are damaged") }
            guard known.contains(token) else { return nil }
        }
        let records = try records(of: past, from: newest.version, limit: 1, bytes: .max)
        guard !records.wanted.isEmpty else { throw .missing(seq: newest.seq) }
        return (records, try answeredKeys(of: id, tail))
    }

    func history(
        of id: SessionID, from version: Int, limit: Int, bytes: Int, _ tail: [Place]
    ) throws(ReadError) -> FoundRecords {
        let past = try past(of: id, tail)
        guard let newest = past.versions(from: .max, limit: 1).first?.version else { return FoundRecords(of: id) }
        let oldest = max(1, newest - min(retention.versions, newest) + 1)
        let wanted = min(limit, max(0, min(version, newest) - oldest + 1))
        return try records(of: past, from: version, limit: wanted, bytes: bytes)
    }

    func answer(to key: String, of id: SessionID, _ tail: [Place]) throws(ReadError) -> JournalRow? {
        let seq: Int?
        if let place = tail.last(where: { $0.key == key }) {
            seq = place.seq
        } else {
            seq = try answerLookup.first(
                "an answer of \(id.text)",
                bind: { statement throws(SQLiteError) in
                    try statement.bind(1, id.text)
                    try statement.bind(2, key)
                }
            ) { JournalReader.answer($0, of: id)?.seq }
        }
        guard let seq else { return nil }
        guard let row = try lookup.row(seq) else { throw .missing(seq: seq) }
        guard row.session == id.text, row.label?.key == key else {
            throw .damaged("row \(seq) of the journal is not the expected one")
        }
        return row
    }

    /// All answers that are kept, oldest first.
    func answers(of id: SessionID, _ tail: [Place]) throws(ReadError) -> [JournalRow] {
        let compacted = try compactedAnswers(of: id, limit: .max).map(\.seq)
        var rows: [JournalRow] = []
        for seq in compacted + tail.filter({ !$0.isRecord }).map(\.seq) {
            guard let row = try lookup.row(seq) else { continue }
            rows.append(row)
        }
        return StoredAnswer.newest(retention.answers, of: rows.reversed()) { $0.label?.key ?? "" }.reversed()
    }

    func forks(of id: SessionID) throws(ReadError) -> [SessionID] { try sessions(forks, id.text) }

    func sessions(ofUser user: String) throws(ReadError) -> [SessionID] { try sessions(users, user) }

    /// All compacted sessions, from the first of these lists that is not damaged: the table, its index, the journal.
    func sessions() throws(ReadError) -> Set<SessionID> {
        var failure = SQLiteError.damage("")
        for list in [
            "id FROM sessions NOT INDEXED", "id FROM sessions INDEXED BY sessions_by_due", "session FROM journal",
        ] {
            do throws(SQLiteError) {
                let ids = try database.prepare("SELECT DISTINCT \(list)").all { $0.text(0).flatMap(SessionID.init) }
                return Set(ids.compactMap(\.self))
            } catch {
                failure = error
                guard error.isDamage else { break }
            }
        }
        throw .sqlite(failure)
    }

    private func sessions(_ statement: SQLiteStatement, _ key: String) throws(ReadError) -> [SessionID] {
        do throws(SQLiteError) {
            try statement.bind(1, key)
            return try statement.all { $0.text(0).flatMap(SessionID.init) }.compactMap(\.self)
        } catch {
            throw .sqlite(error)
        }
    }

    private func answeredKeys(of id: SessionID, _ tail: [Place]) throws(ReadError) -> [String] {
        let recent = tail.compactMap(\.key)
        if tail.contains(where: { $0.kind == .first }) { return recent }
        return try compactedAnswers(of: id, limit: retention.answers).map(\.key) + recent
    }

    /// Oldest first. None may be missing: an event whose key is missing would be applied again.
    private func compactedAnswers(of id: SessionID, limit: Int) throws(ReadError) -> [(seq: Int, key: String)] {
        guard let count = try lookup.session(id)?.answers, count > 0 else { return [] }
        let found = try answers.all(
            "the answers of \(id.text)", count: count,
            bind: { statement throws(SQLiteError) in try statement.bind(1, id.text) }
        ) { JournalReader.answer($0, of: id) }
        return StoredAnswer.newest(limit, of: found, key: \.key).reversed()
    }

    /// - Returns: `nil` if the row is not what was written.
    private static func answer(_ row: borrowing SQLiteRow, of id: SessionID) -> (seq: Int, key: String)? {
        guard let seq = row.integer(0), let key = row.text(1),
            Statements.answerChecksum(key, at: seq, of: id) == row.integer(2)
        else { return nil }
        return (seq, key)
    }
}

// Finding versions.
extension JournalReader {
    /// What the tail and the table have of a session.
    private struct Past {
        let id: SessionID
        /// Newest first.
        var recent: [(version: Int, seq: Int)] = []
        var compacted: CompactedSession?
        var tokens = ""

        func versions(from newest: Int, limit: Int) -> [(version: Int, seq: Int)] {
            let found = Array(recent.lazy.filter { $0.version <= newest }.prefix(limit))
            let below = min(newest, (recent.last?.version ?? .max) - 1)
            guard let compacted, found.count < limit else { return found }
            return found + compacted.versions(from: below, limit: limit - found.count)
        }
    }

    private func past(of id: SessionID, _ tail: [Place]) throws(ReadError) -> Past {
        var past = Past(id: id)
        var isWhole = false
        var tokens: String?
        for place in tail.reversed() where place.isRecord && !isWhole {
            past.recent.append((place.version, place.seq))
            tokens = tokens ?? place.label?.tokens
            // The table has nothing older, or the session has ended and nothing older counts.
            isWhole = place.kind == .first || place.kind == .end
        }
        if !isWhole { past.compacted = try lookup.session(id) }
        past.tokens = tokens ?? past.compacted?.tokens ?? ""
        return past
    }

    /// The first of these versions, newest first, until one that has been dropped or whose base has been dropped.
    private func records(
        of past: Past, from newest: Int, limit: Int, bytes: Int
    ) throws(ReadError) -> FoundRecords {
        var found = FoundRecords(of: past.id)
        guard limit > 0 else { return found }
        let places = past.versions(from: newest, limit: Retention(versions: limit).retainedVersions)
        var size = 0
        for (version, seq) in places.prefix(limit) {
            guard let row = try row(seq, version, of: past.id) else { break }
            if let base = row.base, found.bases[base] == nil {
                guard let place = places.first(where: { $0.version == base }),
                    let full = try self.row(place.seq, base, of: past.id)
                else { break }
                found.bases[base] = full.text
                size += full.text.count
            }
            size += row.text.count
            guard found.wanted.isEmpty || size <= bytes else { break }
            found.wanted.append((row.version, row.text))
        }
        return found
    }

    private func row(_ seq: Int, _ version: Int, of id: SessionID) throws(ReadError) -> JournalRow? {
        guard let row = try lookup.row(seq) else { return nil }
        guard row.session == id.text, row.version == version else {
            throw .damaged("row \(seq) of the journal is not the expected one")
        }
        return row
    }
}

extension FoundRecords {
    func read() throws(ReadError) -> [SessionRecord] {
        do throws(StoreError) { return try records() } catch { throw .damaged(error.description) }
    }
}
