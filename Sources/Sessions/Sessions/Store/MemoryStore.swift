public import FoundationEssentials
public import Sodium
internal import Synchronization

/// Keeps sessions in memory: fast, and lost with the process. It keeps the last `endedLimit` tombstones.
public final class MemoryStore: SessionStore {
    private struct Sessions {
        var kept: [SessionID: KeptSession] = [:]
        var due = DueHeap<KeptSession>()
        /// The next timers of sessions that have any.
        var timers = DueHeap<KeptTimer>()
        /// The sessions with effects under way.
        var performing: Set<SessionID> = []
        /// The ended sessions in the order in which they ended.
        var ended: Ring<SessionID>
        /// The forks of each session.
        var forks: [SessionID: Set<SessionID>] = [:]
        /// The sessions of each user.
        var users: [String: Set<SessionID>] = [:]
        /// About how many bytes the sessions take.
        var bytes = 0
        var latestTime = Date.distantPast
        /// How many bytes the last change that was refused for lack of room would have added; 0 if none was.
        var refusedGrowth = 0
        /// The last commits, for `changes(since:)`, if the store is shared.
        var commits: Ring<(SessionID, version: Int)>?
        var commitCount = 0

        /// Makes the change if the stored version is the expected one.
        ///
        /// - Returns: the session if it is not.
        mutating func commit(_ change: SessionChange, _ retention: Retention) -> SessionID? {
            let session = kept[change.id]
            let current = session?.versions.newest?.version ?? 0
            guard current == change.expected.version, current > 0 || change.record != nil,
                commits == nil || session?.commits ?? 0 == change.expected.commits
            else { return change.id }
            commits?.append((change.id, change.stamp.version))
            commitCount += 1
            if let record = change.record { latestTime = max(latestTime, record.time) }
            if let session, change.record?.isEnd != true {
                bytes -= session.footprint
                if let record = change.record { move(session, to: record.identity.user) }
                session.keep(change, retention)
                bytes += session.footprint
                if let record = change.record { set(record.pending, of: session) }
                if let keptUntil = change.record?.keptUntil, keptUntil < session.due {
                    session.due = keptUntil
                    due.settle(session)
                }
            } else if let record = change.record {
                let commits = session?.commits ?? 0
                forget(change.id)
                insert(KeptSession(change, record, retention, commits: commits), forkOf: record.identity.origin)
                // Bounded, or a client that keeps creating and ending sessions would fill the memory.
                if record.isEnd, let oldest = ended.append(change.id), kept[oldest]?.hasEnded == true { forget(oldest) }
            }
            return nil
        }

        private mutating func insert(_ session: KeptSession, forkOf origin: SessionID?) {
            kept[session.id] = session
            due.insert(session)
            bytes += session.footprint
            if !session.hasEnded { move(session, to: session.versions.newest?.identity.user) }
            if let pending = session.versions.newest?.pending { set(pending, of: session) }
            if let origin { forks[origin, default: []].insert(session.id) }
        }

        private mutating func move(_ session: KeptSession, to user: String?) {
            guard user != session.user else { return }
            if let before = session.user {
                users[before]?.remove(session.id)
                if users[before]?.isEmpty == true { users[before] = nil }
            }
            if let user { users[user, default: []].insert(session.id) }
            session.user = user
        }

        private mutating func set(_ pending: WakeEntry, of session: KeptSession) {
            setTimer(pending.nextTimer, of: session)
            guard pending.hasEffects != session.hasEffects else { return }
            session.hasEffects = pending.hasEffects
            if pending.hasEffects { performing.insert(session.id) } else { performing.remove(session.id) }
        }

        private mutating func setTimer(_ time: Date?, of session: KeptSession) {
            guard time != session.timer?.due else { return }
            if let timer = session.timer { timers.remove(timer) }
            session.timer = time.map { KeptTimer($0, of: session.id) }
            if let timer = session.timer { timers.insert(timer) }
        }

        mutating func dueTimers(at now: Date, limit: Int) -> [DueTimer] {
            var found: [KeptTimer] = []
            while found.count < limit, let timer = timers.first, timer.due <= now {
                timers.remove(timer)
                found.append(timer)
            }
            for timer in found { timers.insert(timer) }
            return found.map { DueTimer($0.id, due: $0.due) }
        }

        mutating func postpone(_ timers: [DueTimer], until time: Date?) {
            for timer in timers {
                guard let session = kept[timer.session], session.timer?.due == timer.due else { continue }
                setTimer(time, of: session)
            }
        }

        private mutating func forget(_ id: SessionID) {
            guard let session = kept.removeValue(forKey: id) else { return }
            move(session, to: nil)
            set(.nothing, of: session)
            due.remove(session)
            bytes -= session.footprint
            guard let origin = session.versions.newest?.identity.origin else { return }
            forks[origin]?.remove(id)
            if forks[origin]?.isEmpty == true { forks[origin] = nil }
        }

        /// Checks up to `limit` sessions that are due, and forgets those that need not be kept any longer.
        mutating func sweep(at now: Date, limit: Int) -> (examined: Int, forgotten: [SessionID]) {
            latestTime = max(latestTime, now)
            var forgotten: [SessionID] = []
            for examined in 0..<limit {
                guard let session = due.first, session.due <= now else { return (examined, forgotten) }
                session.due = session.versions.newest?.keptUntil ?? now
                if session.due <= now {
                    forget(session.id)
                    forgotten.append(session.id)
                } else {
                    due.settle(session)
                }
            }
            return (limit, forgotten)
        }
    }

    private static let full =
        "the store is full: sessions can be read and ended, and devices revoked; nothing else is accepted"

    /// How many tombstones are kept; earlier ended sessions are reported as unknown.
    public static let endedLimit = 4096

    private let sessions: Mutex<Sessions>
    private let retention: Retention
    private let byteLimit: Int

    public let name = "memory"
    public let isShared: Bool
    public let pairings: (any PairingStore)?
    public let secret = Sodium.randomBytes(KeyedDigest.keySize)

    /// How many of the last commits `changes(since:)` can return.
    static let commitLimit = 4096

    /// - Parameters:
    ///   - limitBytes: about how much memory it may take; above that, sessions can only be read and ended.
    ///   - isShared: whether several hosts use it, as several servers use a shared store: for tests.
    public init(retention: Retention = Retention(), limitBytes: Int = .max, isShared: Bool = false) {
        self.isShared = isShared
        self.pairings = isShared ? PairingsInMemory() : nil
        self.retention = retention
        self.byteLimit = limitBytes
        let commits = isShared ? Ring<(SessionID, version: Int)>(capacity: MemoryStore.commitLimit) : nil
        self.sessions = Mutex(Sessions(ended: Ring(capacity: MemoryStore.endedLimit), commits: commits))
    }

    public var sessionCount: Int { sessions.withLock { $0.kept.count } }

    public var latestTime: Date { sessions.withLock { $0.latestTime } }

    public var figures: StoreFigures {
        var figures = StoreFigures()
        figures.bytes = sessions.withLock { $0.bytes }
        figures.usedBytes = figures.bytes
        return figures
    }

    /// The store is full after it has refused a change, until there is room for that change.
    public var condition: StoreCondition {
        let isFull = sessions.withLock { $0.refusedGrowth > 0 && $0.bytes + $0.refusedGrowth > byteLimit }
        return StoreCondition(full: isFull ? MemoryStore.full : nil)
    }

    public func load(_ id: SessionID, token: SHA256Digest?) throws(StoreError) -> LoadedSession? {
        let found = sessions.withLock { $0.kept[id].map { ($0.versions, $0.commits, $0.answeredKeys) } }
        guard let (versions, commits, keys) = found,
            token.map({ versions.newest?.identity.isOpen(to: $0) == true }) ?? true,
            let record = try records(versions, from: .max, limit: 1, bytes: .max).first
        else { return nil }
        let stamp = SessionStamp(version: record.version, commits: commits)
        return LoadedSession(record: record, stamp: stamp, answeredKeys: keys)
    }

    public func isCurrent(_ stamp: SessionStamp, of id: SessionID) -> Bool {
        !isShared || sessions.withLock { $0.kept[id]?.commits } == stamp.commits
    }

    public func changes(since position: FeedPosition?) -> StoreChanges {
        sessions.withLock { sessions in
            let count = sessions.commitCount
            let fresh = count - (position?.lanes[0] ?? 0)
            var versions: [SessionID: Int] = [:]
            if let commits = sessions.commits {
                for (id, version) in commits.newestFirst.prefix(fresh) where versions[id] == nil {
                    versions[id] = version
                }
            }
            return StoreChanges(
                versions: versions, isComplete: position != nil && fresh <= MemoryStore.commitLimit,
                position: FeedPosition(lanes: [0: count], time: .now))
        }
    }

    /// - Parameter bytes: the most bytes of the texts together. At least one record is returned if there is any.
    private func records(
        _ versions: Ring<EncodedRecord>, from newest: Int, limit: Int, bytes: Int
    ) throws(StoreError) -> [SessionRecord] {
        guard let id = versions.newest?.id else { return [] }
        var found = FoundRecords(of: id)
        var size = 0
        for record in versions.newestFirst.prefix(retention.versions).drop(while: { $0.version > newest }).prefix(limit)
        {
            size += record.text.count
            // If the base version is no longer kept, no older record can be read either.
            guard found.wanted.isEmpty || size <= bytes else { break }
            if let base = record.baseVersion {
                guard let full = versions.record(base) else { break }
                found.bases[base] = full.text
            }
            found.wanted.append((record.version, record.text))
        }
        return try found.records()
    }

    public func forks(of id: SessionID) -> [SessionID] {
        sessions.withLock { Array($0.forks[id] ?? []) }
    }

    public func sessions(ofUser user: String) -> [SessionID] {
        sessions.withLock { Array($0.users[user] ?? []) }
    }

    public func history(
        of id: SessionID, from version: Int?, limit: Int, bytes: Int
    ) throws(StoreError) -> [SessionRecord] {
        guard let versions = sessions.withLock({ $0.kept[id]?.versions }) else { return [] }
        return try records(versions, from: version ?? .max, limit: limit, bytes: bytes)
    }

    public func answer(to key: String, of id: SessionID) -> StoredAnswer? {
        sessions.withLock { $0.kept[id]?.answer(to: key) }
    }

    public func commit(_ changes: [SessionChange]) -> CommitOutcome {
        let growth = changes.reduce(0) { $0 + KeptSession.growth(by: $1) }
        return sessions.withLock { sessions in
            // Ending sessions frees memory, so it is always accepted.
            guard growth == 0 || sessions.bytes + growth <= byteLimit else {
                sessions.refusedGrowth = growth
                return .failure(.full)
            }
            return .success(changes.compactMap { sessions.commit($0, retention) })
        }
    }

    public func dueTimers(at now: Date, limit: Int) -> [DueTimer] {
        sessions.withLock { $0.dueTimers(at: now, limit: limit) }
    }

    public func postpone(_ timers: [DueTimer], until time: Date?) {
        sessions.withLock { $0.postpone(timers, until: time) }
    }

    /// A store of several hosts returns the same to all of them.
    public func sessionsWithEffects(after last: SessionID?, limit: Int) -> [SessionID] {
        let performing = sessions.withLock { $0.performing }
        let rest = performing.filter { $0.text > last?.text ?? "" }
        return Array(rest.sorted { $0.text < $1.text }.prefix(limit))
    }

    /// How many sessions are checked while the lock is held.
    private static let sweepSize = 100

    public func sweep(at now: Date, limit: Int) -> [SessionID] {
        var swept: [SessionID] = []
        while swept.count < limit {
            let size = min(MemoryStore.sweepSize, limit - swept.count)
            let (examined, forgotten) = sessions.withLock { $0.sweep(at: now, limit: size) }
            swept += forgotten
            if examined < size { break }
        }
        return swept
    }
}

/// What `MemoryStore` keeps of a session. Accessed only under the store's lock.
final class KeptSession: DueHeapElement {
    let id: SessionID
    private(set) var versions: Ring<EncodedRecord>
    /// `nil` while no client has sent an `Idempotency-Key`.
    private var answers: KeptAnswers?
    /// `nil` while no service has sent a signal.
    private var answersToServices: KeptAnswers?
    /// See `SessionStamp`.
    private(set) var commits: Int
    private var versionBytes = 0
    /// When to check whether the session can be forgotten. If it is used before then, it is kept longer.
    var due: Date
    var place = 0
    /// The user that the store lists it under.
    var user: String?
    /// In the store's list of timers.
    var timer: KeptTimer?
    /// Whether the store lists it among the sessions with effects under way.
    var hasEffects = false

    init(_ change: SessionChange, _ first: EncodedRecord, _ retention: Retention, commits: Int) {
        self.commits = commits
        id = change.id
        due = first.keptUntil
        versions = Ring(capacity: retention.retainedVersions)
        keep(change, retention)
    }

    var hasEnded: Bool { versions.newest?.isEnd ?? false }

    func keep(_ change: SessionChange, _ retention: Retention) {
        commits += 1
        if let record = change.record {
            versionBytes += record.text.count - (versions.append(record)?.text.count ?? 0)
            let needed = 1 + record.version - (record.baseVersion ?? record.version)
            while versionBytes > retention.versionBytes, versions.count > needed, let oldest = versions.removeOldest() {
                versionBytes -= oldest.text.count
            }
        }
        if let answer = change.answer { keep(answer, retention) }
    }

    private func keep(_ answer: StoredAnswer, _ retention: Retention) {
        if StoredAnswer.isOfService(answer.key) {
            if answersToServices == nil { answersToServices = KeptAnswers(retention) }
            answersToServices?.keep(answer, byteLimit: retention.answerBytes)
        } else {
            if answers == nil { answers = KeptAnswers(retention) }
            answers?.keep(answer, byteLimit: retention.answerBytes)
        }
    }

    /// Oldest first: those of clients, then those of services.
    var answeredKeys: [String] { (answers?.keys ?? []) + (answersToServices?.keys ?? []) }

    func answer(to key: String) -> StoredAnswer? {
        (StoredAnswer.isOfService(key) ? answersToServices : answers)?.answer(to: key)
    }

    /// About how many bytes the session takes in memory.
    var footprint: Int {
        MemoryEstimate.session + versions.count * MemoryEstimate.version + versionBytes
            + (answers?.footprint ?? 0) + (answersToServices?.footprint ?? 0)
    }

    /// How many bytes a change adds at most; 0 if it only takes something away.
    static func growth(by change: SessionChange) -> Int {
        if change.takesAway { return 0 }
        var growth = change.expected.version == 0 ? MemoryEstimate.session : 0
        if let record = change.record { growth += MemoryEstimate.version + record.text.count }
        if let answer = change.answer { growth += MemoryEstimate.answer + answer.bodySize }
        return growth
    }
}

/// The last answers of a session to its clients, or to services.
private struct KeptAnswers {
    private var answers: Ring<StoredAnswer>
    private var bytes = 0
    /// How many answers, the newest ones, still have their bodies.
    private var bodies = 0

    init(_ retention: Retention) { answers = Ring(capacity: retention.answers) }

    mutating func keep(_ answer: StoredAnswer, byteLimit: Int) {
        bytes += answer.bodySize - (answers.append(answer)?.bodySize ?? 0)
        bodies = min(bodies + 1, answers.count)
        while bytes > byteLimit, bodies > 1 {
            bodies -= 1
            bytes -= answers[bodies].bodySize
            answers[bodies] = answers[bodies].withoutBody
        }
    }

    /// Oldest first.
    var keys: [String] { answers.newestFirst.reversed().map(\.key) }

    func answer(to key: String) -> StoredAnswer? { answers.newestFirst.first { $0.key == key } }

    var footprint: Int { answers.count * MemoryEstimate.answer + bytes }
}

/// The next timer of a session in `MemoryStore`.
final class KeptTimer: DueHeapElement {
    let id: SessionID
    let due: Date
    var place = 0

    init(_ due: Date, of id: SessionID) {
        self.id = id
        self.due = due
    }
}

extension StoredAnswer {
    fileprivate var bodySize: Int { body?.count ?? 0 }
}

extension Ring<EncodedRecord> {
    /// The record of a version; `nil` if it is not kept.
    func record(_ version: Int) -> EncodedRecord? {
        guard let newest, (0..<count).contains(newest.version - version) else { return nil }
        return self[newest.version - version]
    }
}

/// The last elements of a sequence.
struct Ring<Element> {
    private let capacity: Int
    private var elements: [Element] = []
    /// The index of the oldest element, once the ring has been full.
    private var start = 0

    init(capacity: Int) {
        self.capacity = capacity
    }

    /// - Returns: the element that was dropped, if any.
    @discardableResult
    mutating func append(_ element: Element) -> Element? {
        guard elements.count >= capacity else {
            // After the newest: at the end of the array, or before the oldest.
            elements.insert(element, at: start == 0 ? elements.count : start)
            if start > 0 { start += 1 }
            return nil
        }
        guard capacity > 0 else { return element }
        defer { start = (start + 1) % capacity }
        return exchange(&elements[start], with: element)
    }

    /// - Returns: `nil` if the ring is empty.
    @discardableResult
    mutating func removeOldest() -> Element? {
        guard !elements.isEmpty else { return nil }
        defer { if start >= elements.count { start = 0 } }
        return elements.remove(at: start)
    }

    var newest: Element? { elements.isEmpty ? nil : self[0] }
    var count: Int { elements.count }

    /// - Parameter age: 0 for the newest.
    subscript(age: Int) -> Element {
        get { elements[index(age)] }
        set { elements[index(age)] = newValue }
    }

    private func index(_ age: Int) -> Int { (start + elements.count - 1 - age) % elements.count }

    var newestFirst: some RandomAccessCollection<Element> {
        elements.indices.lazy.map { self[$0] }
    }

    private func exchange(_ place: inout Element, with element: Element) -> Element {
        defer { place = element }
        return place
    }
}

extension Ring where Element: Equatable {
    func contains(_ element: Element) -> Bool { elements.contains(element) }
}

extension Ring: Sendable where Element: Sendable {}

/// Elements that are due at some time, the earliest first: a binary heap from which any element can be removed.
struct DueHeap<Element: DueHeapElement> {
    private var elements: [Element] = []

    var first: Element? { elements.first }

    mutating func insert(_ element: Element) {
        element.place = elements.count
        elements.append(element)
        rise(from: element.place)
    }

    mutating func remove(_ element: Element) {
        let place = element.place
        guard let last = elements.popLast(), last !== element else { return }
        put(last, at: place)
        settle(at: place)
    }

    /// Moves an element to its place after its `due` has changed.
    mutating func settle(_ element: Element) {
        settle(at: element.place)
    }

    private mutating func settle(at place: Int) {
        rise(from: place)
        sink(from: place)
    }

    private mutating func rise(from place: Int) {
        var place = place
        while place > 0, elements[place].due < elements[(place - 1) / 2].due {
            swap(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    private mutating func sink(from place: Int) {
        var place = place
        while true {
            let children = 2 * place + 1..<min(2 * place + 3, max(elements.count, 2 * place + 1))
            guard let next = children.min(by: { elements[$0].due < elements[$1].due }),
                elements[next].due < elements[place].due
            else { return }
            swap(place, next)
            place = next
        }
    }

    private mutating func swap(_ one: Int, _ other: Int) {
        let element = elements[one]
        put(elements[other], at: one)
        put(element, at: other)
    }

    private mutating func put(_ element: Element, at place: Int) {
        elements[place] = element
        element.place = place
    }
}

/// An element that is in at most one heap at a time.
protocol DueHeapElement: AnyObject {
    var due: Date { get }
    /// The element's index in the heap, for the heap alone.
    var place: Int { get set }
}
