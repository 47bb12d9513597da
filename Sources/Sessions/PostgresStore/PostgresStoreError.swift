internal import Postgres

/// Why a store cannot be opened.
public enum PostgresStoreError: Error, Equatable, Sendable {
    /// The database's address cannot be used.
    case unusableURI(reason: String)
    /// The address contains a password, or another secret.
    case secretInURI(reason: String)
    /// The database has no tables of a store, and this role may not create them.
    case noSchema
    /// An earlier build of this program has made the tables.
    case olderSchema(Int)
    /// A later build of this program has made the tables, in a way that this one cannot work with.
    case newerSchema(Int)
    /// The server may lose acknowledged commits because of these settings, such as `fsync = off`.
    case relaxed([String])
    /// The data is not what was written.
    case damaged(String)
    /// There is no connection, or the server refuses an operation.
    case unavailable(reason: String)

    init(_ error: PostgresError) { self = .unavailable(reason: error.description) }
}

extension PostgresStoreError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .noSchema:
            """
            the database has no tables of a store, and this role may not create them: run `coordinatord migrate` as a \
            role that may
            """
        case .olderSchema(let version):
            "the database has schema \(version), this program needs \(Schema.version): run `coordinatord migrate`"
        case .newerSchema(let version):
            "the database has schema \(version), which is too new for this program: run a later version of it"
        case .relaxed(let settings):
            """
            the database server has \(settings.joined(separator: ", ")), and may lose what it has acknowledged: set it \
            to on, or say --durability relaxed
            """
        case .unusableURI(let reason), .secretInURI(let reason), .damaged(let reason), .unavailable(let reason): reason
        }
    }
}
