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
    private(set) var recent = Part()
    private(set) var recentCount = 0
    /// Bytes of their texts.
    private(set) var recentSize = 0
    /// The number of the last row in `recent`.
    private(set) var lastSeq = 0
    /// The row up to which `forget` has forgotten.
    private var lastForgotten = 0
    /// What is being compacted, or could not be compacted: older than `recent`.
    private(set) var compacting = Part()

    /// The rows of sessions, and what else is known of these.
    struct Part {
        /// In the order of the journal.
        fileprivate(set) var places: [SessionID: [Place]] = [:]
        /// The forks, by the session that they were forked from.
        fileprivate var forks: [String: Set<SessionID>] = [:]
        /// The sessions, by each user who was signed in in one of their versions.
        fileprivate var users: [String: Set<SessionID>] = [:]
        /// When the next timer is due of each session that has one and its last record here, in milliseconds since 1970.
        fileprivate var timers: [SessionID: Int] = [:]
        /// Those that have effects under way, and their last record here.
        fileprivate var performing: Set<SessionID> = []

        fileprivate mutating func append(_ place: Place, of id: SessionID) {
            places[id, default: []].append(place)
            if place.isRecord { forgetPending(of: id) }
            guard let label = place.label else { return }
            if let timer = label.timer { timers[id] = timer }
            if label.hasEffects { performing.insert(id) }
            if let origin = label.origin { forks[origin, default: []].insert(id) }
            if let user = label.user { users[user, default: []].insert(id) }
        }

        fileprivate mutating func forgetPending(of id: SessionID) {
            if !timers.isEmpty { timers[id] = nil }
            if !performing.isEmpty { performing.remove(id) }
        }

        fileprivate mutating func postpone(due: Int, until time: Int?, of id: SessionID) {
            guard timers[id] == due, let last = places[id]?.lastIndex(where: \.isRecord) else { return }
            timers[id] = time
            places[id]?[last].postpone(until: time)
        }

        fileprivate func version(of id: SessionID) -> Int? { places[id]?.last(where: \.isRecord)?.version }

        fileprivate mutating func merge(_ later: Part) {
            places.merge(later.places) { $0 + $1 }
            forks.merge(later.forks) { $0.union($1) }
            users.merge(later.users) { $0.union($1) }
            timers.merge(later.timers) { $1 }
            performing.formUnion(later.performing)
        }

        fileprivate func filtered(_ isIn: (SessionID) -> Bool) -> Part {
            Part(
                places: places.filter { isIn($0.key) },
                forks: forks.mapValues { $0.filter(isIn) }.filter { !$0.value.isEmpty },
                users: users.mapValues { $0.filter(isIn) }.filter { !$0.value.isEmpty },
                timers: timers.filter { isIn($0.key) }, performing: performing.filter(isIn))
        }
    }

    mutating func append(_ place: Place, of id: SessionID) {
        if place.isRecord { compacting.forgetPending(of: id) }
        recent.append(place, of: id)
        recentCount += 1
        recentSize += place.size
        lastSeq = place.seq
    }

    /// The sessions that have effects under way.
    var performing: Set<SessionID> { recent.performing.union(compacting.performing) }

    /// The timers that are due, in any order.
    func timers(dueAt now: Int) -> [(due: Int, id: SessionID)] {
        [recent, compacting].flatMap { part in
            part.timers.compactMap { $0.value <= now ? ($0.value, $0.key) : nil }
        }
    }

    /// Changes a timer that is still due at `due`.
    mutating func postpone(due: Int, until time: Int?, of id: SessionID) {
        recent.postpone(due: due, until: time, of: id)
        compacting.postpone(due: due, until: time, of: id)
    }

    /// Oldest first.
    func places(of id: SessionID) -> [Place] { (compacting.places[id] ?? []) + (recent.places[id] ?? []) }

    func forks(of id: SessionID) -> Set<SessionID> {
        (recent.forks[id.text] ?? []).union(compacting.forks[id.text] ?? [])
    }

    func sessions(ofUser user: String) -> Set<SessionID> {
        (recent.users[user] ?? []).union(compacting.users[user] ?? [])
    }

    /// The sessions that are not in the tables.
    var newSessions: Set<SessionID> { sessions { $0.kind == .first } }

    /// The sessions that have a record here. One that was imported after its end has no first one.
    var recordedSessions: Set<SessionID> { sessions(where: \.isRecord) }

    private func sessions(where isWanted: (Place) -> Bool) -> Set<SessionID> {
        Set(recent.places.keys).union(compacting.places.keys).filter { places(of: $0).contains(where: isWanted) }
    }

    /// The last version; `nil` if only the tables can have it.
    func version(of id: SessionID) -> Int? { recent.version(of: id) ?? compacting.version(of: id) }

    /// From now on everything recent is being compacted, and also what could not be compacted before.
    mutating func beginCompaction() {
        if compacting.places.isEmpty { compacting = recent } else { compacting.merge(recent) }
        recent = Part()
        recentCount = 0
        recentSize = 0
    }

    /// What was being compacted is in the tables.
    ///
    /// - Parameter stuck: sessions that could not be compacted.
    /// - Returns: what is not needed any longer.
    mutating func endCompaction(but stuck: Set<SessionID>) -> Part {
        let ended = compacting
        compacting = stuck.isEmpty ? Part() : compacting.filtered(stuck.contains)
        return ended
    }

    /// Forgets the rows up to `seq`: they are in the tables. Visits all sessions, but only if there is something new to
    /// forget, because a reader calls this before every read.
    mutating func forget(upTo seq: Int) {
        guard seq > lastForgotten else { return }
        lastForgotten = seq
        beginCompaction()
        (recent, compacting) = (compacting, Part())
        recent.places = recent.places.compactMapValues { places in
            let rest = places.filter { $0.seq > seq }
            return rest.isEmpty ? nil : rest
        }
        recentCount = recent.places.values.reduce(0) { $0 + $1.count }
        recentSize = recent.places.values.joined().reduce(0) { $0 + $1.size }
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
