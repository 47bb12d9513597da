internal import FoundationEssentials
internal import SQLite
internal import Sessions
internal import Sodium

/// The tables. A person can read them: records are lines of JSON, `SessionRecord` describes their members.
///
/// The journal alone says what was committed. Everything else but the secret is derived from it, and rebuilt from it
/// if it is damaged (`StoreRebuild`).
enum Schema {
    /// A store with another number is refused.
    static let version = 1

    static let tables = """
        -- What was committed, in order. Rows are only appended. The bodies of old answers are removed, and rows are
        -- deleted when no table below points to them any more.
        CREATE TABLE journal (
            seq INTEGER PRIMARY KEY,
            session TEXT NOT NULL,
            -- first: a session's first record here; next; end: the session has ended; answer: to a request with a key.
            -- (Not “IN”: SQLite would make a table of the four for every row.)
            kind TEXT NOT NULL CHECK (kind = 'next' OR kind = 'answer' OR kind = 'first' OR kind = 'end'),
            -- Of the state in the record, or that the answer shows.
            version INTEGER NOT NULL,
            -- Of a record: when the session can be forgotten, in milliseconds since 1970; 0 of an answer.
            kept_until INTEGER NOT NULL,
            -- Of a delta record: the version whose record it completes.
            base INTEGER,
            -- Of a full record: the SHA-256 of each of the session's tokens, separated by spaces.
            tokens TEXT,
            -- Of a full record: who is signed in.
            user TEXT,
            -- Of the first record: the session that this one was forked from.
            origin TEXT,
            -- Of an answer: the SHA-256 of the request's Idempotency-Key, see `StoredAnswer.key`.
            key TEXT,
            -- Of a record: when the session's next timer is due, in milliseconds since 1970.
            timer INTEGER,
            -- Of a record: 1 if effects are under way.
            effects INTEGER,
            record TEXT NOT NULL,
            -- Of all columns, see `RowChecksum`.
            checksum INTEGER NOT NULL
        ) STRICT;

        -- Compacted from the journal: where the kept versions of a session are.
        CREATE TABLE sessions (
            id TEXT NOT NULL PRIMARY KEY,
            -- The last one.
            version INTEGER NOT NULL,
            -- Rows of the journal, one for each version up to the last one, see `CompactedSession`.
            rows TEXT NOT NULL,
            -- When to look whether the session can be forgotten, in milliseconds since 1970. Its record says whether.
            due INTEGER NOT NULL,
            tokens TEXT NOT NULL,
            -- Who is signed in; null once the session has ended.
            user TEXT,
            origin TEXT,
            -- How many it has in the table answers.
            answers INTEGER NOT NULL,
            -- When to look whether a timer fires, in milliseconds since 1970, and 1 if effects are under way. Both as in
            -- the last version's row, until the timer is postponed.
            timer INTEGER, effects INTEGER,
            -- Of all columns but due, timer and effects, which only say when to look.
            checksum INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX sessions_by_due ON sessions (due);
        CREATE INDEX sessions_by_origin ON sessions (origin) WHERE origin IS NOT NULL;
        CREATE INDEX sessions_by_user ON sessions (user) WHERE user IS NOT NULL;
        CREATE INDEX sessions_by_timer ON sessions (timer) WHERE timer IS NOT NULL;
        CREATE INDEX sessions_with_effects ON sessions (id, effects) WHERE effects IS NOT NULL;

        -- Compacted from the journal: where the kept answers of a session are.
        CREATE TABLE answers (
            session TEXT NOT NULL, seq INTEGER NOT NULL, key TEXT NOT NULL,
            -- Bytes of its body in the journal; 0 where that is not kept any more.
            size INTEGER NOT NULL,
            -- Of session, seq and key.
            checksum INTEGER NOT NULL,
            PRIMARY KEY (session, seq)
        ) STRICT, WITHOUT ROWID;

        -- Rows of the journal that are to be deleted.
        CREATE TABLE dropped (
            seq INTEGER PRIMARY KEY,
            -- Bytes of its text, where these are many.
            size INTEGER NOT NULL
        ) STRICT;

        -- secret: 32 random bytes. compacted: the journal is compacted up to this row. closed: the journal's last row
        -- if the store was closed after it, else -1. clock: the latest time, in milliseconds since 1970, to the minute.
        -- generation: see `Generation`.
        CREATE TABLE store (
            name TEXT NOT NULL PRIMARY KEY, value ANY NOT NULL, checksum INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;

        -- For people: the last version of each session.
        CREATE VIEW current AS
            SELECT session, max(version) AS version, record FROM journal WHERE kind <> 'answer' GROUP BY session;
        """
}

/// The rows of the table `store` that have a number.
enum StoredValue: String, CaseIterable {
    case compacted, closed, clock, generation

    func number(in database: borrowing SQLiteDatabase) throws(SQLiteError) -> Int {
        let row = try database.prepare("SELECT value, checksum FROM store WHERE name = '\(rawValue)'")
            .first { ($0.integer(0), $0.integer(1)) }
        guard let number = row?.0, checksum(of: number) == row?.1 else {
            throw .damage("the value “\(rawValue)” in the table store is damaged")
        }
        return number
    }

    func checksum(of number: Int) -> Int {
        var sum = RowChecksum()
        sum.add(rawValue)
        sum.add(number)
        return sum.value
    }

    static func secret(in database: borrowing SQLiteDatabase) throws(SQLiteError) -> [UInt8] {
        let row = try database.prepare("SELECT value, checksum FROM store WHERE name = 'secret'")
            .first { ($0.bytes(0), $0.integer(1)) }
        guard let secret = row?.0, secret.count == KeyedDigest.keySize, checksum(ofSecret: secret) == row?.1
        else { throw .damage("the secret in the table store is damaged") }
        return secret
    }

    static func checksum(ofSecret bytes: [UInt8]) -> Int {
        var sum = RowChecksum()
        sum.add("secret")
        sum.add(digestOf: bytes)
        return sum.value
    }
}

/// The generation of a store's content, see `SessionStore.generation`.
///
/// What is committed to a copy of a store and to the store itself may have the same versions and other content. So a
/// copy begins a generation of its own whenever it is opened, until a commit is made; from then on it keeps that one.
/// Its number is the time, because the same copy may be restored several times.
struct Generation {
    let number: Int

    private static let limit = 1 << 53

    /// - Throws: damage of the stored number.
    init(in database: borrowing SQLiteDatabase) throws(SQLiteError) {
        let stored = try Generation.stored(in: database)
        number = stored > 0 ? stored : max(1 - stored, Int(Date().timeIntervalSince1970 * 1000))
    }

    /// The number of the generation in a file; negative in a copy to which nothing has been committed.
    static func stored(in database: borrowing SQLiteDatabase) throws(SQLiteError) -> Int {
        let number = try StoredValue.generation.number(in: database)
        guard (1...limit).contains(Int(clamping: number.magnitude)) else {
            throw .damage("the value “generation” in the table store is out of range")
        }
        return number
    }

    /// What a copy of a file stores.
    static func ofCopy(_ stored: Int) -> Int { -abs(stored) }
}
