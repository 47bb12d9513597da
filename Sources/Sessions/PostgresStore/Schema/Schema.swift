/// The tables. A person can read them: records are lines of JSON, `SessionRecord` describes their members.
///
/// They use only what PostgreSQL's relatives have, too: no sequences, triggers, enumerations or advisory locks.
enum Schema {
    /// The version that this program writes.
    static let version = 2
    /// The oldest program that can work with tables of this version, by its own `version`.
    static let leastReader = 1

    /// The tables that `creation` makes.
    static let tables = [
        "store", "sessions", "journal", "answers", "batches", "replicated_starts", "replicas", "pairings",
    ]

    /// Creates what is missing, in one transaction. The row “schema” lets only one program at a time do it.
    ///
    /// - Parameter secret: hexadecimal digits. If the store has a secret, it keeps it.
    static func creation(secret: String) -> String {
        """
        -- The single values.
        CREATE TABLE IF NOT EXISTS store (name text COLLATE "C" PRIMARY KEY, value text NOT NULL);
        INSERT INTO store (name, value)
        VALUES ('schema', '0'), ('least_reader', '0'), ('generation', '1'), ('timeline', '0'), ('lanes', '0'), ('pairing_tries', '0'),
          ('secret', '\(secret)')
        ON CONFLICT (name) DO NOTHING;
        SELECT value FROM store WHERE name = 'schema' FOR UPDATE;

        CREATE TABLE IF NOT EXISTS sessions (
          id text COLLATE "C" PRIMARY KEY,
          -- How many commits the session has had: what a change is compared with.
          stamp bigint NOT NULL,
          -- The last version, and the oldest one that counts: the last one's if the session has ended.
          version bigint NOT NULL, oldest bigint NOT NULL,
          -- When to look whether it can be forgotten, in milliseconds since 1970. If it is used until then, it moves.
          due bigint NOT NULL,
          -- What is found without reading records: SHA-256 of each token, who is signed in, what it was forked from.
          tokens bytea[] NOT NULL, account text COLLATE "C", origin text COLLATE "C",
          -- When to look whether a timer fires, in milliseconds since 1970; and while effects are under way, which
          -- replica performs them: the one that has committed last, or that has taken over. 0 is none.
          timer bigint, replica bigint
        ) WITH (fillfactor = 70);
        CREATE INDEX IF NOT EXISTS sessions_by_due ON sessions (due);
        CREATE INDEX IF NOT EXISTS sessions_by_account ON sessions (account) WHERE account IS NOT NULL;
        CREATE INDEX IF NOT EXISTS sessions_by_origin ON sessions (origin) WHERE origin IS NOT NULL;
        CREATE INDEX IF NOT EXISTS sessions_by_timer ON sessions (timer) WHERE timer IS NOT NULL;
        CREATE INDEX IF NOT EXISTS sessions_by_replica ON sessions (replica, id) WHERE replica IS NOT NULL;

        CREATE TABLE IF NOT EXISTS journal (
          session text COLLATE "C", version bigint, base bigint, kept_until bigint NOT NULL, record text NOT NULL,
          checksum bigint NOT NULL, PRIMARY KEY (session, version)
        );

        -- The keys of services begin with “service:”: they are kept, and counted, apart from those of clients.
        CREATE TABLE IF NOT EXISTS answers (
          session text COLLATE "C", key text COLLATE "C", stamp bigint NOT NULL, answer text NOT NULL,
          -- Bytes of the text; 0 once its body is dropped.
          size bigint NOT NULL, checksum bigint NOT NULL, PRIMARY KEY (session, key)
        );

        -- What each batch of a lane has changed: “id version”. Was a batch committed? What has changed since?
        CREATE TABLE IF NOT EXISTS batches (
          lane bigint, n bigint, changed text[] NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp(),
          PRIMARY KEY (lane, n)
        );
        CREATE INDEX IF NOT EXISTS batches_by_at ON batches (at);

        -- The starts of this server after which the standby has confirmed everything: see `ReplicationBarrier`.
        CREATE UNLOGGED TABLE IF NOT EXISTS replicated_starts (start timestamptz PRIMARY KEY);

        CREATE TABLE IF NOT EXISTS replicas (
          id bigint PRIMARY KEY, lanes bigint[] NOT NULL, started timestamptz NOT NULL DEFAULT clock_timestamp(),
          seen timestamptz NOT NULL DEFAULT clock_timestamp()
        );

        CREATE TABLE IF NOT EXISTS pairings (
          code bytea PRIMARY KEY, issuer bytea NOT NULL, session text COLLATE "C" NOT NULL, label text,
          expires bigint NOT NULL,
          -- Of a used code: when, and under which Idempotency-Key.
          used bigint, key text
        );
        CREATE INDEX IF NOT EXISTS pairings_by_issuer ON pairings (issuer);
        -- Since schema 2: the name of the role that the device gets. A server of schema 1 gives none.
        ALTER TABLE pairings ADD COLUMN IF NOT EXISTS role text;

        UPDATE store SET value = '\(version)' WHERE name = 'schema' AND value::bigint < \(version);
        UPDATE store SET value = '\(leastReader)' WHERE name = 'least_reader' AND value::bigint < \(leastReader);
        """
    }
}
