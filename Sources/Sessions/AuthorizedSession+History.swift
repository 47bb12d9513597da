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
    /// - Parameter version: the newest one wanted; `nil` for the current one.
    public func history(from version: Int? = nil, limit: Int) async throws(SessionError) -> [HistoryEntry] {
        let current = try state()
        return try await records(from: version, limit: limit, of: current).compactMap { record in
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
        guard let record = try await records(from: version, limit: 1, of: current).first, record.version == version,
            let saved = record.savedState, let expiresAt = record.expiresAt
        else { throw .unknownVersion }
        let navigation: NavigationState
        do { navigation = try live.app.restore(saved) } catch { throw .incompatible }
        return SessionState(
            record.identity, version: version, expiresAt: expiresAt, navigation: navigation, base: nil)
    }

    /// - Parameter current: what the token was proved for: neither what came before it was given, nor what came after it
    ///   may have been replaced.
    private func records(
        from version: Int?, limit: Int, of current: SessionState
    ) async throws(SessionError) -> [SessionRecord] {
        let newest = min(version ?? current.version, current.version)
        let records: [SessionRecord]
        do { records = try await host.store.history(of: live.id, from: newest, limit: limit) } catch {
            throw SessionError(error)
        }
        return records.filter { $0.version >= current.identity.firstVersion }
    }
}
