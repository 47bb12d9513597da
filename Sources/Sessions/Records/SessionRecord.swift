internal import Coordinators
public import FoundationEssentials
public import JSONCoding
internal import Sodium

/// One version of a session as a store keeps it: the state, and what led to it. Immutable.
///
/// To a store it is an id, a version and a text; see `SessionRecord+Text.swift` for what is in the text.
public final class SessionRecord: Sendable {
    enum Content: Sendable {
        /// Committed by this process.
        case state(SessionState, Transition)
        /// Read back from a store: the state, when the session expires, and the members that tell the transition. Its text
        /// may have told everything or leant on an earlier version's.
        case saved(JSON, expiresAt: Date, note: TransitionNote, isWhole: Bool, size: Int)
        /// The session has ended.
        case ended
    }

    public let identity: SessionIdentity
    /// 1 when the session was created, one more with every transition that changed it, and with its end.
    public let version: Int
    /// When it was made.
    public let time: Date
    /// When the session may be forgotten: expired and ended ones are known for a while, so that their clients can be
    /// told.
    public let keptUntil: Date
    /// Of its text, in bytes. Not counted: of one that was not read back it is an estimate.
    public let size: Int
    let content: Content

    init(_ identity: SessionIdentity, version: Int, time: Date, keptUntil: Date, content: Content) {
        self.identity = identity
        self.version = version
        self.time = time
        self.keptUntil = keptUntil
        self.content = content
        size =
            switch content {
            case .state(let state, let transition): state.savedSize + transition.encodedMembers.count + 300
            case .saved(_, _, _, _, let size): size
            case .ended: 300
            }
    }

    public var id: SessionID { identity.id }

    /// No session comes to as many versions by counting; what is added to one does not overflow.
    static let versionLimit = 1 << 53
    /// The same of a session that is brought in from elsewhere: it can be counted on from there.
    public static let importLimit = 1 << 52

    /// So many versions before it may be the one that a record leans on.
    public static let reach = 15

    /// What its text is to lean on; `nil` where that tells everything.
    var base: RecordBase? {
        guard case .state(let state, _) = content, let base = state.base, base.version < version else { return nil }
        return base
    }

    /// The version whose record this one completes, where it is a delta record; `nil` where it is a full one.
    public var baseVersion: Int? { base?.version }

    /// Whether the store has a text of it that tells everything.
    var isWhole: Bool {
        if case .saved(_, _, _, let isWhole, _) = content { isWhole } else { base == nil }
    }

    /// Whether it is the session's end.
    public var isEnd: Bool {
        if case .ended = content { true } else { false }
    }

    /// When the session expires unless it is used; `nil` once it has ended.
    public var expiresAt: Date? {
        switch content {
        case .state(let state, _): state.expiresAt
        case .saved(_, let expiresAt, _, _, _): expiresAt
        case .ended: nil
        }
    }

    /// The type of the event that led here; `nil` for the first version and the end.
    public var event: String? { note?.event }

    /// What is told of the transition; `nil` for the end.
    public var note: TransitionNote? {
        switch content {
        case .state(let state, let transition): TransitionNote(transition, visible: state.navigation.visible)
        case .saved(_, _, let note, _, _): note
        case .ended: nil
        }
    }

    /// The state as it is saved; `nil` for the end.
    var savedState: JSON? {
        switch content {
        case .state(let state, _): try? JSON(parsing: state.navigation.encoded, maximumDepth: Self.depthLimit)
        case .saved(let state, _, _, _, _): state
        case .ended: nil
        }
    }

    /// Tabs in tabs nest a saved state deeper than any request may be.
    static let depthLimit = 512
}

/// What the history tells of a transition: never a payload.
public struct TransitionNote: Sendable, Equatable {
    public let event: String?
    /// The screen that the user saw after it: key, name, title, parameters.
    public let visible: JSON
    public let operations: JSON
    public let finished: JSON
    /// `nil` where an earlier build has recorded it.
    public let dismissed: JSON?
}

extension TransitionNote {
    init(_ transition: Transition, visible: PlacedScreen?) {
        self.event = transition.event
        self.visible = visible.map { JSON(rewritten: $0.encodedMembers) } ?? .null
        let members = JSON(rewritten: transition.encodedMembers)
        self.operations = members["operations"] ?? []
        self.finished = members["finished"] ?? []
        self.dismissed = members["dismissed"]
    }
}

extension JSON {
    /// What was just written as text, as a value.
    ///
    /// - Parameter members: an object's, without the braces.
    fileprivate init(rewritten members: [UInt8]) {
        let text = Array("{".utf8) + members + Array("}".utf8)
        self = (try? JSON(parsing: text, maximumDepth: SessionRecord.depthLimit)) ?? .null
    }
}
