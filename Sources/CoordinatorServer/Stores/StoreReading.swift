internal import ArgumentParser
internal import Sessions

/// A store as commands read it, whether or not servers use it. Both kinds of store fulfil it.
///
/// Used by one thread at a time, which it blocks. What a method throws is an exit code, after the reason was printed to
/// standard error; damage of single sessions is part of the results.
protocol StoreReading: AnyObject {
    /// About how many sessions there are.
    func sessionCount() throws -> Int

    /// Sessions in order, ended, expired and damaged ones included.
    ///
    /// - Parameter last: the last session of the page before; `nil` for the first page.
    /// - Returns: no sessions at the end.
    func page(after last: SessionID?) throws -> SessionPage

    /// The sessions that a user is signed in to, in order. Some may be another user's by now.
    func sessions(ofUser user: String) throws -> [SessionID]

    /// The last versions of sessions.
    func loaded(_ ids: ArraySlice<SessionID>) throws -> [Found<LoadedSession>]

    /// Everything that is kept of sessions.
    func contents(of ids: ArraySlice<SessionID>) throws -> [Found<StoredSession>]

    /// The last versions of sessions, whose answers are read, too, to find damage.
    ///
    /// - Parameter withPast: whether the earlier versions are read as well.
    func checked(_ ids: ArraySlice<SessionID>, withPast: Bool) throws -> [Found<SessionRecord>]

    /// See `SessionStore.secret`.
    func secret() throws -> StoreSecret

    /// A command that needs a session cannot read it: prints why to standard error.
    func cannotRead(_ id: SessionID, _ damage: SessionDamage) -> ExitCode

    /// Why what servers have acknowledged may not be seen here; `nil` if it is.
    var damage: String? { get }

    /// The numbers of the damaged pages of the store's file.
    ///
    /// - Parameter progress: receives how many bytes are done, and how many there are.
    func damagedPages(_ progress: (Int, Int) -> Void) -> [Int]
}

extension StoreReading {
    var damage: String? { nil }

    func damagedPages(_ progress: (Int, Int) -> Void) -> [Int] { [] }
}

/// A session that was looked for: `nil` if there is none.
typealias Found<Value> = (id: SessionID, value: Result<Value?, SessionDamage>)

/// What is wrong with the stored data of a session.
struct SessionDamage: Error {
    let what: String
}

struct SessionPage {
    let sessions: [SessionID]
    /// Whether the list is certainly complete: damage may hide sessions.
    let isWhole: Bool
}
