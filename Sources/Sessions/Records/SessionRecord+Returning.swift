internal import Coordinators
public import FoundationEssentials
internal import JSONCoding

/// Why a session cannot be returned to one of its versions.
public enum ReturnError: Error, Equatable, Sendable {
    /// The session has ended or expired.
    case over
    /// The version is not kept, or the session has it already.
    case unknownVersion
    /// The version was made before the session's token was replaced, see `Navigator.rotateToken`.
    case sealed
}

extension SessionRecord {
    /// The session's end, as the version after this one, its last.
    ///
    /// - Returns: `nil` if it has ended or expired.
    public func end(at now: Date) -> EncodedRecord? {
        guard let expiresAt, expiresAt > now else { return nil }
        return EncodedRecord(
            endOf: identity, after: version, at: now, keptUntil: now + SessionSettings().tombstoneLifetime)
    }

    /// A version after this one, the session's last, with the state of an earlier one. Keys and ids that were given out
    /// since are not given out again.
    public func returning(to past: SessionRecord, at now: Date) throws(ReturnError) -> EncodedRecord {
        guard let last = content, last.expiresAt > now else { throw .over }
        guard let content = past.content, past.id == id, past.version < version else { throw .unknownVersion }
        guard past.version >= identity.firstVersion else { throw .sealed }
        var state = content.state
        for counter in ["lastKey", "lastID"] {
            state[counter] = .integer(max(state[counter]?.integer ?? 0, last.state[counter]?.integer ?? 0))
        }
        let note = TransitionNote(
            event: BuiltInEvent.restoration, visible: content.note.visible, operations: [], finished: [], dismissed: [])
        return EncodedRecord(
            SessionRecord(
                identity: identity, version: version + 1, time: now, keptUntil: keptUntil, isFull: true,
                content: Content(expiresAt: last.expiresAt, note: note, state: state)))
    }
}
