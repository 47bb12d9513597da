public import Coordinators
internal import FoundationEssentials
internal import Sodium
internal import Synchronization

extension SessionHost {
    /// Ends a session, for good once the end is committed. If its app sets `endsForks`, its forks end before it, so
    /// that an end that fails halfway can be repeated.
    ///
    /// - Parameters:
    ///   - token: the caller's; `nil` for the server itself.
    ///   - user: if given, the session only ends while that user is signed in to it.
    /// - Returns: whether the session has ended now.
    @discardableResult
    func end(
        _ session: Session, for token: SHA256Digest?, of user: String? = nil, if condition: VersionCondition? = nil,
        after ending: [SessionID] = []
    ) async throws(SessionError) -> Bool {
        // Before all events that wait, however many these are; but it may be another user's after one of them.
        let caller = user == nil ? Turns.Caller.ending : .client
        return try await change(session, as: caller, waiting: .max) { (session) async throws(SessionError) in
            let last = try session.current(for: token, at: now())
            try condition?.check(
                last.drawn(for: token.flatMap { last.identity.device(of: $0, in: session.app) }, of: session.app))
            guard user == nil || last.identity.user == user else { return .unchanged(false) }
            // While this holds the turn, nobody forks the session on this server.
            if session.app.endsForks { try await endForks(of: session.id, after: ending) }
            let end = end(of: last)
            guard try await commit(end, of: session) else { return .outdated }
            measures.count(.ended)
            session.end()
            live.withLock { $0.remove(session) }
            feed.reportEnd(of: session.id)
            followCleanUps(after: end)
            // Another server may have forked it before the end was committed. One that forks it later finds out that it
            // has ended.
            if session.app.endsForks, store.isShared { try await endForks(of: session.id, after: ending) }
            return .committed(true)
        }
    }

    /// - Parameter ending: the sessions that wait for this one's end, which are skipped: an imported session may be a
    ///   fork of its own fork.
    private func endForks(of id: SessionID, after ending: [SessionID]) async throws(SessionError) {
        let forks: [SessionID]
        do { forks = try await store.forks(of: id) } catch { throw failure(error) }
        for fork in forks where fork != id && !ending.contains(fork) {
            try await end(fork, after: ending + [id])
        }
    }

    /// Ends a session for the server itself, also one that this build cannot restore. It may have ended already.
    ///
    /// - Parameter user: if given, the session only ends while that user is signed in to it.
    /// - Returns: whether the session has ended now.
    @discardableResult
    func end(
        _ id: SessionID, of user: String? = nil, after ending: [SessionID] = []
    ) async throws(SessionError) -> Bool {
        do throws(SessionError) {
            return try await end(try await inMemory(id, for: nil), for: nil, of: user, after: ending)
        } catch {
            switch error {
            case .ended, .expired, .unauthorized, .incompatible, .newerApp, .cannotLaunch, .deadlineExceeded: break
            default: throw error
            }
        }
        // It cannot be used, but its forks may be.
        if user == nil { try await endForks(of: id, after: ending) }
        // It is ended all the same, so that a build that knows its app cannot use it either.
        for _ in 0..<SessionHost.loadAttempts {
            guard let loaded = try await loaded(id, for: nil),
                user == nil || loaded.record.identity.user == user,
                let record = loaded.record.end(at: now(), keptFor: settings.tombstoneLifetime)
            else { return false }
            let end = SessionChange(id: id, expected: loaded.stamp, record: record)
            let outcome = await commit(end)
            live.withLock { $0.remove(id) }
            // Somebody has changed it, or ended it, meanwhile.
            guard try isCommitted(outcome) else { continue }
            measures.count(.ended)
            feed.reportEnd(of: id)
            followCleanUps(after: end)
            return true
        }
        throw .conflict
    }

    /// The session's end; if it has to be cleaned up, its end for everybody else.
    private func end(of last: SessionState) -> SessionChange {
        let now = now()
        let record = last.navigation.endsWithCleanUps ? SessionRecord(last, at: now, build: settings.build) : nil
        let end =
            record?.over(.ended, at: now)
            ?? EncodedRecord(
                endOf: last.identity, after: last.version, at: now, keptUntil: now + settings.tombstoneLifetime)
        return SessionChange(id: last.id, expected: last.stamp, record: end)
    }
}

// The sessions of a user, in all apps: for the app, see `Navigator.sessions(ofUser:)`, and for the operator.
extension SessionHost {
    /// The sessions that a user is signed in to. Those last used come first.
    ///
    /// - Parameter limit: how many are returned at most. All are read, because the store does not order them.
    public func sessions(ofUser user: String, limit: Int = .max) async throws(SessionError) -> [UserSession] {
        var sessions: [UserSession] = []
        for id in try await candidates(user) {
            if let session = try await session(id, of: user) { sessions.append(session) }
        }
        return Array(sessions.sorted { ($0.lastUsedAt, $0.id) > ($1.lastUsedAt, $1.id) }.prefix(limit))
    }

    /// The sessions that a user is signed in to, as far as the store knows.
    func candidates(_ user: String) async throws(SessionError) -> [SessionID] {
        do { return try await store.sessions(ofUser: user) } catch { throw failure(error) }
    }

    /// - Returns: `nil` if the session is over, damaged, or not the user's.
    private func session(_ id: SessionID, of user: String) async throws(SessionError) -> UserSession? {
        if let live = live.withLock({ $0[id] }) {
            guard let state = try? live.current(for: nil, at: now()) else { return nil }
            return UserSession(state.identity, expiresAt: state.expiresAt, of: user)
        }
        do throws(SessionError) {
            guard let record = try await loaded(id, for: nil)?.record, record.goesOn(at: now()) else { return nil }
            return UserSession(record.identity, expiresAt: record.expiresAt, of: user)
        } catch {
            if case .damaged = error { return nil }
            throw error
        }
    }

    /// Ends sessions that a user is signed in to. Those that cannot be ended do not keep the others from ending.
    ///
    /// - Parameter kept: a session that stays.
    /// - Returns: how many have ended.
    /// - Throws: why one could not be ended.
    @discardableResult
    public func endSessions(ofUser user: String, except kept: SessionID? = nil) async throws(SessionError) -> Int {
        var ended = 0
        // Sessions may be forked, or signed in to, while others are ended.
        for _ in 0..<SessionHost.endingRounds {
            let before = ended
            var failure: SessionError?
            for id in try await candidates(user) where id != kept {
                do throws(SessionError) {
                    if try await end(id, of: user) { ended += 1 }
                } catch {
                    failure = error
                }
            }
            if let failure { throw failure }
            if ended == before { break }
        }
        return ended
    }

    private static let endingRounds = 8

    /// Ends the sessions that an event has asked to end. Then its answer is kept without them, so that who reads it again
    /// does not end sessions that a user has signed in to since.
    ///
    /// - Parameter asking: the session of the event.
    func carryOutEndings(of outcome: Outcome, for asking: SessionID) async throws(SessionError) {
        do throws(SessionError) {
            for ending in outcome.endings {
                switch ending.sessions {
                case .all: try await endSessions(ofUser: ending.user)
                case .others: try await endSessions(ofUser: ending.user, except: asking)
                case .one(let text): if let id = SessionID(text) { try await end(id, of: ending.user) }
                }
            }
            if let answer = outcome.kept { try await noteEndings(of: answer, for: asking) }
        } catch {
            throw .unknownOutcome(reason: "the event is applied, but sessions of its user have not ended: \(error)")
        }
    }

    /// Keeps an answer without its endings, if it is still kept with them.
    private func noteEndings(of answer: StoredAnswer, for id: SessionID) async throws(SessionError) {
        do throws(SessionError) {
            try await change(try await inMemory(id, for: nil), as: .own, waiting: .max) {
                (live) async throws(SessionError) in
                let state = try live.current(for: nil, at: now())
                guard live.mayHaveAnswered(answer.key), let kept = try await self.answer(to: answer.key, of: id),
                    kept.version == answer.version, !kept.endings.isEmpty
                else { return .unchanged(()) }
                let change = SessionChange(
                    id: id, expected: state.stamp, record: nil, answer: answer.withoutEndings, takesAway: true)
                guard try await commit(change, of: live) else { return .outdated }
                live.publish(state.withAnswer(), answered: answer.key, limit: retention.answers)
                return .committed(())
            }
        } catch {
            switch error {
            case .ended, .expired, .unauthorized: return
            default: throw error
            }
        }
    }
}

extension UserSession {
    /// - Returns: `nil` if it is not the user's.
    fileprivate init?(_ identity: SessionIdentity, expiresAt: Date?, of user: String) {
        guard let expiresAt, identity.user == user else { return nil }
        self.init(
            id: identity.id.text, app: identity.app, createdAt: identity.createdAt,
            lastUsedAt: identity.tokens.reduce(.distantPast) { max($0, $1.usedAt) }, expiresAt: expiresAt,
            devices: identity.tokens.compactMap(\.label))
    }
}
