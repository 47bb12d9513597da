internal import FoundationEssentials
internal import SQLite

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
        let number = try JournalWriter.stored(StoredValue.generation, in: database)
        guard (1...limit).contains(Int(clamping: number.magnitude)) else {
            throw .damage("the value “generation” in the table store is out of range")
        }
        return number
    }

    /// What a copy of a file stores.
    static func ofCopy(_ stored: Int) -> Int { -abs(stored) }
}
