internal import Synchronization

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
    var isOver: Bool {
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
