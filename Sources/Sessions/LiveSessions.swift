internal import Synchronization

/// The sessions in memory. When there are more than `limit`, one that nobody has asked for lately goes to rest: the next
/// request brings it back from the store.
///
/// A clock: the hand goes round and takes the first session that was not in use since it last came by (second chance).
/// It costs a session in use one flag, and no lock of its own.
struct LiveSessions {
    private let limit: Int
    private var seats: [SessionID: Int] = [:]
    private var sessions: [LiveSession?] = []
    private var free: [Int] = []
    private var hand = 0

    init(limit: Int) {
        self.limit = max(1, limit)
    }

    var count: Int { seats.count }

    /// The session, which is in use from now on.
    subscript(id: SessionID) -> LiveSession? {
        guard let seat = seats[id], let session = sessions[seat] else { return nil }
        if !session.isInUse.load(ordering: .relaxed) { session.isInUse.store(true, ordering: .relaxed) }
        return session
    }

    /// Two requests may bring a session back at the same time; all must queue at one.
    ///
    /// - Returns: the one that was there before, if any.
    mutating func insert(_ session: LiveSession) -> LiveSession {
        if let earlier = self[session.id] { return earlier }
        if seats.count >= limit { putOneToRest() }
        if let seat = free.popLast() {
            sessions[seat] = session
            seats[session.id] = seat
        } else {
            seats[session.id] = sessions.count
            sessions.append(session)
        }
        return session
    }

    mutating func remove(_ session: LiveSession) {
        guard let seat = seats[session.id], sessions[seat] === session else { return }
        remove(session.id)
    }

    mutating func remove(_ id: SessionID) {
        guard let seat = seats.removeValue(forKey: id) else { return }
        sessions[seat] = nil
        free.append(seat)
    }

    /// Where all of them are busy, none goes, and there are more than `limit` for a while.
    private mutating func putOneToRest() {
        for _ in 0..<2 * sessions.count {
            hand = (hand + 1) % sessions.count
            guard let session = sessions[hand], !session.isInUse.exchange(false, ordering: .relaxed),
                session.turns.closeIfIdle()
            else { continue }
            return remove(session.id)
        }
    }
}
