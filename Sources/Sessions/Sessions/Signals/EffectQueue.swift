internal import Synchronization

/// The effects that this server performs, and those that wait. At most `limit` run at a time, at most `limitOfSession` of
/// one session; the others wait, first come, first served. An effect that its session's limit has held back, and one that
/// is repeated, join the end of the queue. It only keeps account: `SessionHost` performs them.
///
/// An effect is known here from the commit that recorded it until its outcome is committed, or it is over otherwise.
final class EffectQueue: Sendable {
    struct Key: Hashable, Sendable {
        let session: SessionID
        /// The effect's, unique in the session.
        let number: Int
    }

    /// An attempt to make, for which a task is to be started and attached.
    struct Attempt: Sendable {
        let key: Key
        /// 1 for the first one that this server makes.
        let number: Int
    }

    fileprivate enum Phase {
        /// In the queue, or held back because its session has its share.
        case waiting
        /// The task is `nil` until it is attached.
        case running(Task<Void, Never>?)
        /// Its last attempt is over: its outcome is being committed, or it is repeated later.
        case between
    }

    fileprivate struct Effect {
        var phase = Phase.waiting
        var attempts = 0
    }

    fileprivate struct Work {
        var effects: [Int: Effect] = [:]
        /// What waits until fewer effects of the session are running.
        var held: [Int] = []
        var running = 0
    }

    fileprivate struct State {
        var work: [SessionID: Work] = [:]
        /// What waits begins at `first`.
        var queue: [Key] = []
        var first = 0
        var running = 0
        var known = 0
        var mayMissSome = false
        var isClosed = false
    }

    /// How many effects of one session run at the same time.
    static let limitOfSession = 8
    /// How many effects are known at most. The others stay in the store, see `shouldLookAgain`.
    private static let knownLimit = 100_000
    private let limit: Int
    private let state = Mutex(State())

    init(limit: Int) {
        self.limit = max(1, limit)
    }

    /// Takes over which effects of a session are under way.
    ///
    /// - Returns: the attempts to make, and the tasks of effects that are over.
    func follow(_ session: SessionID, _ numbers: [Int]) -> (attempts: [Attempt], over: [Task<Void, Never>]) {
        state.withLock { state in
            var over: [Task<Void, Never>] = []
            let known = state.work[session]?.effects.sorted { $0.key < $1.key } ?? []
            for (number, effect) in known where !numbers.contains(number) {
                if case .running(let task?) = effect.phase { over.append(task) }
                state.forget(Key(session: session, number: number))
            }
            for number in numbers where state.work[session]?.effects[number] == nil {
                guard state.known < EffectQueue.knownLimit else {
                    state.mayMissSome = true
                    break
                }
                state.known += 1
                state.work[session, default: Work()].effects[number] = Effect()
                state.queue.append(Key(session: session, number: number))
            }
            return (state.begin(limit), over)
        }
    }

    /// - Returns: `false` if the effect is over already.
    func attach(_ task: Task<Void, Never>, to key: Key) -> Bool {
        state.withLock { state in
            guard case .running? = state.work[key.session]?.effects[key.number]?.phase else { return false }
            state.work[key.session]?.effects[key.number]?.phase = .running(task)
            return true
        }
    }

    /// An attempt is over. Call once for each attempt.
    ///
    /// - Returns: whether the effect is still under way, and the attempts to make.
    func release(_ key: Key) -> (isUnderWay: Bool, attempts: [Attempt]) {
        state.withLock { state in
            state.running -= 1
            guard var work = state.work[key.session] else { return (false, state.begin(limit)) }
            work.running -= 1
            if !work.held.isEmpty { state.queue.append(Key(session: key.session, number: work.held.removeFirst())) }
            let isUnderWay = work.effects[key.number] != nil
            work.effects[key.number]?.phase = .between
            state.work[key.session] = work.effects.isEmpty && work.running == 0 ? nil : work
            return (isUnderWay, state.begin(limit))
        }
    }

    /// Another attempt is to be made, after those that wait.
    ///
    /// - Returns: the attempts to make.
    func enqueueAgain(_ key: Key) -> [Attempt] {
        state.withLock { state in
            guard state.work[key.session]?.effects[key.number] != nil else { return [] }
            state.work[key.session]?.effects[key.number]?.phase = .waiting
            state.queue.append(key)
            return state.begin(limit)
        }
    }

    /// The effect is over.
    func forget(_ key: Key) { state.withLock { $0.forget(key) } }

    /// Effects may have been recorded that are not known here.
    func mayHaveMissed() { state.withLock { $0.mayMissSome = true } }

    /// Whether the store may have effects that are not known here, and there is room for them. It says so once.
    func shouldLookAgain() -> Bool {
        state.withLock { state in
            guard state.mayMissSome, state.known < EffectQueue.knownLimit / 2 else { return false }
            state.mayMissSome = false
            return true
        }
    }

    /// Whether so many effects are known that the others stay in the store.
    func isFull() -> Bool {
        state.withLock { state in
            guard state.known >= EffectQueue.knownLimit else { return false }
            state.mayMissSome = true
            return true
        }
    }

    var isClosed: Bool { state.withLock(\.isClosed) }

    /// How many effects are running, and how many are known besides: they wait, or are repeated later.
    var figures: (running: Int, waiting: Int) {
        state.withLock { ($0.running, max(0, $0.known - $0.running)) }
    }

    /// From now on nothing begins.
    ///
    /// - Returns: the tasks that are running.
    func close() -> [Task<Void, Never>] {
        state.withLock { state in
            state.isClosed = true
            let work = state.work.sorted { $0.key.text < $1.key.text }.map(\.value)
            return work.flatMap { $0.effects.sorted { $0.key < $1.key } }.compactMap { _, effect in
                if case .running(let task) = effect.phase { task } else { nil }
            }
        }
    }
}

extension EffectQueue.State {
    /// Takes as many effects from the queue as may begin.
    fileprivate mutating func begin(_ limit: Int) -> [EffectQueue.Attempt] {
        var attempts: [EffectQueue.Attempt] = []
        while running < limit, first < queue.count, !isClosed {
            let key = queue[first]
            first += 1
            if first > 64, first * 2 > queue.count {
                queue.removeFirst(first)
                first = 0
            }
            guard var work = work[key.session], var effect = work.effects[key.number], case .waiting = effect.phase
            else { continue }
            if work.running >= EffectQueue.limitOfSession {
                work.held.append(key.number)
            } else {
                effect.phase = .running(nil)
                effect.attempts += 1
                work.effects[key.number] = effect
                work.running += 1
                running += 1
                attempts.append(EffectQueue.Attempt(key: key, number: effect.attempts))
            }
            self.work[key.session] = work
        }
        return attempts
    }

    fileprivate mutating func forget(_ key: EffectQueue.Key) {
        guard work[key.session]?.effects.removeValue(forKey: key.number) != nil else { return }
        known -= 1
        work[key.session]?.held.removeAll { $0 == key.number }
        if let rest = work[key.session], rest.effects.isEmpty, rest.running == 0 { work[key.session] = nil }
    }
}
