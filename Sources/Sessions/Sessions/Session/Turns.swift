internal import Synchronization

/// Lets one caller at a time through: who takes something away first, then clients before others, each in order of
/// arrival. Used under its owner's lock; waiting callers are resumed after the lock is released.
struct Turns {
    enum Entry: Sendable {
        /// The caller has the turn, and must give it back by `leave`.
        case entered
        /// As many callers of its kind wait already as `limit` allows.
        case full
        /// Nobody gets a turn any more.
        case closed
    }

    /// Who waits. What services and the session's own work have to say holds up no user.
    enum Caller: Sendable {
        /// A client or an operator that revokes a token or ends the session: what waits must not go on meanwhile.
        case ending
        /// A client or an operator.
        case client
        /// Another system, which can send its signal again.
        case service
        /// An effect or a timer, which nobody repeats.
        case own
    }

    typealias Waiting = CheckedContinuation<Entry, Never>

    /// How many callers of one kind get the turn in a row while others wait.
    private static let limitInARow = 8

    private var isTaken = false
    private var isClosed = false
    private var endings: [Waiting] = []
    private var clients: [Waiting] = []
    private var others: [(caller: Caller, waiting: Waiting)] = []
    private var services = 0
    /// How many callers that take something away have got the turn in a row.
    private var endingsSince = 0
    /// How many clients have got the turn while others waited, since one of these had it.
    private var clientsSince = 0
    /// How many callers have got the turn since somebody last had it without having to wait.
    private(set) var successive = 0

    /// Takes the turn if it is free.
    mutating func enterAtOnce() -> Bool {
        guard !isTaken, !isClosed else { return false }
        isTaken = true
        return true
    }

    /// - Parameter limit: how many of its kind may wait; none limits `ending`.
    /// - Returns: `nil` if the caller has to wait.
    mutating func enter(_ continuation: Waiting, as caller: Caller = .client, limit: Int) -> Entry? {
        if isClosed { return .closed }
        if enterAtOnce() { return .entered }
        switch caller {
        case .ending:
            endings.append(continuation)
            return nil
        case .client:
            guard clients.count < limit else { return .full }
            clients.append(continuation)
            return nil
        case .service:
            guard services < limit else { return .full }
            services += 1
        case .own: break
        }
        others.append((caller, continuation))
        return nil
    }

    /// - Returns: the waiting caller that now has the turn, to be resumed; `nil` if nobody waits.
    mutating func leave() -> Waiting? {
        let next = next()
        isTaken = next != nil
        successive = isTaken ? successive + 1 : 0
        return next
    }

    private mutating func next() -> Waiting? {
        // Those that are refused come for nothing, and as often as somebody likes.
        if !endings.isEmpty, endingsSince < Turns.limitInARow || clients.isEmpty && others.isEmpty {
            endingsSince += 1
            return endings.removeFirst()
        }
        endingsSince = 0
        if !clients.isEmpty, others.isEmpty || clientsSince < Turns.limitInARow {
            clientsSince = others.isEmpty ? 0 : clientsSince + 1
            return clients.removeFirst()
        }
        guard !others.isEmpty else { return nil }
        clientsSince = 0
        let (caller, waiting) = others.removeFirst()
        if caller == .service { services -= 1 }
        return waiting
    }

    /// Whoever has the turn keeps it, and nobody gets it afterwards.
    ///
    /// - Returns: the waiting callers, to be resumed with `closed`.
    mutating func close() -> [Waiting] {
        isClosed = true
        defer { (endings, clients, others, services) = ([], [], [], 0) }
        return endings + clients + others.map(\.waiting)
    }

    /// Closes the queue if nobody has the turn.
    ///
    /// - Returns: whether the queue is closed.
    mutating func closeIfIdle() -> Bool {
        if !isTaken { isClosed = true }
        return isClosed
    }
}

/// Turns by session id; the session need not exist yet.
final class KeyedTurns: Sendable {
    private let turns = Mutex<[SessionID: Turns]>([:])

    /// Does the work after all earlier work of the same id.
    func inTurn<Value, Failure: Error>(
        _ id: SessionID, _ work: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        _ = await withCheckedContinuation { continuation in
            let entry = turns.withLock { $0[id, default: Turns()].enter(continuation, limit: .max) }
            if let entry { continuation.resume(returning: entry) }
        }
        defer {
            let next = turns.withLock { turns in
                let next = turns[id]?.leave()
                if next == nil { turns[id] = nil }
                return next
            }
            next?.resume(returning: .entered)
        }
        return try await work()
    }
}
