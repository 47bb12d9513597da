internal import Sodium
internal import Synchronization

/// The live sessions, which are in memory, and those that are being loaded from the store.
///
/// When they take more than `usage` allows, those that were not requested lately are evicted; the next request loads
/// them again. The clock algorithm (second chance) selects them: the hand goes round and evicts the first session that
/// was not in use since the hand last passed it. It costs a session in use one flag, and no lock of its own.
///
/// What was read from the store may be out of date when it arrives: meanwhile another load may have brought the session
/// into memory, where it was changed or ended, and then evicted. Therefore removals from memory are counted while
/// anybody loads the session, and what was read before the last removal is discarded.
struct LiveSessions {
    let usage: LiveUsage
    private let measures: SessionMeasures
    private var places: [SessionID: Int] = [:]
    private var sessions: [Session] = []
    private var hand = 0
    private var loads: [SessionID: Loads] = [:]

    private struct Loads {
        /// By the token that they are for: a client with another token neither waits for the session's owner nor makes
        /// the owner wait.
        var byToken: [SHA256Digest?: Load] = [:]
        var removals = 0
    }

    /// Where a request finds its session.
    enum FindResult {
        case inMemory(Session)
        /// Another request is loading it.
        case underWay(Load)
        /// The caller has to load it.
        case begun(Load)
    }

    init(_ usage: LiveUsage, _ measures: SessionMeasures) {
        self.usage = usage
        self.measures = measures
    }

    var count: Int { sessions.count }

    /// Up to `limit` sessions, evenly spread. Every request waits meanwhile for the lock that the caller holds.
    func sample(_ limit: Int) -> [Session] {
        guard sessions.count > limit else { return sessions }
        return (0..<limit).map { sessions[$0 * sessions.count / limit] }
    }

    /// The session if it is in memory. Marks it as in use.
    subscript(id: SessionID) -> Session? {
        guard let place = places[id] else { return nil }
        let session = sessions[place]
        if !session.isInUse.load(ordering: .relaxed) { session.isInUse.store(true, ordering: .relaxed) }
        return session
    }

    /// Whether the session is not in memory.
    func isAsleep(_ id: SessionID) -> Bool { places[id] == nil }

    /// Removes a session that was only loaded to wake, unless somebody else uses it.
    mutating func putToSleep(_ id: SessionID) {
        guard let place = places[id], sessions[place].closeIfIdle() else { return }
        remove(id)
        measures.count(.evicted)
    }

    mutating func findOrBeginLoad(of id: SessionID, for token: SHA256Digest?) -> FindResult {
        if let session = self[id] { return .inMemory(session) }
        if let load = loads[id]?.byToken[token] { return .underWay(load) }
        let load = Load(of: id, for: token)
        loads[id, default: Loads()].byToken[token] = load
        return .begun(load)
    }

    /// The value for `insert(_:by:since:)`. Get it before the session is read from the store.
    func removals(of id: SessionID) -> Int { loads[id]?.removals ?? 0 }

    /// Ends a load with the session in memory.
    ///
    /// - Returns: the session whose turns all must use; `nil` if what was loaded may be out of date and has to be read
    ///   again.
    mutating func insert(_ session: Session, by load: Load, since removals: Int) -> Session? {
        if let earlier = self[session.id] {
            earlier.takeOver(session)
            finish(load)
            return earlier
        }
        guard self.removals(of: load.id) == removals else { return nil }
        finish(load)
        evict { $0.isFull(for: session) }
        places[session.id] = sessions.count
        sessions.append(session)
        session.startCounting(in: usage)
        return session
    }

    /// Ends a load, whatever its outcome.
    mutating func finish(_ load: Load) {
        guard loads[load.id]?.byToken[load.token] === load else { return }
        loads[load.id]?.byToken[load.token] = nil
        if loads[load.id]?.byToken.isEmpty == true { loads[load.id] = nil }
    }

    mutating func remove(_ session: Session) {
        guard let place = places[session.id], sessions[place] === session else { return }
        remove(session.id)
    }

    /// Removes the session if it is in memory. Loads of it that are under way must read it again in any case.
    mutating func remove(_ id: SessionID) {
        loads[id]?.removals += 1
        guard let place = places.removeValue(forKey: id), let last = sessions.popLast() else { return }
        guard last.id != id else { return last.stopCounting() }
        sessions[place].stopCounting()
        sessions[place] = last
        places[last.id] = place
    }

    /// The most sessions that the hand passes in one call, so that no request waits for a long search while all
    /// sessions are busy.
    static let searchLimit = 64

    /// Evicts sessions while that is necessary. The hand passes at most `searchLimit` sessions.
    mutating func evict(while isNecessary: (LiveUsage) -> Bool) {
        for _ in 0..<LiveSessions.searchLimit where !sessions.isEmpty && isNecessary(usage) {
            hand = hand + 1 < sessions.count ? hand + 1 : 0
            let session = sessions[hand]
            guard !session.isInUse.exchange(false, ordering: .relaxed), session.closeIfIdle() else { continue }
            remove(session.id)
            measures.count(.evicted)
        }
    }
}

/// How many sessions are in memory, how many coordinators live in them, about how many bytes they take, and the limits.
/// It is written with every event, and read without a lock.
final class LiveUsage: Sendable {
    private let countLimit: Int
    private let byteLimit: Int
    private let count = Atomic(0)
    private let bytes = Atomic(0)
    private let coordinators = Atomic(0)

    init(count: Int, bytes: Int) {
        countLimit = max(1, count)
        byteLimit = bytes
    }

    /// Whether a session has to be evicted. One stays, however large it is.
    var isOverLimit: Bool {
        let count = count.load(ordering: .relaxed)
        return count > countLimit || (count > 1 && bytes.load(ordering: .relaxed) > byteLimit)
    }

    /// Whether a session has to be evicted before this one comes in.
    func isFull(for session: Session) -> Bool {
        let count = count.load(ordering: .relaxed)
        return count >= countLimit || (count > 0 && bytes.load(ordering: .relaxed) > byteLimit - session.footprint)
    }

    func add(sessions: Int = 0, bytes: Int, coordinators: Int) {
        if sessions != 0 { count.add(sessions, ordering: .relaxed) }
        if bytes != 0 { self.bytes.add(bytes, ordering: .relaxed) }
        if coordinators != 0 { self.coordinators.add(coordinators, ordering: .relaxed) }
    }

    /// What is counted now.
    var figures: (sessions: Int, bytes: Int, coordinators: Int) {
        (
            count.load(ordering: .relaxed), bytes.load(ordering: .relaxed), coordinators.load(ordering: .relaxed)
        )
    }
}

/// What sessions take in memory, in bytes, estimated from what they take when they are saved.
enum MemoryEstimate {
    /// Screens and coordinators are kept as values, and as the text that they are sent and saved as. Measured, one
    /// saved byte takes 4 bytes in long texts, 5 to 9 in screens with some parameters, and 16 in long arrays of small
    /// numbers: so sessions take at most twice the estimate.
    static let bytesPerSavedByte = 8
    /// A session without its state: the queue, the keys that were answered, the tables that it is in.
    static let session = 2048
    /// A version without its text, as `MemoryStore` keeps it.
    static let version = 256
    /// An answer without its body.
    static let answer = 256
}
