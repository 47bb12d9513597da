internal import Coordinators
public import FoundationEssentials
internal import JSONCoding

/// One version of a session as a store keeps it: a text, and what the store has to know about it.
///
/// A record is either full or a delta record. It is read as a `SessionRecord`, whose file describes the format.
public final class EncodedRecord: Sendable {
    public let identity: SessionIdentity
    /// 1 for a created session; every transition that changes it adds one, and so does its end.
    public let version: Int
    /// When the version was made.
    public let time: Date
    /// When the session may be forgotten: expired and ended sessions are kept for a while, so that their clients learn
    /// that they have expired or ended.
    public let keptUntil: Date
    /// Whether the record is the session's end.
    public let isEnd: Bool
    /// Whether the record only takes something away: a token, or the session, which is over, even if clean-ups remain to
    /// be done. Such a record is accepted also if the store is full.
    public let takesAway: Bool
    /// The base version of a delta record; `nil` for a full record.
    public let baseVersion: Int?
    /// What goes on after this version without a request.
    public let pending: WakeEntry
    /// One line of JSON.
    public let text: [UInt8]

    private init(
        _ identity: SessionIdentity, version: Int, time: Date, keptUntil: Date, isEnd: Bool = false,
        takesAway: Bool = false, baseVersion: Int? = nil, pending: WakeEntry = .nothing, build: Int = 0,
        writeMembers: (inout JSONWriter) -> Void = { _ in }
    ) {
        self.identity = identity
        self.version = version
        self.time = time
        self.keptUntil = keptUntil
        self.isEnd = isEnd
        self.takesAway = isEnd || takesAway
        self.baseVersion = baseVersion
        self.pending = pending
        var writer = JSONWriter(capacity: 2000)
        writer.object { writer in
            if baseVersion == nil {
                writer.encoded(identity.encodedMembers)
            } else {
                writer.member("session", identity.id.text)
            }
            writer.member("version", version)
            writer.member("base", ifAny: baseVersion)
            writer.member("time", time.milliseconds)
            writer.member("keptUntil", keptUntil.milliseconds)
            writer.member("build", ifAny: build == 0 || baseVersion != nil ? nil : build)
            writeMembers(&writer)
        }
        // A copy of the exact size, because `MemoryStore` keeps it.
        text = writer.bytes
    }

    public var id: SessionID { identity.id }
}

extension EncodedRecord {
    /// A state, and the transition that led to it. A delta record if the state has an earlier base version.
    ///
    /// - Parameter build: see `SessionSettings.build`.
    convenience init(_ state: SessionState, _ transition: Transition, at time: Date, keptUntil: Date, build: Int = 0) {
        let base = state.base.flatMap { $0.version < state.version ? $0 : nil }
        let pending = WakeEntry(state.navigation, expiresAt: state.expiresAt)
        self.init(
            state.identity, version: state.version, time: time, keptUntil: keptUntil,
            takesAway: transition.event == BuiltInEvent.tokenRevocation, baseVersion: base?.version, pending: pending,
            build: build
        ) { writer in
            writer.member("expiresAt", state.expiresAt.milliseconds)
            writer.encoded(transition.encodedMembers)
            if let visible = state.navigation.visible {
                writer.name("visible")
                if base == nil {
                    writer.object { $0.encoded(visible.encodedMembers) }
                } else {
                    writer.value(visible.key)
                }
            }
            writer.name("state")
            state.navigation.save(to: &writer, against: base?.parts)
        }
    }

    /// The end of a session, as the version after `version`.
    ///
    /// - Parameter hasExpired: whether it had expired, so that its clients learn just that.
    convenience init(
        endOf identity: SessionIdentity, after version: Int, at time: Date, keptUntil: Date, hasExpired: Bool = false
    ) {
        self.init(
            SessionRecord(
                identity: identity, version: version + 1, time: time, keptUntil: keptUntil, build: 0,
                hasExpired: hasExpired, content: nil))
    }

    /// A full record of the same version as one that was read.
    convenience init(_ record: SessionRecord) {
        self.init(
            record.identity, version: record.version, time: record.time, keptUntil: record.keptUntil,
            isEnd: record.isEnd, takesAway: record.ending != nil, pending: record.pending, build: record.build
        ) { writer in
            guard let content = record.content else {
                return writer.member("hasExpired", ifAny: record.hasExpired ? true : nil)
            }
            writer.member("expiresAt", content.expiresAt.milliseconds)
            writer.member("event", ifAny: content.note.event)
            writer.member("cause", ifAny: content.note.cause)
            writer.member("operations", content.note.operations)
            writer.member("finished", content.note.finished)
            writer.member("dismissed", content.note.dismissed)
            writer.member("visible", content.note.visible)
            writer.member("state", content.state)
        }
    }
}

/// A base version: a version of a session with a full record. The next versions have delta records, which leave out
/// what is the same in this one, so that an event writes only what it has changed, not the whole state.
final class DeltaBase: Sendable {
    /// How many versions after its base version a delta record may be.
    static let maxDistance = 15

    let version: Int
    private let identity: SessionIdentity
    let parts: SharedParts
    /// Bytes of the saved state.
    let size: Int

    init(version: Int, _ identity: SessionIdentity, _ navigation: NavigationState) {
        self.version = version
        self.identity = identity
        self.parts = SharedParts(of: navigation)
        self.size = navigation.savedSize()
    }

    /// Whether the record of `version` is to be a delta record with this base version.
    func suits(_ version: Int, of identity: SessionIdentity, _ navigation: NavigationState) -> Bool {
        version - self.version <= DeltaBase.maxDistance && identity === self.identity
            && parts.coverMost(of: navigation)
    }
}
