public import Coordinators
public import FoundationEssentials

/// A committed state of a session: what every answer shows. Immutable, and shared by all who look at it.
public final class SessionState: Sendable {
    public let identity: SessionIdentity
    /// 1, 2, 3 … without a gap.
    public let version: Int
    public let expiresAt: Date
    public let navigation: NavigationState
    /// What the next version's record can lean on; `nil` where that has to tell everything.
    let base: RecordBase?
    /// Bytes that its record spends on the state: what is not in an earlier base.
    let savedSize: Int
    /// About how many bytes a session takes in memory with this state, and with what of an earlier one its records need.
    let footprint: Int

    init(
        _ identity: SessionIdentity, version: Int, expiresAt: Date, navigation: NavigationState, base: RecordBase?
    ) {
        self.identity = identity
        self.version = version
        self.expiresAt = expiresAt
        self.navigation = navigation
        self.base = base
        let baseSize = base?.size ?? 0
        let isBase = base?.version == version
        savedSize = isBase ? baseSize : navigation.savedSize(beside: base?.parts)
        footprint = MemoryEstimate.session + MemoryEstimate.bytesPerSavedByte * (savedSize + (isBase ? 0 : baseSize))
    }

    /// A state whose record tells everything.
    convenience init(_ identity: SessionIdentity, version: Int, expiresAt: Date, navigation: NavigationState) {
        let base = RecordBase(version: version, identity, navigation)
        self.init(identity, version: version, expiresAt: expiresAt, navigation: navigation, base: base)
    }

    /// The next version of it.
    ///
    /// - Parameter identity: another one, where the session gets it.
    func next(_ navigation: NavigationState, as identity: SessionIdentity?, expiresAt: Date) -> SessionState {
        let identity = identity ?? self.identity
        guard let base, base.carries(version + 1, of: identity, navigation) else {
            return SessionState(identity, version: version + 1, expiresAt: expiresAt, navigation: navigation)
        }
        return SessionState(
            identity, version: version + 1, expiresAt: expiresAt, navigation: navigation, base: base)
    }

    public var id: SessionID { identity.id }
    public var app: String { identity.app }
}

extension SessionState: Equatable {
    public static func == (left: SessionState, right: SessionState) -> Bool {
        left.identity == right.identity && left.version == right.version && left.expiresAt == right.expiresAt
            && left.navigation == right.navigation
    }
}

/// What came of one event, or of the creation of a session.
public struct AppliedEvent: Sendable {
    /// The state after the event; of the version before, when the event changed nothing.
    public let state: SessionState
    public let transition: Transition
    /// The session's new token, where the event has replaced it.
    public var token: SessionToken?
}

/// What is answered.
public enum Outcome: Sendable {
    case applied(AppliedEvent)
    /// The request had an `Idempotency-Key`: what is kept is answered, the first time and ever after.
    ///
    /// The session's token is not kept: it is told beside the answer where the event has replaced the one before, and as
    /// long as it is not replaced itself.
    case answered(StoredAnswer, isReplay: Bool, token: SessionToken? = nil)
}

/// A session that was just created.
public struct CreatedSession: Sendable {
    public let outcome: Outcome
    public let id: SessionID
    /// Told this once, and again to who repeats the creation under its key.
    public let token: SessionToken
}
