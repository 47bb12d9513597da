import Foundation
import Sessions
import Sodium
import Synchronization

/// A store that holds back the results of loads and commits, and the start of history reads, until `release`.
final class HeldStore: SessionStore {
    enum Call: Hashable { case load(hasToken: Bool), commit, history }

    let store: MemoryStore
    /// The error of every commit.
    let failure = Mutex<StoreError?>(nil)
    private let state = Mutex((holds: Set<Call>(), held: [CheckedContinuation<Void, Never>](), calls: [Call]()))

    init(_ store: MemoryStore = MemoryStore()) {
        self.store = store
    }

    var heldCount: Int { state.withLock { $0.held.count } }
    func count(of call: Call) -> Int { state.withLock { state in state.calls.count { $0 == call } } }
    func hold(_ call: Call) { state.withLock { _ = $0.holds.insert(call) } }

    func release() {
        let held = state.withLock { state in
            state.holds = []
            defer { state.held = [] }
            return state.held
        }
        for continuation in held { continuation.resume() }
    }

    private func pass(_ call: Call) async {
        await withCheckedContinuation { continuation in
            let isHeld = state.withLock { state in
                state.calls.append(call)
                if state.holds.contains(call) { state.held.append(continuation) }
                return state.holds.contains(call)
            }
            if !isHeld { continuation.resume() }
        }
    }

    var name: String { store.name }
    var secret: [UInt8] { store.secret }
    var sessionCount: Int { store.sessionCount }
    var latestTime: Date { store.latestTime }

    func load(_ id: SessionID, token: SHA256Digest?) async throws(StoreError) -> LoadedSession? {
        let loaded = try store.load(id, token: token)
        await pass(.load(hasToken: token != nil))
        return loaded
    }

    func commit(_ changes: [SessionChange]) async -> CommitOutcome {
        let outcome = failure.withLock { $0 }.map { .failure($0) } ?? store.commit(changes)
        await pass(.commit)
        return outcome
    }

    func forks(of id: SessionID) -> [SessionID] { store.forks(of: id) }
    func sessions(ofUser user: String) -> [SessionID] { store.sessions(ofUser: user) }
    func answer(to key: String, of id: SessionID) -> StoredAnswer? { store.answer(to: key, of: id) }
    func sweep(at now: Date, limit: Int) -> [SessionID] { store.sweep(at: now, limit: limit) }
    func dueTimers(at now: Date, limit: Int) -> [DueTimer] { store.dueTimers(at: now, limit: limit) }
    func postpone(_ timers: [DueTimer], until time: Date?) { store.postpone(timers, until: time) }
    func sessionsWithEffects(after last: SessionID?, limit: Int) -> [SessionID] {
        store.sessionsWithEffects(after: last, limit: limit)
    }
    func history(
        of id: SessionID, from version: Int?, limit: Int, bytes: Int
    ) async throws(StoreError) -> [SessionRecord] {
        await pass(.history)
        return try store.history(of: id, from: version, limit: limit, bytes: bytes)
    }
}

/// A store in memory whose commits of existing sessions fail while a test wants it.
final class FailingCommits: SessionStore {
    let error = Mutex<StoreError?>(nil)
    /// Which changes fail: all, unless a test says otherwise.
    let isAffected = Mutex<@Sendable (SessionChange) -> Bool> { _ in true }
    private let store: MemoryStore

    init(_ store: MemoryStore) {
        self.store = store
    }

    var name: String { store.name }
    var secret: [UInt8] { store.secret }
    var sessionCount: Int { store.sessionCount }
    var latestTime: Date { store.latestTime }
    func load(_ id: SessionID, token: SHA256Digest?) throws(StoreError) -> LoadedSession? {
        try store.load(id, token: token)
    }
    func commit(_ changes: [SessionChange]) -> CommitOutcome {
        if changes.contains(where: isAffected.withLock { $0 }), let error = error.withLock({ $0 }) {
            return .failure(error)
        }
        return store.commit(changes)
    }
    func forks(of id: SessionID) -> [SessionID] { store.forks(of: id) }
    func sessions(ofUser user: String) -> [SessionID] { store.sessions(ofUser: user) }
    func answer(to key: String, of id: SessionID) -> StoredAnswer? { store.answer(to: key, of: id) }
    func sweep(at now: Date, limit: Int) -> [SessionID] { store.sweep(at: now, limit: limit) }
    func dueTimers(at now: Date, limit: Int) -> [DueTimer] { store.dueTimers(at: now, limit: limit) }
    func postpone(_ timers: [DueTimer], until time: Date?) { store.postpone(timers, until: time) }
    func sessionsWithEffects(after last: SessionID?, limit: Int) -> [SessionID] {
        store.sessionsWithEffects(after: last, limit: limit)
    }
    func history(
        of id: SessionID, from version: Int?, limit: Int, bytes: Int
    ) throws(StoreError) -> [SessionRecord] {
        try store.history(of: id, from: version, limit: limit, bytes: bytes)
    }
}
