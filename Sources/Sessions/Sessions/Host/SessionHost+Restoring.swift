public import Coordinators
internal import FoundationEssentials
internal import JSONCoding
internal import Sodium
internal import Synchronization

/// What this build does with a session when it loads it from the store.
public enum RestorePlan: Sendable, Equatable {
    /// Nothing about it changes.
    case restored
    /// It is converted from what the version `from` of the app has saved; nothing is lost. `nil` if that is the same
    /// version: then it is completed or drawn anew, and no `migrate` is called.
    case migrated(from: Int?)
    /// The rest of it is restored.
    case reduced([Loss])
    /// No screen of it can be restored: it is relaunched, with its `defaults`.
    case relaunched(reason: String)
    /// It is left as it is, and its client gets an error.
    case refused(reason: String)
    /// It has ended or expired, and is only kept for a while.
    case over
}

extension SessionHost {
    /// A session as it was saved. No coordinator is called, unless what was saved does not fit the app any longer.
    ///
    /// - Returns: `nil` if it had to be changed, and another request has changed it meanwhile.
    func restored(_ loaded: LoadedSession) async throws(SessionError) -> Session? {
        let record = loaded.record
        guard let content = record.content else { throw record.hasExpired ? .expired : .ended }
        if let reason = record.ending { throw reason == .expired ? .expired : .ended }
        guard let app = app(of: record) else { throw .newerApp(reason: lacks(record.identity.app)) }
        // The app may have shortened the life of its sessions since.
        let expiresAt = min(
            content.expiresAt, settings.expiry(of: app, createdAt: record.identity.createdAt, usedAt: record.time))
        guard expiresAt > now() else { throw .expired }
        let state: SessionState?
        switch Result(catching: { () throws(RestoreError) in try app.restore(content.state) }) {
        case .success(let restoration):
            state = try await restored(restoration, loaded, content, expiresAt: expiresAt, of: app)
        case .failure(let error):
            guard case .nothingLeft = error, app.incompatibleSessions == .relaunched else { throw error.refusal }
            state = try await relaunched(loaded, content.state, because: error, of: app)
        }
        let keys = loaded.answeredKeys.isEmpty ? nil : AnsweredKeys(loaded.answeredKeys, limit: retention.answers)
        return state.map { Session($0, of: app, answered: keys) }
    }

    /// - Returns: `nil` if another request changed the session first.
    private func restored(
        _ restoration: Restoration, _ loaded: LoadedSession, _ content: SessionRecord.Content, expiresAt: Date,
        of app: App
    ) async throws(SessionError) -> SessionState? {
        let record = loaded.record
        guard restoration.needsTransition else {
            // The next records can be based on this one only if it has the state as it is restored, and if this build
            // made it, because delta records have the build of their base.
            let isOwn = record.build == settings.build
            let isAsSaved = record.isFull && isOwn && content.state.isSaved(as: restoration.state)
            let base = isAsSaved ? DeltaBase(version: record.version, record.identity, restoration.state) : nil
            return SessionState(
                record.identity, stamp: loaded.stamp, expiresAt: expiresAt, navigation: restoration.state, base: base,
                shownBy: isOwn ? 0 : settings.build)
        }
        let now = now()
        let result = try await settled(restoration, record, at: now, of: app)
        let state = try await commit(result, after: loaded, at: now, expiresAt: expiresAt, of: app)
        if state != nil, !restoration.losses.isEmpty { report(.reduced(restoration.losses), record, of: app) }
        return state
    }

    /// What is left of a session after coordinators have reacted to what was removed. If one of them fails, the session
    /// is restored without any of their reactions. If one has no capacity now, or takes too long, it may succeed later:
    /// that is thrown.
    func settled(
        _ restoration: Restoration, _ record: SessionRecord, at now: Date, of app: App
    ) async throws(SessionError) -> TransitionResult {
        let origin = HostOrigin(self, record.id, user: record.identity.user, version: record.version)
        let running = RunningTransition(restoration.transition(at: now), from: origin)
        do throws(SessionError) {
            return try await running.outcome(callWatch).value { .cannotLaunch($0, app: app.name) }
        } catch {
            guard case .cannotLaunch(let cause, _) = error else { throw error }
            if case .overloaded = cause { throw error }
            report(
                """
                session \(record.id.text) of \(app.name): a coordinator failed when it was told of what was removed; it \
                was removed all the same: \(cause)
                """)
            return restoration.prospect
        }
    }

    /// - Returns: `nil` if another request changed the session first.
    private func relaunched(
        _ loaded: LoadedSession, _ saved: JSON, because error: RestoreError, of app: App
    ) async throws(SessionError) -> SessionState? {
        let record = loaded.record
        let now = now()
        let result = try await launched(
            app, record.id, user: record.identity.user, version: record.version
        ) { () throws(NavigationError) in
            try app.beginRelaunch(of: saved, at: now)
        }
        let expiresAt = settings.expiry(of: app, createdAt: record.identity.createdAt, usedAt: now)
        let state = try await commit(result, after: loaded, at: now, expiresAt: expiresAt, of: app)
        if state != nil { report(.relaunched(reason: error.explanation), record, of: app) }
        return state
    }

    /// - Returns: `nil` if another request changed the session first.
    private func commit(
        _ result: TransitionResult, after loaded: LoadedSession, at now: Date, expiresAt: Date, of app: App
    ) async throws(SessionError) -> SessionState? {
        let record = loaded.record
        // The app may sign the user out; but no token is replaced, because no client waits here for another one.
        let identity = result.transition.changes.flatMap(record.identity.after) ?? record.identity
        let state = SessionState(
            identity, stamp: loaded.stamp.next(version: record.version + 1), expiresAt: expiresAt,
            navigation: result.state)
        let next = self.record(of: state, result.transition, at: now, of: app)
        let outcome = await commit(SessionChange(id: record.id, expected: loaded.stamp, record: next))
        guard try isCommitted(outcome) else { return nil }
        if !state.navigation.pending.isEmpty { followEffects(of: state) }
        return state
    }

    private func report(_ plan: RestorePlan, _ record: SessionRecord, of app: App) {
        let happening: SessionMeasures.Happening = if case .relaunched = plan { .relaunched } else { .reduced }
        measures.count(happening)
        let count = measures[.reduced] + measures[.relaunched]
        let (word, reason) = plan.words
        report("\(word) session \(record.id.text) of \(app.name), \(count) so far: \(reason)")
    }

    private func app(of record: SessionRecord) -> App? {
        apps.first { $0.name == record.identity.app }
    }

    /// What `restored` would do, without doing it.
    public func restorePlan(for record: SessionRecord) -> RestorePlan {
        guard let content = record.content, record.goesOn(at: now()) else { return .over }
        guard let app = app(of: record) else { return .refused(reason: lacks(record.identity.app)) }
        let life = settings.expiry(of: app, createdAt: record.identity.createdAt, usedAt: record.time)
        guard life > now() else { return .over }
        do {
            let restoration = try app.restore(content.state)
            if !restoration.losses.isEmpty { return .reduced(restoration.losses) }
            let isSame =
                !restoration.needsTransition && restoration.version == app.version
                && content.state.isSaved(as: restoration.state)
            let isOlder = restoration.version < app.version
            return isSame ? .restored : .migrated(from: isOlder ? restoration.version : nil)
        } catch {
            if case .nothingLeft = error, app.incompatibleSessions == .relaunched {
                return .relaunched(reason: error.explanation)
            }
            return .refused(reason: error.explanation)
        }
    }

    /// The names of the screens that a session has after it is restored; none if it is not.
    public func restoredScreens(of record: SessionRecord) -> Set<String> {
        guard let content = record.content, let app = app(of: record), let restoration = try? app.restore(content.state)
        else { return [] }
        return Set(restoration.state.screens.map(\.screen.name))
    }
}

extension JSON {
    fileprivate func isSaved(as state: NavigationState) -> Bool {
        JSONWriter.bytes(capacity: 1000, write) == state.encoded
    }
}

extension RestorePlan {
    /// The plan's name, and the details: what is lost, or why.
    public var words: (name: String, details: String) {
        switch self {
        case .restored: ("restored", "")
        case .migrated(let version?): ("migrated", "from version \(version)")
        case .migrated(nil): ("migrated", "within its version: completed or drawn anew, without “migrate”")
        case .reduced(let losses): ("reduced", losses.words)
        case .relaunched(let reason): ("relaunched", reason)
        case .refused(let reason): ("refused", reason)
        case .over: ("over", "")
        }
    }
}

extension RestoreError {
    fileprivate var refusal: SessionError {
        switch self {
        case .newer, .sameVersion: .newerApp(reason: explanation)
        case .damaged, .nothingLeft: .incompatible
        }
    }

    /// For the operator and the author. It contains nothing that a user has typed.
    fileprivate var explanation: String {
        switch self {
        case .damaged(let error): error.explanation(of: "its state")
        case .newer(let version): "version \(version) of the app has saved it"
        case .sameVersion(let losses):
            "it would lose \(losses.words), which only a higher version of the app may remove"
        case .nothingLeft(let losses): "nothing is left without \(losses.words)"
        }
    }
}

private func lacks(_ app: String) -> String { "there is no app “\(app)”" }

extension [Loss] {
    fileprivate var words: String { map(\.description).joined(separator: ", ") }
}
