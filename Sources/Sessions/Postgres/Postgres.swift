// Postgres: the only Swift wrapper of libpq, no larger than needed: connect, prepare, run, read. Parameters and results
// are binary, and every call ends at its deadline, whatever the network does. It knows no tables, and retries nothing:
// its errors say whether a statement may have been carried out (`PostgresError`).
//
// libpq is used without blocking in it, except to resolve names (getaddrinfo(3) has no deadline); `poll` waits instead.
// A connection therefore blocks its owner's thread, which must not be one that Swift's tasks run on.

internal import ByteText

/// Why a statement has no result.
public enum PostgresError: Error, Equatable, Sendable {
    /// There is no connection, or it was lost before the statement was sent: nothing was changed.
    case notSent(reason: String)
    /// The connection was lost after the statement was sent: it is unknown whether it was carried out. `state` is what
    /// the server reported last, if anything.
    case lost(reason: String, state: SQLState?)
    /// There was no answer at the deadline: it is unknown whether the statement was carried out. The connection is
    /// closed.
    case deadline
    /// The server has refused the statement, and rolled back what it had changed. The connection can be used.
    case refused(SQLState, message: String, constraint: String?)
}

extension PostgresError {
    /// Whether the statement certainly has changed nothing.
    public var isCertain: Bool {
        switch self {
        case .notSent, .refused: true
        case .lost, .deadline: false
        }
    }

    public var state: SQLState? {
        switch self {
        case .refused(let state, _, _): state
        case .lost(_, let state): state
        case .notSent, .deadline: nil
        }
    }
}

extension PostgresError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notSent(let reason): reason
        case .lost(let reason, let state): state.map { "\(reason) (SQLSTATE \($0))" } ?? reason
        case .deadline: "the database did not answer in time"
        case .refused(let state, let message, _): "\(message) (SQLSTATE \(state))"
        }
    }
}

/// A code of PostgreSQL's Appendix A: five characters, of which the first two are the class.
public struct SQLState: Equatable, Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    public let code: String

    public init(_ code: String) { self.code = code }

    public init(stringLiteral code: String) { self.init(code) }

    public var description: String { code }

    public func isIn(class prefix: String) -> Bool { code.begins(with: prefix) }
}
