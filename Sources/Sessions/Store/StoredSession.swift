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
}
