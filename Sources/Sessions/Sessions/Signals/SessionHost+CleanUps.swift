internal import Coordinators
internal import FoundationEssentials
internal import Synchronization

// Clean-ups: what coordinators that declare `willBeRemoved` have still to undo when they are gone. Those of a session that
// goes on are part of its state, and are performed and removed as effects are.
//
// A session that is over must not go away before its clean-ups are done. So the commit that ends it makes no end record,
// but a version that says why it is over and what remains to be done. For everybody else it is gone: nobody restores it,
// and it is in memory nowhere. Its clean-ups are read from the record, each is removed by a commit of its own, and the
// last of these is the session's end. The store's index of effects finds what a crash has interrupted, and its index of
// timers finds the session when it expires.
extension SessionHost {
    /// What an attempt of an effect or of a clean-up needs of its session.
    struct EffectSource {
        let state: NavigationState
        let app: App
        /// Who is signed in.
        let user: String?
    }

    /// - Returns: `nil` if the session is over, and this server cannot clean up.
    func effectSource(_ id: SessionID) async throws(SessionError) -> EffectSource? {
        do throws(SessionError) {
            let session = try await inMemory(id, for: nil)
            let state = try session.current(for: nil, at: now())
            return EffectSource(state: state.navigation, app: session.app, user: state.identity.user)
        } catch {
            guard error == .ended || error == .expired else { throw error }
            try await beginCleanUps(of: id)
            guard let record = try await loaded(id, for: nil)?.record, record.ending != nil,
                let content = record.content,
                let app = apps.first(where: { $0.name == record.identity.app })
            else { return nil }
            return EffectSource(state: app.remains(of: content.state), app: app, user: record.identity.user)
        }
    }

    /// Begins to clean up after a session that has expired.
    ///
    /// - Returns: `false` if it has not expired, or nothing remains to be done.
    @discardableResult
    func beginCleanUps(of id: SessionID) async throws(SessionError) -> Bool {
        for _ in 0..<SessionHost.loadAttempts {
            guard let loaded = try await loaded(id, for: nil), let expiresAt = loaded.record.expiresAt,
                expiresAt <= now(), let record = loaded.record.over(.expired, at: now())
            else { return false }
            let change = SessionChange(id: id, expected: loaded.stamp, record: record)
            guard try isCommitted(await commit(change)) else { continue }
            live.withLock { $0.remove(id) }
            followCleanUps(after: change)
            return true
        }
        throw .conflict
    }

    /// Begins the clean-ups of a session that was ended by this change, and cancels its effects.
    func followCleanUps(after end: SessionChange) {
        let record = end.record.flatMap { try? SessionRecord(parsing: $0.text) }
        follow(end.id, record?.work.map(\.pending.number) ?? [])
    }

    /// A clean-up of a session that is over is done, or given up.
    func finishCleanUp(_ key: EffectQueue.Key) async {
        for attempt in 1... {
            do throws(SessionError) {
                guard let loaded = try await loaded(key.session, for: nil) else { return }
                let now = now()
                let next = loaded.record.cleanedUp(key.number, at: now, keptUntil: now + settings.tombstoneLifetime)
                guard let next else { return }
                let change = SessionChange(id: key.session, expected: loaded.stamp, record: next)
                if case .success(let conflicts) = await commit(change), conflicts.isEmpty { return }
            } catch {
                guard error.isTemporary else { return }
            }
            // Another clean-up of the session was faster, or the store refuses commits for now. What is not committed is
            // done again, by the next run of the server at the latest.
            guard !effects.isClosed else { return }
            let short = Duration.milliseconds(settings.surroundings.random(1...20))
            try? await sleep(for: attempt < 10 ? short : settings.pause(afterFailure: 1))
        }
    }
}
