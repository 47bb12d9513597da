public import FoundationEssentials
public import JSONCoding

/// One version of a session, read from a store: the state, and the transition that led to it.
public struct SessionRecord: Sendable {
    struct Content: Sendable {
        let expiresAt: Date
        let note: TransitionNote
        /// As `NavigationState.encoded` writes it.
        let state: JSON
    }

    public let identity: SessionIdentity
    /// See `EncodedRecord`.
    public let version: Int
    /// When the version was made.
    public let time: Date
    /// When the session may be forgotten.
    public let keptUntil: Date
    /// Whether it was read from a full record.
    let isFull: Bool
    /// `nil` for the session's end.
    let content: Content?

    public var id: SessionID { identity.id }

    /// The largest version of a session; one more does not overflow. No session gets there by counting.
    static let versionLimit = 1 << 53
    /// The largest version of an imported session, which leaves room for the versions after it.
    public static let importLimit = 1 << 52

    /// How deep a record may be nested. Tabs in tabs nest a saved state deeper than a request may be.
    static let depthLimit = 512

    /// Whether the session ended with this version.
    public var isEnd: Bool { content == nil }

    /// When the session expires unless it is used; `nil` once it has ended.
    public var expiresAt: Date? { content?.expiresAt }

    /// The type of the event that led here; `nil` for the first version and the end.
    public var event: String? { note?.event }

    /// What the history shows of the transition; `nil` for the end.
    public var note: TransitionNote? { content?.note }

    /// The same version as a full record.
    public var encoded: EncodedRecord { EncodedRecord(self) }
}

/// What the history shows of a transition: never a payload.
public struct TransitionNote: Sendable, Equatable {
    public let event: String?
    /// The screen that the user saw after it: key, name, title, parameters.
    public let visible: JSON
    public let operations: JSON
    public let finished: JSON
    public let dismissed: JSON
}
