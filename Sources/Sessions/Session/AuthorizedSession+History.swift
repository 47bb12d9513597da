internal import Coordinators
public import FoundationEssentials
internal import JSONCoding

/// A version of a session, as the history lists it.
public struct HistoryEntry: Sendable, Equatable {
    public let version: Int
    public let time: Date
    public let note: TransitionNote
}

extension AuthorizedSession {
    /// The last versions, newest first: as far back as the store keeps them, and as the token gives a right to them.
    ///
    /// One request at a time reads the past of a session, however many ask, so that those of other sessions wait for one
    /// at most.
    ///
    /// - Parameters:
    ///   - version: the newest one wanted; `nil` for the current one.
    ///   - limit: how many are wanted at most.
    ///   - bytes: that may be read for these. There is one at least where there is any.
    public func history(
        from version: Int? = nil, limit: Int, bytes: Int = .max
    ) async throws(SessionError) -> [HistoryEntry] {
        let current = try state()
        return try await records(from: version, limit: limit, bytes: bytes, of: current).compactMap { record in
            record.note.map { HistoryEntry(version: record.version, time: record.time, note: $0) }
        }
    }

    /// The state as it was.
    ///
    /// - Parameter version: `nil` for the current one.
    /// - Throws: `unknownVersion` where it was never there, is not kept any more, or was made before the token was replaced.
    public func past(_ version: Int?) async throws(SessionError) -> SessionState {
        let current = try state()
        guard let version, version != current.version else { return current }
        guard let record = try await records(from: version, limit: 1, bytes: 0, of: current).first,
            record.version == version,
            let saved = record.savedState, let expiresAt = record.expiresAt
        else {
            // It may have been ended meanwhile, and its past is gone.
            _ = try self.state()
            throw .unknownVersion
        }
        let navigation: NavigationState
        do { navigation = try live.app.restore(saved) } catch { throw .incompatible }
        return SessionState(
            record.identity, version: version, expiresAt: expiresAt, navigation: navigation, base: nil)
    }

    /// - Parameter current: what the token was proved for: neither what came before it was given, nor what came after it
    ///   may have been replaced.
    private func records(
        from version: Int?, limit: Int, bytes: Int, of current: SessionState
    ) async throws(SessionError) -> [SessionRecord] {
        let newest = min(version ?? current.version, current.version)
        let records = try await host.pastReads.inTurn(live.id) { () async throws(SessionError) in
            // The token may have been replaced while this waited.
            _ = try state()
            do throws(StoreError) {
                return try await host.store.history(of: live.id, from: newest, limit: limit, bytes: bytes)
            } catch {
                throw SessionError(error)
            }
        }
        return records.filter { $0.version >= current.identity.firstVersion }
    }
}
