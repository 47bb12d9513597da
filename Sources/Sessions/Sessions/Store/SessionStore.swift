public import FoundationEssentials
internal import JSONCoding
public import Measures
public import Sodium

/// Where sessions are kept. It holds ids, versions and texts, and knows no coordinators.
///
/// Several servers may share one: a change states the stamp that it was made from, and a change that comes too late is
/// a conflict, never an overwrite.
public protocol SessionStore: Sendable {
    /// The kind of store and its durability, for `/readyz`: `memory`, `sqlite`, `sqlite-relaxed`, `postgres`.
    var name: String { get }

    /// Whether other servers change the sessions, too. If so, what is in memory counts only once it is confirmed.
    var isShared: Bool { get }

    /// 1, and a higher number each time that the store has lost commits which it had acknowledged: since then a version
    /// may have another content than before.
    var generation: Int { get }

    /// The time: this machine's, or that of the store if servers share it.
    var now: Date { get }

    /// How many sessions there are, including ended and expired ones that are still kept.
    var sessionCount: Int { get }

    /// `KeyedDigest.keySize` random bytes that the store keeps for as long as it keeps sessions.
    var secret: [UInt8] { get }

    /// The latest time of a record or a sweep, among those that the store knew when it was opened.
    var latestTime: Date { get }

    /// The last committed version.
    ///
    /// - Parameter token: a token that the session must have, compared before the record is read; `nil` for any.
    /// - Returns: `nil` if there is no such session, it is no longer kept, or it has no such token.
    func load(_ id: SessionID, token: SHA256Digest?) async throws(StoreError) -> LoadedSession?

    /// The sessions that were forked from this one, as far as they are known; some may have ended.
    func forks(of id: SessionID) async throws(StoreError) -> [SessionID]

    /// The sessions that a user is signed in to, as far as they are known. Some may have ended, or be another user's by
    /// now.
    func sessions(ofUser user: String) async throws(StoreError) -> [SessionID]

    /// The store's health, for `/readyz`.
    var condition: StoreCondition { get }

    /// What it has counted since it was opened; `nil` if nothing.
    var measures: StoreMeasures? { get }

    /// The length of its queue, and its size, now.
    var figures: StoreFigures { get }

    /// Versions of a session, newest first, as far back as they are kept.
    ///
    /// - Parameters:
    ///   - version: the newest version to return; `nil` for the last committed one.
    ///   - limit: the most versions to return.
    ///   - bytes: the most bytes of records to read. The first version is returned whatever its size.
    func history(
        of id: SessionID, from version: Int?, limit: Int, bytes: Int
    ) async throws(StoreError) -> [SessionRecord]

    /// The answer that is kept under the key.
    func answer(to key: String, of id: SessionID) async throws(StoreError) -> StoredAnswer?

    /// Whether the stamp is still the session's. Only a shared store has to look.
    func isCurrent(_ stamp: SessionStamp, of id: SessionID) async throws(StoreError) -> Bool

    /// What all servers have committed since `position`, for those who watch sessions.
    ///
    /// - Parameter position: from an earlier call; `nil` to begin.
    func changes(since position: FeedPosition?) async throws(StoreError) -> StoreChanges

    /// The pairing codes of all servers; `nil` if the store is not shared, and each server keeps its own.
    var pairings: (any PairingStore)? { get }

    /// Commits together all changes whose expected stamp is the stored one. A store that writes to disk groups what
    /// several callers commit at the same time.
    ///
    /// - Returns: the conflicts, once the other changes are as durable as the store makes them.
    func commit(_ changes: [SessionChange]) async -> CommitOutcome

    /// Forgets up to `limit` sessions that need not be kept any longer at `now`.
    ///
    /// - Returns: the ids of the forgotten sessions.
    func sweep(at now: Date, limit: Int) async throws(StoreError) -> [SessionID]

    /// Sessions whose next timer is due, the earliest first. What is committed when this is called counts, whoever
    /// committed it; a session may have changed since, so its state says whether there is something to do.
    ///
    /// A session is returned again and again until a commit or `postpone` has changed its entry. Servers that share a
    /// store may get the same ones: one of their commits wins.
    ///
    /// - Parameters:
    ///   - now: to the millisecond.
    ///   - limit: the most timers to return.
    func dueTimers(at now: Date, limit: Int) async throws(StoreError) -> [DueTimer]

    /// Changes when `dueTimers` returns these sessions again: for those that cannot be woken, which would be in the way
    /// of others, and for those that have expired. An entry that was changed since it was returned stays as it is.
    ///
    /// It is not a commit: the session's state, version and stamp stay, and the store may forget it, for example when it
    /// is opened again.
    ///
    /// - Parameter time: `nil` for never.
    func postpone(_ timers: [DueTimer], until time: Date?) async throws(StoreError)

    /// Sessions with effects under way that this server has to perform, in the order of their ids, a page at a time.
    /// Call it when the server starts, and after it has lost track.
    ///
    /// A store that is not shared returns all of them. In a shared one, the server whose commit was a session's last one
    /// performs its effects. Returned are the server's own sessions, and those of servers that are gone: from then on
    /// these are its own, so that only one server takes them over. So call it now and then.
    ///
    /// - Parameters:
    ///   - last: the last session of the page before; `nil` for the first page.
    ///   - limit: the most sessions to return.
    /// - Returns: no sessions at the end.
    func sessionsWithEffects(after last: SessionID?, limit: Int) async throws(StoreError) -> [SessionID]

    /// Leaves the effects of these sessions, which this server cannot perform, to the other servers of a shared store.
    func leaveEffects(of sessions: [SessionID]) async throws(StoreError)

    /// Stops the store's background work. The store may not be used afterwards.
    func close() async
}

/// A session as a store returns it.
public struct LoadedSession: Sendable {
    public let record: SessionRecord
    public let stamp: SessionStamp
    /// The keys whose answers are kept: those of clients oldest first, and those of services.
    public let answeredKeys: [String]

    public init(record: SessionRecord, stamp: SessionStamp, answeredKeys: [String]) {
        self.record = record
        self.stamp = stamp
        self.answeredKeys = answeredKeys
    }
}

/// Identifies a commit of a session.
public struct SessionStamp: Sendable, Hashable {
    /// The session's version.
    public let version: Int
    /// How many commits the session has had, those included that keep an answer and make no version. A store that is
    /// not shared may compare the version alone.
    public let commits: Int
    /// The store's `generation` then.
    public let generation: Int

    /// - Parameter commits: `nil` if every commit has made a version.
    public init(version: Int, commits: Int? = nil, generation: Int = 1) {
        self.version = version
        self.commits = commits ?? version
        self.generation = generation
    }

    /// Of a session that does not exist yet.
    public static let none = none(in: 1)

    public static func none(in generation: Int) -> SessionStamp { SessionStamp(version: 0, generation: generation) }

    /// After one more commit.
    ///
    /// - Parameter version: the new one if the commit makes one.
    public func next(version: Int?) -> SessionStamp {
        SessionStamp(version: version ?? self.version, commits: commits + 1, generation: generation)
    }

    /// Whether the other stamp is later, as far as one server can know.
    ///
    /// A store that is not shared forgets how many commits there were without a version: the version comes first.
    func precedes(_ other: SessionStamp) -> Bool {
        (generation, version, commits) < (other.generation, other.version, other.commits)
    }
}

/// A position in the feed of a shared store: the changes up to there are known.
public struct FeedPosition: Sendable {
    /// The number of the last known batch by lane: each server commits its batches in a few lanes, and numbers them in
    /// each from 1 on.
    public var lanes: [Int: Int]
    /// When it was read.
    public var time: ContinuousClock.Instant

    public init(lanes: [Int: Int], time: ContinuousClock.Instant) {
        self.lanes = lanes
        self.time = time
    }
}

/// What was committed between two positions.
public struct StoreChanges: Sendable {
    /// The newest version of each changed session.
    public let versions: [SessionID: Int]
    /// Whether `versions` has all changes. `false` at the beginning, and after a pause so long that the store has
    /// deleted some.
    public let isComplete: Bool
    public let position: FeedPosition

    public init(versions: [SessionID: Int], isComplete: Bool, position: FeedPosition) {
        self.versions = versions
        self.isComplete = isComplete
        self.position = position
    }
}

/// How much of a session's past is kept.
public struct Retention: Sendable, Equatable {
    /// Versions, the current one included; at least that one is kept.
    public let versions: Int
    /// Answers under an `Idempotency-Key`: so many to the session's clients, and so many to services.
    public let answers: Int
    /// Bytes of the versions' records together: above that, older versions are dropped, but never the current one.
    public let versionBytes: Int
    /// Bytes of the answers' bodies together, to clients and to services: above that, the bodies of older answers are
    /// dropped, but never the last one's. Their keys stay, because what was applied is never applied again.
    public let answerBytes: Int

    public init(
        versions: Int = 100, answers: Int = 256, versionBytes: Int = 4 << 20, answerBytes: Int = 1 << 20
    ) {
        self.versions = max(1, versions)
        self.answers = max(1, answers)
        self.versionBytes = versionBytes
        self.answerBytes = answerBytes
    }

    /// How many versions a store retains: `versions`, and earlier ones that may be their base versions.
    public var retainedVersions: Int { min(versions, .max - DeltaBase.maxDistance) + DeltaBase.maxDistance }
}

/// A change of one session to commit: its next version, an answer to keep, or both.
public final class SessionChange: Sendable {
    public let id: SessionID
    /// What it was made from; `none` for a new session.
    public let expected: SessionStamp
    /// The next version; `nil` where the event changed nothing.
    public let record: EncodedRecord?
    public let answer: StoredAnswer?
    /// Whether the change is accepted also if the store is full: it only takes something away.
    public let takesAway: Bool

    /// - Parameter takesAway: given only for an answer that takes the place of a larger one.
    public init(
        id: SessionID, expected: SessionStamp, record: EncodedRecord?, answer: StoredAnswer? = nil,
        takesAway: Bool? = nil
    ) {
        self.id = id
        self.expected = expected
        self.record = record
        self.answer = answer
        self.takesAway = takesAway ?? (record?.takesAway == true && answer == nil)
    }

    /// The session's stamp once it is committed.
    public var stamp: SessionStamp { expected.next(version: record?.version) }
}

/// The sessions whose changes were not made, because their stamp is not the one that the change was made from, or
/// another server is changing them at this moment: in the order of the changes; none if all changes were committed.
public typealias CommitOutcome = Result<[SessionID], StoreError>

extension SessionStore {
    public func close() {}

    public var condition: StoreCondition { StoreCondition() }

    public var measures: StoreMeasures? { nil }

    public var figures: StoreFigures { StoreFigures() }
}

// A store of one server.
extension SessionStore {
    public var isShared: Bool { false }

    public var generation: Int { 1 }

    public var now: Date { Date() }

    public var pairings: (any PairingStore)? { nil }

    public func leaveEffects(of sessions: [SessionID]) {}

    public func isCurrent(_ stamp: SessionStamp, of id: SessionID) -> Bool { true }

    public func changes(since position: FeedPosition?) -> StoreChanges {
        StoreChanges(
            versions: [:], isComplete: true, position: position ?? FeedPosition(lanes: [:], time: .now))
    }
}

/// The health of a store.
public struct StoreCondition: Sendable, Equatable {
    /// Why nothing can be committed now; `nil` if changes can be.
    public var failure: String?
    /// Whether there is no room: sessions can be read and ended, nothing else is accepted.
    public var isFull: Bool
    /// What else an operator should know, for example damage.
    public var remarks: [String]

    /// - Parameter full: the remark of a store that has no room; `nil` if there is room.
    public init(failure: String? = nil, full: String? = nil, remarks: [String] = []) {
        self.failure = failure
        self.isFull = full != nil
        self.remarks = (full.map { [$0] } ?? []) + remarks
    }
}

/// Why a store cannot do its work.
public enum StoreError: Error, Equatable, Sendable {
    /// The store is full. Nothing was changed; it works again when there is room.
    case full
    /// Nothing was changed; it may work later.
    case unavailable(reason: String)
    /// The store's data of this session is damaged. Nothing was changed.
    case damaged(reason: String)
    /// It is unknown whether the change was made.
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

/// What a store counts about its commits.
public final class StoreMeasures: Sendable {
    /// Changes that were committed together.
    public let batchSizes = Distributions(bounds: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512])
    /// How long committing them together took, in nanoseconds, until they were as durable as the store makes them.
    public let commits = Distributions(bounds: Distributions.durationBounds)

    public init() {}

    /// - Parameter duration: in nanoseconds.
    public func add(changes: Int, in duration: Int) {
        batchSizes.add(changes)
        commits.add(duration)
    }
}

/// What a store says about itself now; `nil` where it has no such thing.
public struct StoreFigures: Sendable {
    /// Commits that are waiting or being written.
    public var waiting: Int?
    /// How long the one that came first has been waiting, in seconds; 0 if none is.
    public var longestWait: Double?
    /// Bytes of the file, or about how many bytes of memory.
    public var bytes: Int?
    /// What counts for the limit of its size: without free pages of the file.
    public var usedBytes: Int?
    /// When the store was last copied by the command `backup`.
    public var backedUpAt: Date?
    /// Bytes of the write-ahead log.
    public var logBytes: Int?
    /// Rows of the journal that are to be compacted next, and the bytes of their texts.
    public var uncompactedRows: Int?
    public var uncompactedBytes: Int?

    public init() {}
}

/// A store's secret as a line of an export: `{"secret": "(64 hexadecimal digits)"}`.
///
/// Whoever knows it and the `Idempotency-Key` of a creation can derive the session's token.
public struct StoreSecret: Sendable, Equatable {
    public let bytes: [UInt8]

    /// - Returns: `nil` if the number of bytes is not that of a secret.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == KeyedDigest.keySize else { return nil }
        self.bytes = bytes
    }

    /// - Returns: `nil` if the line is not a secret's.
    public init?(parsing line: [UInt8]) {
        guard let json = try? JSON(record: line), let text = json["secret"]?.string, json["session"] == nil,
            let bytes = Hexadecimal.bytes(of: text)
        else { return nil }
        self.init(bytes)
    }

    public var encoded: [UInt8] { Array("{\"secret\":\"\(Hexadecimal.text(of: bytes))\"}".utf8) }
}
