internal import SQLite
internal import Sodium

/// The accounts in their SQLite file: names and hashes.
struct AccountTable: ~Copyable {
    private let database: SQLiteDatabase
    private let find: SQLiteStatement
    private let insert: SQLiteStatement
    private let delete: SQLiteStatement
    private let list: SQLiteStatement

    /// Opens the file; creates the table in it if it does not exist.
    init(path: String) throws(SQLiteError) {
        let database = try SQLiteDatabase(path: path)
        try AccountTable.prepare(database)
        let find = try database.prepare("SELECT password_hash FROM accounts WHERE email = ?1 AND is_development <= ?2")
        // A real account replaces a development account of the same name.
        let insert = try database.prepare(
            """
            INSERT INTO accounts VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE
                SET password_hash = excluded.password_hash, is_development = 0
                WHERE is_development > excluded.is_development
            RETURNING 1
            """)
        let delete = try database.prepare("DELETE FROM accounts WHERE email = ?1 RETURNING 1")
        let list = try database.prepare("SELECT email, is_development FROM accounts ORDER BY email")
        self.database = database
        self.find = find
        self.insert = insert
        self.delete = delete
        self.list = list
    }

    private static func prepare(_ database: borrowing SQLiteDatabase) throws(SQLiteError) {
        guard try database.integer("PRAGMA user_version") == 0 else { return }
        try database.execute("BEGIN IMMEDIATE")
        // Another process may have prepared it meanwhile.
        if try database.integer("PRAGMA user_version") == 0 {
            // The CHECK refuses what is not a hash, whoever writes to the file.
            try database.execute(
                """
                CREATE TABLE accounts (
                    email TEXT NOT NULL PRIMARY KEY,
                    password_hash TEXT NOT NULL CHECK (password_hash LIKE '$argon2id$%'),
                    is_development INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                PRAGMA user_version = 1
                """)
        }
        try database.execute("COMMIT")
    }

    /// - Parameter isDevelopment: whether a development account counts.
    /// - Returns: `nil` when there is no such account, or when nobody can log in to it because its hash is damaged.
    func hash(of account: AccountName, isDevelopment: Bool) throws(SQLiteError) -> PasswordHash? {
        try find.bind(1, account.text)
        try find.bind(2, isDevelopment ? 1 : 0)
        return try find.first { row in row.text(0).flatMap(PasswordHash.init(encoded:)) } ?? nil
    }

    /// - Returns: whether it was added; an existing account stays as it is.
    func add(_ account: AccountName, _ hash: PasswordHash, isDevelopment: Bool) throws(SQLiteError) -> Bool {
        try insert.bind(1, account.text)
        try insert.bind(2, hash.encoded)
        try insert.bind(3, isDevelopment ? 1 : 0)
        return try !insert.all { _ in () }.isEmpty
    }

    /// - Returns: whether it existed.
    func remove(_ account: AccountName) throws(SQLiteError) -> Bool {
        try delete.bind(1, account.text)
        return try !delete.all { _ in () }.isEmpty
    }

    /// Copies all accounts into a file that is empty, or does not exist.
    func copy(to path: String) throws(SQLiteError) {
        let copy = try database.prepare("VACUUM INTO ?1")
        try copy.bind(1, path)
        try copy.run()
    }

    func all() throws(SQLiteError) -> [Account] {
        try list.all { row in Account(email: row.text(0) ?? "", isDevelopment: row.integer(1) != 0) }
    }
}

/// An account, as it is listed.
public struct Account: Sendable, Equatable {
    public let email: String
    /// Whether it is a development account: only a server with `--development` lets anybody sign in to it.
    public let isDevelopment: Bool

    public init(email: String, isDevelopment: Bool) {
        self.email = email
        self.isDevelopment = isDevelopment
    }
}

/// The account that a server with `--development` has. Its password is in the README.
enum DevelopmentAccount {
    static let email = "ann@example.com"
    static let password = "correct horse"
}
