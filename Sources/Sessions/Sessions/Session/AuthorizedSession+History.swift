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
    /// The last versions, newest first, as far back as the store keeps them and the token gives access to them.
    ///
    /// Only one request at a time reads the past of a session, so that requests to other sessions wait for at most one.
    ///
    /// - Parameters:
    ///   - version: the newest version to return; `nil` for the current one.
    ///   - limit: the most versions to return.
    ///   - bytes: the most bytes of records to read. At least one version is returned if there is any.
    public func history(
        from version: Int? = nil, limit: Int, bytes: Int = .max
    ) async throws(SessionError) -> [HistoryEntry] {
        let current = try committed(at: host.now())
        return try await records(from: version, limit: limit, bytes: bytes, of: current).compactMap { record in
            record.note.map { HistoryEntry(version: record.version, time: record.time, note: $0) }
        }
    }

    /// The state at a version, as the caller's device sees it.
    ///
    /// - Parameters:
    ///   - version: `nil` for the current one.
    ///   - toContinue: whether a session continues from there: then coordinators react to what the app no longer has,
    ///     see `SessionHost.settled`.
    /// - Throws: `unknownVersion` if it never existed, is no longer kept, or was made before the token gave access.
    public func past(_ version: Int?, toContinue: Bool = false) async throws(SessionError) -> SessionState {
        let current = try committed(at: host.now())
        guard let version, version != current.version else { return try drawn(current) }
        guard let record = try await records(from: version, limit: 1, bytes: 0, of: current).first,
            record.version == version,
            let content = record.content
        else {
            // If the session has ended meanwhile, its past is gone: then this throws `ended`.
            _ = try committed(at: host.now())
            throw .unknownVersion
        }
        let restoration: Restoration
        do { restoration = try live.app.restore(content.state) } catch { throw .incompatible }
        let navigation =
            toContinue && restoration.needsTransition
            ? try await host.settled(restoration, record, at: host.now(), of: live.app).state : restoration.state
        let past = SessionState(
            record.identity, stamp: SessionStamp(version: version, generation: current.stamp.generation),
            expiresAt: content.expiresAt, navigation: navigation, base: nil)
        return try past.drawn(for: device, of: live.app)
    }

    /// - Parameter current: the state that the token was checked against. Versions from before the token are left out,
    ///   and so are versions after this one, because the token may have been replaced.
    private func records(
        from version: Int?, limit: Int, bytes: Int, of current: SessionState
    ) async throws(SessionError) -> [SessionRecord] {
        let newest = min(version ?? current.version, current.version)
        let records = try await host.pastReads.inTurn(live.id) { () async throws(SessionError) in
            // The token may have been replaced while this waited.
            _ = try committed(at: host.now())
            do throws(StoreError) {
                return try await host.store.history(of: live.id, from: newest, limit: limit, bytes: bytes)
            } catch {
                throw host.failure(error)
            }
        }
        let first = current.identity.access(of: token)?.firstVersion ?? .max
        return records.filter { $0.version >= first }
    }
}
