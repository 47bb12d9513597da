public import Coordinators
public import FoundationEssentials
internal import Synchronization

/// A committed state of a session: what every answer shows. Immutable, and shared by all its readers.
public final class SessionState: Sendable {
    public let identity: SessionIdentity
    let stamp: SessionStamp
    public let expiresAt: Date
    public let navigation: NavigationState
    /// The number of the device that this drawing of the state is for, or of the first one that says the same about itself;
    /// 0 if it is the one that is stored, drawn for the device that acted last.
    public let drawing: Int
    /// The build that shows the state, if another one has made it; 0 if not.
    private let shownBy: Int
    /// The base version of this version's record, or this version itself if that is a full record. The next version's
    /// record has the same base if it suits; without one it is a full record.
    let base: DeltaBase?
    /// Bytes of the state in its record, without what is in an earlier base version.
    let savedSize: Int
    /// About how many bytes a session takes in memory with this state in all its drawings, and the base version that its next
    /// record needs.
    let footprint: Int
    /// The drawings for devices that say something else about themselves.
    private let drawings = Mutex<[SessionState]>([])

    init(
        _ identity: SessionIdentity, stamp: SessionStamp, expiresAt: Date, navigation: NavigationState,
        base: DeltaBase?, shownBy: Int = 0
    ) {
        self.identity = identity
        self.stamp = stamp
        self.expiresAt = expiresAt
        self.navigation = navigation
        self.drawing = 0
        self.shownBy = shownBy
        self.base = base
        let baseSize = base?.size ?? 0
        let isBase = base?.version == stamp.version
        savedSize = isBase ? baseSize : navigation.savedSize(beside: base?.parts)
        let size = (savedSize + (isBase ? 0 : baseSize)) * identity.kindsOfDevices
        footprint = MemoryEstimate.session + MemoryEstimate.bytesPerSavedByte * size
    }

    /// Another drawing of a state.
    private init(_ state: SessionState, drawnAs navigation: NavigationState, for device: Device, of app: App) {
        // The same on every server, whichever device looks first.
        let same = state.identity.tokens.first { token in
            state.identity.device(of: token.digest, in: app)?.seesTheSame(as: device) ?? false
        }
        drawing = same?.number ?? device.number
        identity = state.identity
        stamp = state.stamp
        expiresAt = state.expiresAt
        self.navigation = navigation
        shownBy = state.shownBy
        base = state.base
        savedSize = state.savedSize
        footprint = state.footprint
    }

    /// The state as a device sees it, drawn once for all devices that say the same about themselves.
    ///
    /// - Parameter device: `nil` for the one that acted last.
    func drawn(for device: Device?, of app: App) throws(SessionError) -> SessionState {
        guard let device, !navigation.isDrawn(for: device) else { return self }
        func known(_ drawings: [SessionState]) -> SessionState? {
            drawings.first { $0.navigation.isDrawn(for: device) }
        }
        if let known = drawings.withLock({ known($0) }) { return known }
        let drawn: SessionState
        do throws(NavigationError) {
            drawn = SessionState(self, drawnAs: try app.drawing(of: navigation, for: device), for: device, of: app)
        } catch {
            throw .refused(error, state: self)
        }
        return drawings.withLock { drawings in
            if let known = known(drawings) { return known }
            drawings.append(drawn)
            return drawn
        }
    }

    /// A state with a full record.
    convenience init(
        _ identity: SessionIdentity, stamp: SessionStamp, expiresAt: Date, navigation: NavigationState
    ) {
        let base = DeltaBase(version: stamp.version, identity, navigation)
        self.init(identity, stamp: stamp, expiresAt: expiresAt, navigation: navigation, base: base)
    }

    /// The next version of the session.
    ///
    /// - Parameter identity: the new one if it changes; `nil` if not.
    func next(_ navigation: NavigationState, as identity: SessionIdentity?, expiresAt: Date) -> SessionState {
        let identity = identity ?? self.identity
        let stamp = stamp.next(version: version + 1)
        guard let base, base.suits(stamp.version, of: identity, navigation) else {
            return SessionState(identity, stamp: stamp, expiresAt: expiresAt, navigation: navigation)
        }
        return SessionState(identity, stamp: stamp, expiresAt: expiresAt, navigation: navigation, base: base)
    }

    /// The same after a commit that kept an answer.
    func withAnswer() -> SessionState {
        SessionState(
            identity, stamp: stamp.next(version: nil), expiresAt: expiresAt, navigation: navigation, base: base,
            shownBy: shownBy)
    }

    /// Whether it is drawn for a device that may only look.
    var isForOnlooker: Bool { navigation.role?.mayAct == false }
    /// 1, 2, 3 … without a gap.
    public var version: Int { stamp.version }
    public var tag: VersionTag { VersionTag(version, generation: stamp.generation, build: shownBy) }
    public var id: SessionID { identity.id }
    public var app: String { identity.app }
    /// Living coordinators.
    var coordinatorCount: Int { navigation.coordinators.count }
}

extension SessionState: Equatable {
    public static func == (left: SessionState, right: SessionState) -> Bool {
        left.identity == right.identity && left.version == right.version && left.expiresAt == right.expiresAt
            && left.navigation == right.navigation
    }
}

/// The result of one event, or of creating a session.
public final class AppliedEvent: Sendable {
    /// The state after the event; its version is the one before if the event changed nothing.
    public let state: SessionState
    public let transition: Transition
    /// The session's new token, if the event has replaced it.
    public let token: SessionToken?
    /// The code that the event's client gets for another device, see `Navigator.requestPairingCode`.
    public let pairing: OpenPairing?
    /// Whether the event was not carried out: the state has an alert that has to be answered first.
    let asksFirst: Bool

    init(
        state: SessionState, transition: Transition, token: SessionToken? = nil, pairing: OpenPairing? = nil,
        asksFirst: Bool = false
    ) {
        self.state = state
        self.transition = transition
        self.token = token
        self.pairing = pairing
        self.asksFirst = asksFirst
    }
}

/// The answer to a request.
public indirect enum Outcome: Sendable {
    case applied(AppliedEvent)
    /// The request had an `Idempotency-Key`: the stored answer is sent, the first time and on every replay.
    ///
    /// The session's token is not in it: the token is returned beside the answer if the event replaced an earlier one,
    /// and only while it has not been replaced itself. Nor is a pairing code in it, which only the client that posted the
    /// event gets. `replayedAt` is the session's version now, if this is a replay.
    /// `generation` is the store's.
    case answered(
        StoredAnswer, generation: Int, replayedAt: Int? = nil, token: SessionToken? = nil,
        pairing: OpenPairing? = nil)
}

extension Outcome {
    /// - Parameter answer: what is kept for replays; `nil` if the request had no `Idempotency-Key`.
    init(of applied: AppliedEvent, keeping answer: StoredAnswer?) {
        guard let answer else {
            self = .applied(applied)
            return
        }
        self = .answered(
            answer, generation: applied.state.stamp.generation, token: applied.token, pairing: applied.pairing)
    }

    /// The session's new token, if the event has replaced it.
    public var token: SessionToken? {
        switch self {
        case .applied(let applied): applied.token
        case .answered(_, _, _, let token, _): token
        }
    }

    /// The code that the event's client gets for another device.
    public var pairing: OpenPairing? {
        switch self {
        case .applied(let applied): applied.pairing
        case .answered(_, _, _, _, let pairing): pairing
        }
    }

    /// The session's version after the request, when it was carried out.
    public var version: Int {
        switch self {
        case .applied(let applied): applied.state.version
        case .answered(let answer, _, _, _, _): answer.version
        }
    }

    /// What is kept for replays of the request.
    package var kept: StoredAnswer? { if case .answered(let answer, _, _, _, _) = self { answer } else { nil } }

    /// The sessions that the event ends.
    var endings: [SessionEnding] {
        switch self {
        case .applied(let applied): applied.transition.changes?.sessionEndings ?? []
        case .answered(let answer, _, _, _, _): answer.endings
        }
    }
}

/// A session that was just created.
public struct CreatedSession: Sendable {
    public let outcome: Outcome
    public let id: SessionID
    /// Returned only here, and again on a replay of the creation under its key.
    public let token: SessionToken
}
