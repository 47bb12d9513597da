internal import Sessions
internal import Synchronization

/// Where a row of the journal is, and what it means for its session.
struct Place: Sendable {
    let seq: Int
    let kind: JournalRow.Kind
    let version: Int
    /// Bytes of its text.
    let size: Int
    /// Milliseconds since 1970.
    let keptUntil: Int
    private(set) var label: JournalRow.Label?

    var isRecord: Bool { kind != .answer }
    var key: String? { label?.key }

    /// Changes when the next timer is due, as the tables will have it. The row keeps what was committed.
    fileprivate mutating func postpone(until time: Int?) {
        label = label.map {
            JournalRow.Label(
                tokens: $0.tokens, user: $0.user, origin: $0.origin, key: $0.key, timer: time, hasEffects: $0.hasEffects
            )
        }
    }
}

/// The uncompacted tail of the journal: where the rows are that are not in the tables yet.
struct Tail {
    /// In the order of the journal, by session.
    private(set) var recent: [SessionID: [Place]] = [:]
    private(set) var recentCount = 0
    /// Bytes of their texts.
    private(set) var recentSize = 0
    /// The number of the last row in `recent`.
    private(set) var lastSeq = 0
    /// The row up to which `forget` has forgotten.
    private var lastForgotten = 0
    /// What is being compacted, or could not be compacted: older than `recent`.
    private(set) var compacting: [SessionID: [Place]] = [:]
    /// The forks in the tail, by the session that they were forked from.
    private var forks: [String: Set<SessionID>] = [:]
    /// The sessions in the tail, by each user who was signed in in one of their versions.
    private var users: [String: Set<SessionID>] = [:]
    /// When the next timer is due of each session in the tail that has one, in milliseconds since 1970.
    private var timers: [SessionID: Int] = [:]
    /// The sessions in the tail that have effects under way.
    private(set) var performing: Set<SessionID> = []

    mutating func append(_ place: Place, of id: SessionID) {
        recent[id, default: []].append(place)
        recentCount += 1
        recentSize += place.size
        lastSeq = place.seq
        if place.isRecord { note(place.label, of: id) }
        guard let label = place.label else { return }
        if let origin = label.origin { forks[origin, default: []].insert(id) }
        if let user = label.user { users[user, default: []].insert(id) }
    }

    /// The label of a session's last record.
    private mutating func note(_ label: JournalRow.Label?, of id: SessionID) {
        if let timer = label?.timer { timers[id] = timer } else if !timers.isEmpty { timers[id] = nil }
        if label?.hasEffects == true { performing.insert(id) } else if !performing.isEmpty { performing.remove(id) }
    }

    /// The timers that are due, in any order.
    func timers(dueAt now: Int) -> [(due: Int, id: SessionID)] {
        timers.compactMap { $0.value <= now ? ($0.value, $0.key) : nil }
    }

    /// Changes a timer that is still due at `due`.
    mutating func postpone(due: Int, until time: Int?, of id: SessionID) {
        guard timers[id] == due else { return }
        timers[id] = time
        if let index = recent[id]?.lastIndex(where: \.isRecord) {
            recent[id]?[index].postpone(until: time)
        } else if let index = compacting[id]?.lastIndex(where: \.isRecord) {
            compacting[id]?[index].postpone(until: time)
        }
    }

    /// Oldest first.
    func places(of id: SessionID) -> [Place] {
        (compacting.isEmpty ? [] : compacting[id] ?? []) + (recent[id] ?? [])
    }

    func forks(of id: SessionID) -> Set<SessionID> { forks[id.text] ?? [] }

    func sessions(ofUser user: String) -> Set<SessionID> { users[user] ?? [] }

    /// The sessions that are not in the tables.
    var newSessions: [SessionID] {
        Set(recent.keys).union(compacting.keys).filter { id in places(of: id).contains { $0.kind == .first } }
    }

    /// The sessions that have a record here. One that was imported after its end has no first one.
    var recordedSessions: [SessionID] {
        Set(recent.keys).union(compacting.keys).filter { id in places(of: id).contains(where: \.isRecord) }
    }

    /// The last version; `nil` if only the tables can have it.
    func version(of id: SessionID) -> Int? {
        if let place = recent[id]?.last(where: \.isRecord) { return place.version }
        return compacting.isEmpty ? nil : compacting[id]?.last(where: \.isRecord)?.version
    }

    /// From now on everything recent is being compacted, and also what could not be compacted before.
    mutating func beginCompaction() {
        compacting.merge(recent) { $0 + $1 }
        recent = [:]
        recentCount = 0
        recentSize = 0
    }

    /// What was being compacted is in the tables.
    ///
    /// - Parameter stuck: sessions that could not be compacted.
    mutating func endCompaction(but stuck: Set<SessionID>) {
        compacting = stuck.isEmpty ? [:] : compacting.filter { stuck.contains($0.key) }
        forks = sessionsInTail(forks)
        users = sessionsInTail(users)
        if !timers.isEmpty { timers = timers.filter { hasSession($0.key) } }
        if !performing.isEmpty { performing = performing.filter { hasSession($0) } }
    }

    private func hasSession(_ id: SessionID) -> Bool { recent[id] != nil || compacting[id] != nil }

    private func sessionsInTail(_ index: [String: Set<SessionID>]) -> [String: Set<SessionID>] {
        index.isEmpty
            ? index
            : index.mapValues { $0.filter { hasSession($0) } }.filter { !$0.value.isEmpty }
    }

    /// Forgets the rows up to `seq`: they are in the tables. Visits all sessions, but only if there is something new to
    /// forget, because a reader calls this before every read.
    mutating func forget(upTo seq: Int) {
        guard seq > lastForgotten else { return }
        lastForgotten = seq
        beginCompaction()
        recent = compacting.compactMapValues { places in
            let rest = places.filter { $0.seq > seq }
            return rest.isEmpty ? nil : rest
        }
        compacting = [:]
        recentCount = recent.values.reduce(0) { $0 + $1.count }
        recentSize = recent.values.joined().reduce(0) { $0 + $1.size }
    }
}

/// Written by the journal writer, read by all.
final class SharedTail: Sendable {
    private let content: Mutex<Tail>

    init(_ content: Tail) {
        self.content = Mutex(content)
    }

    func withLock<Value, Failure: Error>(
        _ body: (inout Tail) throws(Failure) -> sending Value
    ) throws(Failure) -> sending Value {
        try content.withLock { content throws(Failure) in try body(&content) }
    }
}
