// What operators' commands do with a store that outlives processes: read it (`StoreReader`), and change it
// (`WritableStore`). Each kind of such a store implements both, so that commands need not know which kind it is.

public import FoundationEssentials

/// A store as commands read it, whether or not servers use it.
///
/// Used by one thread at a time, which it blocks. It throws its own kind of error if it cannot be read; damage of
/// single sessions is part of the results.
public protocol StoreReader: AnyObject {
    /// Sessions in order, ended, expired and damaged ones included.
    ///
    /// - Parameter last: the last session of the page before; `nil` for the first page.
    /// - Returns: no sessions at the end.
    func page(after last: SessionID?) throws -> SessionPage

    /// The sessions that a user is signed in to, in order. Some may be another user's by now.
    func sessions(ofUser user: String) throws -> [SessionID]

    /// The last versions of sessions.
    ///
    /// - Parameter depth: what is read besides, to find damage.
    func loaded(_ ids: ArraySlice<SessionID>, _ depth: ReadingDepth) throws -> [Found<LoadedSession>]

    /// Everything that is kept of sessions.
    func contents(of ids: ArraySlice<SessionID>) throws -> [Found<StoredSession>]

    /// See `SessionStore.secret`.
    func secret() throws -> StoreSecret

    /// What is damaged, so that acknowledged commits may be missing here; `nil` if nothing is.
    var damage: String? { get }

    /// The numbers of the damaged pages of the store's file.
    ///
    /// - Parameter progress: receives how many bytes are done, and how many there are.
    func damagedPages(_ progress: (Int, Int) -> Void) -> [Int]
}

// For a store in a database server, which checks its files itself.
extension StoreReader {
    public var damage: String? { nil }

    public func damagedPages(_ progress: (Int, Int) -> Void) -> [Int] { [] }
}

/// What is read of a session besides its last version. A store may read more.
public enum ReadingDepth: Comparable, Sendable {
    case lastVersion, answers, past
}

/// A session that was looked for: `nil` if there is none.
public typealias Found<Value> = (id: SessionID, value: Result<Value?, SessionDamage>)

/// What is wrong with the stored data of a session.
public struct SessionDamage: Error, CustomStringConvertible {
    public let id: SessionID
    public let what: String

    public init(of id: SessionID, _ what: String) {
        self.id = id
        self.what = what
    }

    public var description: String { "session \(id.text) is damaged: \(what)" }
}

/// Some sessions, and about how many the store has.
public typealias SessionPage = (sessions: [SessionID], total: Int)

/// A store as commands change it. On one that is not shared, no server may run.
public protocol WritableStore: SessionStore {
    /// Forgets a session permanently, whatever its `keptUntil`, even if it is damaged. On a store that is not shared,
    /// it must not be in use.
    ///
    /// - Returns: whether the session existed.
    func forget(_ id: SessionID) async throws(StoreError) -> Bool

    /// Inserts sessions, each whole or not at all.
    ///
    /// - Returns: those that exist already, and stay as they are.
    /// - Throws: the store's own kind of error, or `StoreError`.
    func insert(_ sessions: [StoredSession]) async throws -> Set<SessionID>

    /// Forgets a later time that the store has had.
    ///
    /// - Returns: `false` if its time is not this machine's.
    func reset(clock time: Date) async throws(StoreError) -> Bool
}

extension WritableStore {
    public func reset(clock time: Date) async throws(StoreError) -> Bool { false }
}

/// Everything that a store keeps of a session, for an export or an import.
public struct StoredSession: Sendable {
    public let id: SessionID
    /// The last commit's.
    public let stamp: SessionStamp
    /// Oldest first, without a gap.
    public let versions: [SessionRecord]
    /// Oldest first.
    public let answers: [StoredAnswer]

    public init(id: SessionID, stamp: SessionStamp, versions: [SessionRecord], answers: [StoredAnswer]) {
        self.id = id
        self.stamp = stamp
        self.versions = versions
        self.answers = answers
    }

    /// Without the past; `nil` if no version is kept.
    public var loaded: LoadedSession? {
        versions.last.map { LoadedSession(record: $0, stamp: stamp, answeredKeys: answers.map(\.key)) }
    }
}
