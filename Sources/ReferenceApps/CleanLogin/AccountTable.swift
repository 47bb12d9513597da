internal import SQLite
internal import Sodium

/// The accounts in their SQLite file: names and hashes.
struct AccountTable: ~Copyable {
    private let database: SQLiteDatabase
    private let find: SQLiteStatement
    private let insert: SQLiteStatement

    /// Opens the file; makes it, and the table in it, where they are missing.
    init(path: String) throws(SQLiteError) {
        let database = try SQLiteDatabase(path: path)
        // The check keeps out what is no hash, whoever writes to the file.
        try database.execute(
            """
            CREATE TABLE IF NOT EXISTS accounts (
                email TEXT NOT NULL PRIMARY KEY,
                password_hash TEXT NOT NULL CHECK (password_hash LIKE '$argon2id$%')
            ) STRICT, WITHOUT ROWID
            """)
        let find = try database.prepare("SELECT password_hash FROM accounts WHERE email = ?1")
        let insert = try database.prepare("INSERT INTO accounts VALUES (?1, ?2) ON CONFLICT DO NOTHING")
        self.database = database
        self.find = find
        self.insert = insert
    }

    /// - Returns: `nil` when there is no such account, or when nobody can log in to it because its hash is damaged.
    func hash(of account: AccountName) throws(SQLiteError) -> PasswordHash? {
        try find.bind(1, account.text)
        return try find.first { row in row.text(0).flatMap(PasswordHash.init(encoded:)) } ?? nil
    }

    /// Adds the account; one that is there stays as it is.
    func add(_ account: AccountName, _ hash: PasswordHash) throws(SQLiteError) {
        try insert.bind(1, account.text)
        try insert.bind(2, hash.encoded)
        try insert.run()
    }
}
