internal import SQLite

/// The tables. A person can read them: records are lines of JSON, `SessionRecord+Text.swift` tells their members.
enum Schema {
    /// Since 2, records may lean on others. The tables are those of 1.
    static let version = 2

    static let tables = """
        -- What was committed, in order. Only appended to; rows go when nothing below points to them any more.
        CREATE TABLE journal (
            seq INTEGER PRIMARY KEY,
            session TEXT NOT NULL,
            -- first: a session's first record here; next; end: the session has ended; answer: to a request with a key.
            -- (Not “IN”: SQLite would make a table of the four for every row.)
            kind TEXT NOT NULL CHECK (kind = 'next' OR kind = 'answer' OR kind = 'first' OR kind = 'end'),
            -- Of the state in the record, or that the answer shows.
            version INTEGER NOT NULL,
            -- Of an answer: the SHA-256 of the request's Idempotency-Key.
            key TEXT,
            record TEXT NOT NULL,
            -- SipHash-2-4 of the record, under a key of zeros.
            checksum INTEGER NOT NULL
        ) STRICT;

        -- Folded from the journal: where the kept versions of a session are.
        CREATE TABLE sessions (
            id TEXT NOT NULL PRIMARY KEY,
            -- The last one.
            version INTEGER NOT NULL,
            -- A JSON array of rows of the journal, one for each version up to the last one.
            rows TEXT NOT NULL,
            -- When to look whether the session can be forgotten, in milliseconds since 1970.
            due INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX sessions_by_due ON sessions (due);

        -- Folded from the journal: where the kept answers of a session are.
        CREATE TABLE answers (
            session TEXT NOT NULL, seq INTEGER NOT NULL, key TEXT NOT NULL,
            PRIMARY KEY (session, seq)
        ) STRICT, WITHOUT ROWID;

        -- Rows of the journal that are to go.
        CREATE TABLE dropped (seq INTEGER PRIMARY KEY) STRICT;

        -- secret: 32 random bytes. folded: the journal is folded up to this row.
        CREATE TABLE store (name TEXT NOT NULL PRIMARY KEY, value ANY NOT NULL) STRICT, WITHOUT ROWID;

        -- For people: the last version of each session.
        CREATE VIEW current AS
            SELECT session, max(version) AS version, record FROM journal WHERE kind <> 'answer' GROUP BY session;
        """
}
