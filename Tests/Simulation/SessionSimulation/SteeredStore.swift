import Foundation
import Sessions
import Sodium

/// What becomes of a commit.
package enum Fate: String, Codable, Sendable, CaseIterable {
    case done, full, unavailable
    /// Nobody learns whether it was made: it was.
    case lostDone
    /// Nobody learns whether it was made: it was not.
    case lost
}

/// A store whose commits and reads wait until the seed lets them go on, and whose commits may fail. The ledger sees
/// each commit that is made, in the order in which the store makes them.
///
/// Unchecked: used on the walk's thread only.
final class SteeredStore: SessionStore, @unchecked Sendable {
    let inner: any SessionStore
    private let scheduler: Scheduler
    private let ledger: Ledger
    /// Whether the store has threads of its own.
    private let isOutside: Bool
    /// Of the next commits.
    var fates: [Fate] = []
    /// What every commit fails with.
    var failure: StoreError?
    /// Whether reads fail.
    var failsToRead = false
    /// The process that uses the store has been killed: from then on it reaches nothing.
    var isDead = false

    init(_ inner: any SessionStore, isOutside: Bool, _ scheduler: Scheduler, _ ledger: Ledger) {
        (self.inner, self.isOutside, self.scheduler, self.ledger) = (inner, isOutside, scheduler, ledger)
    }

    var name: String { inner.name }
    var secret: [UInt8] { inner.secret }
    var sessionCount: Int { inner.sessionCount }
    var latestTime: Date { inner.latestTime }
    var generation: Int { inner.generation }
    var condition: StoreCondition { inner.condition }

    func commit(_ changes: [SessionChange]) async -> CommitOutcome {
        await scheduler.turn()
        let fate = fates.isEmpty ? Fate.done : fates.removeFirst()
        if isDead { return .failure(.unavailable(reason: "dead")) }
        switch fate {
        case .full: return .failure(.full)
        case .unavailable: return .failure(.unavailable(reason: "refused"))
        case .lost: return .failure(.unknownOutcome(reason: "lost"))
        case .done, .lostDone: break
        }
        if let failure { return .failure(failure) }
        let inner = inner
        // No other job may run before the ledger has it, so this does not suspend.
        let memory = inner as? MemoryStore
        let outcome = memory?.commit(changes) ?? scheduler.outside { await inner.commit(changes) }
        if case .success(let conflicts) = outcome {
            ledger.note(changes, conflicts, isAnswered: fate == .done, at: scheduler.now)
        }
        await scheduler.turn()
        if fate == .lostDone || isDead { return .failure(.unknownOutcome(reason: "lost")) }
        return outcome
    }

    private func read<Value: Sendable>(
        _ body: @escaping @Sendable (any SessionStore) async throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        await scheduler.turn()
        if isDead || failsToRead { throw .unavailable(reason: "it cannot be read") }
        let inner = inner
        let value: Result<Value, StoreError> =
            isOutside
            ? scheduler.outside { await SteeredStore.result { () async throws(StoreError) in try await body(inner) } }
            : await SteeredStore.result { () async throws(StoreError) in try await body(inner) }
        await scheduler.turn()
        if isDead { throw .unavailable(reason: "dead") }
        return try value.get()
    }

    private static func result<Value>(
        _ body: () async throws(StoreError) -> Value
    ) async -> Result<Value, StoreError> {
        do throws(StoreError) { return .success(try await body()) } catch { return .failure(error) }
    }

    func load(_ id: SessionID, token: SHA256Digest?) async throws(StoreError) -> LoadedSession? {
        try await read { (inner) async throws(StoreError) in try await inner.load(id, token: token) }
    }

    func forks(of id: SessionID) async throws(StoreError) -> [SessionID] {
        try await read { (inner) async throws(StoreError) in try await inner.forks(of: id) }.sorted {
            $0.text < $1.text
        }
    }

    func sessions(ofUser user: String) async throws(StoreError) -> [SessionID] {
        try await read { (inner) async throws(StoreError) in try await inner.sessions(ofUser: user) }
            .sorted { $0.text < $1.text }
    }

    func history(
        of id: SessionID, from version: Int?, limit: Int, bytes: Int
    ) async throws(StoreError) -> [SessionRecord] {
        try await read { (inner) async throws(StoreError) in
            try await inner.history(of: id, from: version, limit: limit, bytes: bytes)
        }
    }

    func answer(to key: String, of id: SessionID) async throws(StoreError) -> StoredAnswer? {
        try await read { (inner) async throws(StoreError) in try await inner.answer(to: key, of: id) }
    }

    func sweep(at now: Date, limit: Int) async throws(StoreError) -> [SessionID] {
        let ledger = ledger
        return try await read { (inner) async throws(StoreError) in
            let swept = try await inner.sweep(at: now, limit: limit)
            ledger.forget(swept, at: now)
            return swept
        }
    }

    func dueTimers(at now: Date, limit: Int) async throws(StoreError) -> [DueTimer] {
        try await read { (inner) async throws(StoreError) in try await inner.dueTimers(at: now, limit: limit) }
    }

    func postpone(_ timers: [DueTimer], until time: Date?) async throws(StoreError) {
        try await read { (inner) async throws(StoreError) in try await inner.postpone(timers, until: time) }
    }

    func sessionsWithEffects(after last: SessionID?, limit: Int) async throws(StoreError) -> [SessionID] {
        try await read { (inner) async throws(StoreError) in
            try await inner.sessionsWithEffects(after: last, limit: limit)
        }
    }
}
