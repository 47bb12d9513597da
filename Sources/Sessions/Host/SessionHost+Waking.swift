internal import Coordinators
internal import FoundationEssentials
internal import JSONCoding
internal import Sodium
internal import Synchronization

/// What this build does with a session that rests in the store.
public enum Fate: Sendable, Equatable {
    case restored
    /// From what an older version of the app has saved.
    case migrated(from: Int)
    /// There is no way to bring it back: it is started anew, with its `defaults`.
    case relaunched(reason: String)
    /// There is no way to bring it back, and its app wants it refused; or its app is not here.
    case refused(reason: String)
    /// It has ended or expired, and is only known for a while.
    case over
}

extension SessionHost {
    /// A session as it was saved. No coordinator is called, unless it has to be started anew.
    ///
    /// - Returns: `nil` where it had to be, and another request has changed the session meanwhile.
    func restored(_ loaded: LoadedSession) async throws(SessionError) -> Session? {
        let record = loaded.record
        guard let expiresAt = record.expiresAt, let saved = record.savedState else { throw .ended }
        guard expiresAt > now() else { throw .expired }
        guard let app = app(of: record) else { throw .incompatible }
        let keys = loaded.answeredKeys.isEmpty ? nil : AnsweredKeys(loaded.answeredKeys, limit: retention.answers)
        do {
            let navigation = try app.restore(saved)
            // What was migrated is not what the record tells.
            let isAsSaved = record.isWhole && JSONWriter.bytes(capacity: 1000, saved.write) == navigation.encoded
            let base = isAsSaved ? RecordBase(version: record.version, record.identity, navigation) : nil
            let state = SessionState(
                record.identity, version: record.version, expiresAt: expiresAt, navigation: navigation, base: base)
            return Session(state, of: app, answered: keys)
        } catch {
            guard app.incompatibleSessions == .relaunched else { throw .incompatible }
            guard let state = try await relaunch(record, saved, of: app) else { return nil }
            let count = relaunches.add(1, ordering: .relaxed).newValue
            report("relaunched session \(record.id.text) of \(app.name), \(count) so far: \(error.explanation)")
            return Session(state, of: app, answered: keys)
        }
    }

    /// - Returns: `nil` where another request was faster.
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
            record: SessionRecord(
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
    public func fate(of record: SessionRecord) -> Fate {
        guard let expiresAt = record.expiresAt, let saved = record.savedState, expiresAt > now() else { return .over }
        guard let app = app(of: record) else { return .refused(reason: "there is no app “\(record.identity.app)”") }
        do {
            _ = try app.restore(saved)
            let version = saved["version"]?.integer ?? app.version
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
