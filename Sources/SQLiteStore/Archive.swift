internal import SQLite
internal import Sessions

/// Why something cannot be read.
enum ReadError: Error {
    case sqlite(SQLiteError)
    /// A row of the journal is not what was written.
    case damaged(seq: Int)
}

/// A connection that reads. What is not folded yet it is told: `unfolded`, oldest first.
final class Archive {
    private let retention: Retention
    let database: SQLiteDatabase
    private let record: SQLiteStatement
    private let session: SQLiteStatement
    private let answers: SQLiteStatement
    private let answer: SQLiteStatement
    private let answerRows: SQLiteStatement
    private let begin: SQLiteStatement
    private let end: SQLiteStatement

    init(path: String, retention: Retention) throws(SQLiteError) {
        self.retention = retention
        let database = try SQLiteDatabase(path: path, isReadOnly: true)
        try database.execute("PRAGMA cache_size = -65536")
        record = try database.prepare("SELECT record, checksum FROM journal WHERE seq = ?1")
        session = try database.prepare("SELECT version, rows FROM sessions WHERE id = ?1")
        answers = try database.prepare("SELECT key FROM answers WHERE session = ?1 ORDER BY seq DESC LIMIT ?2")
        answer = try database.prepare(
            "SELECT seq FROM answers WHERE session = ?1 AND key = ?2 ORDER BY seq DESC LIMIT 1")
        answerRows = try database.prepare("SELECT seq FROM answers WHERE session = ?1 ORDER BY seq")
        begin = try database.prepare("BEGIN")
        end = try database.prepare("COMMIT")
        self.database = database
    }

    /// All that is read in `body` is read from one snapshot.
    ///
    /// - Throws: where there is none. Nothing was read then.
    func withSnapshot(_ body: () -> Void) throws(SQLiteError) {
        // Left behind by an end that has failed.
        if database.isInTransaction { try end.run() }
        try begin.run()
        body()
        try? end.run()
    }

    func load(_ id: SessionID, _ unfolded: [Place]) throws(ReadError) -> LoadedSession? {
        let places = try places(of: id, from: .max, limit: 1 + SessionRecord.reach, unfolded)
        guard let newest = places.first else { return nil }
        guard let record = try records(of: id, at: places, limit: 1).first else {
            // It has been dropped since; or what it leans on has, as it never may.
            guard try text(at: newest.seq) == nil else { throw .damaged(seq: newest.seq) }
            return nil
        }
        return LoadedSession(record: record, answeredKeys: try answeredKeys(of: id, unfolded))
    }

    /// Those in one of whose records there is that session as the origin, or words that look like it.
    func sessions(naming origin: SessionID) throws(ReadError) -> [SessionID] {
        try reading { () throws(SQLiteError) in
            let select = try database.prepare("SELECT DISTINCT session FROM journal WHERE instr(record, ?1)")
            try select.bind(1, #""origin":"\#(origin.text)""#)
            return try select.all { $0.text(0).flatMap(SessionID.init) }.compactMap(\.self)
        }
    }

    func history(
        of id: SessionID, from version: Int, limit: Int, _ unfolded: [Place]
    ) throws(ReadError) -> [SessionRecord] {
        guard let newest = try places(of: id, from: .max, limit: 1, unfolded).first else { return [] }
        let oldest = max(1, newest.version - retention.versions + 1)
        let wanted = min(limit, max(0, min(version, newest.version) - oldest + 1))
        let places = try places(of: id, from: version, limit: wanted + SessionRecord.reach, unfolded)
        return try records(of: id, at: places, limit: wanted)
    }

    func answer(
        to key: String, of id: SessionID, _ unfolded: [Place]
    ) throws(ReadError) -> StoredAnswer? {
        let seq: Int?
        if let place = unfolded.last(where: { $0.key == key }) {
            seq = place.seq
        } else {
            seq = try reading { () throws(SQLiteError) in
                try answer.bind(1, id.text)
                try answer.bind(2, key)
                return try answer.first { $0.integer(0) } ?? nil
            }
        }
        guard let seq, let text = try text(at: seq) else { return nil }
        guard let answer = try? StoredAnswer(parsing: text), answer.session == id, answer.key == key else {
            throw .damaged(seq: seq)
        }
        return answer
    }

    /// All that are kept, oldest first.
    func answers(of id: SessionID, _ unfolded: [Place]) throws(ReadError) -> [StoredAnswer] {
        let folded = try reading { () throws(SQLiteError) in
            try answerRows.bind(1, id.text)
            return try answerRows.all { $0.integer(0) }.compactMap(\.self)
        }
        var answers: [StoredAnswer] = []
        for seq in folded + unfolded.filter(\.isAnswer).map(\.seq) {
            guard let text = try text(at: seq) else { continue }
            guard let answer = try? StoredAnswer(parsing: text) else { throw .damaged(seq: seq) }
            answers.append(answer)
        }
        return answers.suffix(retention.answers)
    }

    /// Where the versions up to that one are, newest first.
    private func places(
        of id: SessionID, from version: Int, limit: Int, _ unfolded: [Place]
    ) throws(ReadError) -> [(version: Int, seq: Int)] {
        var places: [(version: Int, seq: Int)] = []
        for place in unfolded.reversed() where !place.isAnswer {
            if place.version <= version, places.count < limit { places.append((place.version, place.seq)) }
            // Nothing older is in the tables, or the session has ended and nothing older counts.
            if place.isFirst { return places }
            if case .end = place.kind { return places }
        }
        let (below, rest) = (min(version, (places.last?.version ?? .max) - 1), limit - places.count)
        guard rest > 0 else { return places }
        let folded = try reading { () throws(SQLiteError) in
            try session.bind(1, id.text)
            return try session.first { FoldedSession($0) } ?? nil
        }
        return places + (folded?.versions(from: below, limit: rest) ?? [])
    }

    private func answeredKeys(of id: SessionID, _ unfolded: [Place]) throws(ReadError) -> [String] {
        let recent = unfolded.compactMap(\.key)
        if unfolded.contains(where: \.isFirst) { return recent }
        let limit = retention.answers
        return try reading { () throws(SQLiteError) in
            try answers.bind(1, id.text)
            try answers.bind(2, limit)
            let folded = try answers.all { $0.text(0) }.compactMap(\.self)
            return folded.reversed() + recent
        }
    }

    /// The first of the session's versions at these places, newest first, up to one that has been dropped, or that leans
    /// on one that has.
    private func records(
        of id: SessionID, at places: [(version: Int, seq: Int)], limit: Int
    ) throws(ReadError) -> [SessionRecord] {
        var records: [SessionRecord] = []
        var base: SessionRecord?
        for place in places.prefix(limit) {
            guard let text = try recordText(at: place.seq) else { break }
            if let version = text.base, version != base?.version {
                guard let place = places.first(where: { $0.version == version }),
                    let text = try recordText(at: place.seq)
                else { break }
                base = try record(text, of: id, at: place, base: nil)
            }
            records.append(try record(text, of: id, at: place, base: text.base == nil ? nil : base))
        }
        return records
    }

    /// A version of the session. What the row holds must be just that: the tables have no checksums.
    private func record(
        _ text: RecordText, of id: SessionID, at place: (version: Int, seq: Int), base: SessionRecord?
    ) throws(ReadError) -> SessionRecord {
        guard let record = try? SessionRecord(text, base: base), record.id == id, record.version == place.version else {
            throw .damaged(seq: place.seq)
        }
        return record
    }

    private func recordText(at seq: Int) throws(ReadError) -> RecordText? {
        guard let text = try text(at: seq) else { return nil }
        do { return try RecordText(parsing: text) } catch { throw .damaged(seq: seq) }
    }

    /// The text in that row; `nil` where there is none any more.
    private func text(at seq: Int) throws(ReadError) -> [UInt8]? {
        let row = try reading { () throws(SQLiteError) in
            try record.bind(1, seq)
            return try record.first { ($0.utf8(0), $0.integer(1)) }
        }
        guard let row else { return nil }
        guard let text = row.0, EncodedChange.Row.checksum(of: text) == row.1 else { throw .damaged(seq: seq) }
        return text
    }

    private func reading<Value>(
        _ body: () throws(SQLiteError) -> Value
    ) throws(ReadError) -> Value {
        do throws(SQLiteError) { return try body() } catch { throw .sqlite(error) }
    }
}

extension Place {
    /// From a row of the journal: seq, session, kind, version, key, record, checksum, due.
    ///
    /// - Returns: `nil` where it is not what was written.
    init?(_ row: borrowing SQLiteRow, seq: Int) {
        guard let name = row.text(2), let kind = Kind(name: name, key: row.text(4), due: row.integer(7)),
            let version = row.integer(3), let text = row.utf8(5),
            EncodedChange.Row.checksum(of: text) == row.integer(6)
        else { return nil }
        self.init(seq: seq, kind: kind, version: version)
    }
}
