internal import Coordinators
internal import FoundationEssentials
internal import JSONCoding
internal import Sodium
internal import Synchronization

/// What this build does with a session when it loads it from the store.
public enum RestorePlan: Sendable, Equatable {
    case restored
    /// It is restored from what an older version of the app has saved.
    case migrated(from: Int)
    /// It cannot be restored: it is relaunched, with its `defaults`.
    case relaunched(reason: String)
    /// It cannot be restored, and its app wants such sessions refused; or this build does not have its app.
    case refused(reason: String)
    /// It has ended or expired, and is only kept for a while.
    case over
}

extension SessionHost {
    /// A session as it was saved. No coordinator is called, unless the session has to be relaunched.
    ///
    /// - Returns: `nil` if it had to be relaunched, and another request has changed it meanwhile.
    func restored(_ loaded: LoadedSession) async throws(SessionError) -> Session? {
        let record = loaded.record
        guard let content = record.content else { throw .ended }
        guard content.expiresAt > now() else { throw .expired }
        guard let app = app(of: record) else { throw .incompatible }
        let keys = loaded.answeredKeys.isEmpty ? nil : AnsweredKeys(loaded.answeredKeys, limit: retention.answers)
        do {
            let navigation = try app.restore(content.state)
            // A migrated state differs from the record, which then is no base for the next records.
            let isAsSaved = record.isFull && JSONWriter.bytes(capacity: 1000, content.state.write) == navigation.encoded
            let base = isAsSaved ? DeltaBase(version: record.version, record.identity, navigation) : nil
            let state = SessionState(
                record.identity, version: record.version, expiresAt: content.expiresAt, navigation: navigation,
                base: base)
            return Session(state, of: app, answered: keys)
        } catch {
            guard app.incompatibleSessions == .relaunched else { throw .incompatible }
            guard let state = try await relaunch(record, content.state, of: app) else { return nil }
            let count = relaunches.add(1, ordering: .relaxed).newValue
            report("relaunched session \(record.id.text) of \(app.name), \(count) so far: \(error.explanation)")
            return Session(state, of: app, answered: keys)
        }
    }

    /// - Returns: `nil` if another request changed the session first.
    private func relaunch(
        _ record: SessionRecord, _ saved: JSON, of app: App
    ) async throws(SessionError) -> SessionState? {
        let now = now()
        let result = try await launched(app) { () throws(NavigationError) in try app.beginRelaunch(of: saved, at: now) }
        let state = SessionState(
            record.identity, version: record.version + 1,
            expiresAt: settings.expiry(of: app, createdAt: record.identity.createdAt, usedAt: now),
            navigation: result.state)
        let change = SessionChange(
            id: record.id, expectedVersion: record.version,
            record: EncodedRecord(
                state, result.transition, at: now, keptUntil: settings.keptUntil(state, of: app)))
        switch await store.commit([change]) {
        case .failure(let error): throw SessionError(error)
        case .success(let conflicts): return conflicts.isEmpty ? state : nil
        }
    }

    private func app(of record: SessionRecord) -> App? {
        apps.first { $0.name == record.identity.app }
    }

    /// What `restored` would do, without doing it.
    public func restorePlan(for record: SessionRecord) -> RestorePlan {
        guard let content = record.content, content.expiresAt > now() else { return .over }
        guard let app = app(of: record) else { return .refused(reason: "there is no app “\(record.identity.app)”") }
        do {
            _ = try app.restore(content.state)
            let version = content.state["version"]?.integer ?? app.version
            return version == app.version ? .restored : .migrated(from: version)
        } catch {
            return app.incompatibleSessions == .relaunched
                ? .relaunched(reason: error.explanation) : .refused(reason: error.explanation)
        }
    }
}

extension RestoreError {
    fileprivate var explanation: String {
        switch self {
        case .damaged(let error): error.explanation(of: "its state")
        case .newer(let version): "version \(version) of the app has saved it"
        case .unknownCoordinator(let name): "there is no coordinator “\(name)”"
        case .incompatible(let name, let error): error.explanation(of: "what “\(name)” has saved")
        }
    }
}
