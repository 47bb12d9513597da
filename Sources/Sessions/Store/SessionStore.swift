public import FoundationEssentials
public import Sodium

/// Where sessions are kept. It holds ids, versions and texts, and knows no coordinators.
///
/// Several servers may share one: a commit states the version that it was made from, and one that comes too late is a
/// conflict, never an overwrite.
public protocol SessionStore: Sendable {
    /// What the store is, and promises, for `/readyz`: `memory`, `sqlite`, `sqlite-relaxed`.
    var name: String { get }

    /// How many sessions there are, the ended and expired ones among them that are still known.
    var sessionCount: Int { get }

    /// `KeyedDigest.keySize` random bytes that the store keeps for as long as it keeps sessions.
    var secret: [UInt8] { get }

    /// The latest time that a record tells, or that was swept at, among what the store knew when it was opened.
    var latestTime: Date { get }

    /// The last committed version.
    ///
    /// - Parameter token: the one that the session must have, compared before the record is read; `nil` for any.
    /// - Returns: `nil` where there is no such session, or none any more, or where it has another token.
    func load(_ id: SessionID, token: SHA256Digest?) async throws(StoreError) -> LoadedSession?

    /// The sessions that were forked from this one, as far as they are known; ended ones may be among them.
    func forks(of id: SessionID) async throws(StoreError) -> [SessionID]

    /// How it is, for `/readyz`.
    var condition: StoreCondition { get }

    /// Versions of a session, newest first, as far back as they are kept.
    ///
    /// - Parameters:
    ///   - version: the newest one wanted; `nil` for the last committed.
    ///   - limit: how many are wanted at most.
    ///   - bytes: that may be read for these. The first one is returned whatever it takes.
    func history(
        of id: SessionID, from version: Int?, limit: Int, bytes: Int
    ) async throws(StoreError) -> [SessionRecord]

    /// The answer that is kept under the key.
    func answer(to key: String, of id: SessionID) async throws(StoreError) -> StoredAnswer?

    /// Commits each change that fits, all at once. A store that writes to disk gathers what several callers commit at
    /// the same time.
    ///
    /// - Returns: when the changes are as safe as the store makes them.
    func commit(_ changes: [SessionChange]) async -> CommitOutcome

    /// Forgets up to `limit` sessions that need not be kept any longer at `now`.
    ///
    /// - Returns: the ids of those that were forgotten.
    func sweep(at now: Date, limit: Int) async throws(StoreError) -> [SessionID]

    /// Ends what the store does behind the traffic. Nothing may be asked of it after.
    func close() async
}

/// A session as it comes back from a store.
public struct LoadedSession: Sendable {
    public let record: SessionRecord
    /// The keys whose answers are kept, oldest first.
    public let answeredKeys: [String]

    public init(record: SessionRecord, answeredKeys: [String]) {
        self.record = record
        self.answeredKeys = answeredKeys
    }
}

/// How much of a session's past is kept.
public struct Retention: Sendable, Equatable {
    /// Versions, the current one included; at least that one is kept.
    public let versions: Int
    /// Answers under an `Idempotency-Key`.
    public let answers: Int
    /// Bytes of the versions' records together: beyond, older versions go, but never the current one.
    public let versionBytes: Int
    /// Bytes of the answers' bodies together: beyond, the bodies of older answers go, but never the last one's. Their keys
    /// stay, for what was applied is never applied again.
    public let answerBytes: Int

    public init(
        versions: Int = 100, answers: Int = 256, versionBytes: Int = 4 << 20, answerBytes: Int = 1 << 20
    ) {
        self.versions = max(1, versions)
        self.answers = max(1, answers)
        self.versionBytes = versionBytes
        self.answerBytes = answerBytes
    }

    /// The versions, and those that their records may lean on.
    public var versionsLeanedOn: Int { min(versions, .max - SessionRecord.reach) + SessionRecord.reach }
}

/// What is to be committed of one session: its next version, an answer to be kept, or both.
public struct SessionChange: Sendable {
    public let id: SessionID
    /// The version that it was made from; 0 for a session that is new.
    public let expectedVersion: Int
    /// The next version; `nil` where the event changed nothing.
    public let record: SessionRecord?
    public let answer: StoredAnswer?

    public init(id: SessionID, expectedVersion: Int, record: SessionRecord?, answer: StoredAnswer? = nil) {
        self.id = id
        self.expectedVersion = expectedVersion
        self.record = record
        self.answer = answer
    }
}

/// The conflicts, in the order of the changes; none where all were committed.
public typealias CommitOutcome = Result<[CommitConflict], StoreError>

extension SessionStore {
    public func close() {}

    public var condition: StoreCondition { StoreCondition() }
}

/// How a store is.
public struct StoreCondition: Sendable, Equatable {
    /// Why nothing can be committed now; `nil` where it can.
    public var failure: String?
    /// What else an operator should know: damage for one.
    public var remarks: [String]

    /// The remark of a store that has no room.
    public static let full = "the store is full: sessions can only be read, and ended where the disk has room for that"

    public init(failure: String? = nil, remarks: [String] = []) {
        self.failure = failure
        self.remarks = remarks
    }
}

/// A change that was not made, because the stored version is not the one it was made from.
public struct CommitConflict: Error, Sendable, Equatable {
    public let id: SessionID
    /// The version that is stored; 0 where there is no such session.
    public let current: Int

    public init(id: SessionID, current: Int) {
        self.id = id
        self.current = current
    }
}

/// Why a store cannot do its work.
public enum StoreError: Error, Equatable, Sendable {
    /// There is no room for it. Nothing was changed; it works again when there is.
    case full
    /// Nothing was changed; it may work later.
    case unavailable(reason: String)
    /// What it has of this session is damaged. Nothing was changed.
    case damaged(reason: String)
    /// It cannot be told whether the change was made.
    case unknownOutcome(reason: String)
}

extension StoreError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .full: "the store is full"
        case .unavailable(let reason), .damaged(let reason), .unknownOutcome(let reason): reason
        }
    }
}
