internal import Postgres
internal import Sessions
internal import Synchronization

/// Reads that share round trips: what waits when a connection is free goes in one query. A request never joins a query
/// that was already sent, so that what it learns is not older than the request.
final class ReadQueue: Sendable {
    /// Whether a session still has a stamp.
    struct Confirmation: Sendable {
        let id: SessionID
        let stamp: SessionStamp
        let arrived: ContinuousClock.Instant
        let completion: @Sendable (Result<Bool, StoreError>) -> Void
    }

    /// A session to load, with a token that it must have.
    struct LoadRequest: Sendable {
        let id: SessionID
        let token: [UInt8]?
        let arrived: ContinuousClock.Instant
        let completion: @Sendable (Result<SessionRow?, StoreError>) -> Void
    }

    /// Anything else.
    struct Job: Sendable {
        let arrived: ContinuousClock.Instant
        let run: @Sendable (Result<DatabaseLink, StoreError>) -> Void
    }

    private struct State {
        var confirmations: [Confirmation] = []
        var loads: [LoadRequest] = []
        var jobs: [Job] = []
        /// The readers that have nothing to do.
        var idle: [Reader] = []
        /// The reader that has a group of confirmations. One at a time: what arrives meanwhile is the next group, and
        /// larger groups cost the database less.
        var confirming: Reader?
        var isClosed = false

        var hasWork: Bool { canConfirm || !loads.isEmpty || !jobs.isEmpty }
        var canConfirm: Bool { confirming == nil && !confirmations.isEmpty }
    }

    /// What a reader does next.
    enum Work {
        case confirmations([Confirmation])
        case loads([LoadRequest])
        case job(Job)
    }

    /// The most confirmations or loads in one query.
    private static let groupSize = (confirmations: 1024, loads: 128)

    private let state = Mutex(State())

    /// - Returns: `false` if the queue is closed.
    private func append(_ add: (inout State) -> Void) -> Bool {
        let (isOpen, reader) = state.withLock { state in
            guard !state.isClosed else { return (false, Reader?.none) }
            add(&state)
            return (true, state.hasWork ? state.idle.popLast() : nil)
        }
        reader?.wake()
        return isOpen
    }

    func append(_ one: Confirmation) {
        if !append({ $0.confirmations.append(one) }) { one.completion(.failure(ReadQueue.closed)) }
    }

    func append(_ one: LoadRequest) {
        if !append({ $0.loads.append(one) }) { one.completion(.failure(ReadQueue.closed)) }
    }

    /// Runs a read that shares its round trip with no other.
    ///
    /// - Parameter body: may be called again if the connection is lost.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (DatabaseLink) throws(PostgresError) -> Value
    ) async throws(StoreError) -> Value {
        let outcome: Result<Value, StoreError> = await withCheckedContinuation { continuation in
            let arrived = ContinuousClock.now
            let job = Job(arrived: arrived) { link in
                continuation.resume(
                    returning: link.flatMap { link in
                        Result { () throws(StoreError) in try Reader.retrying(link, since: arrived, body) }
                    })
            }
            if !append({ $0.jobs.append(job) }) { job.run(.failure(ReadQueue.closed)) }
        }
        return try outcome.get()
    }

    /// Confirmations first, because they are the shortest.
    ///
    /// - Returns: `nil` if the reader is idle from now on.
    func next(for reader: Reader) -> Work? {
        state.withLock { state in
            if state.confirming === reader { state.confirming = nil }
            if state.canConfirm {
                state.confirming = reader
                return .confirmations(ReadQueue.takeFirst(ReadQueue.groupSize.confirmations, &state.confirmations))
            }
            if !state.loads.isEmpty { return .loads(ReadQueue.takeFirst(ReadQueue.groupSize.loads, &state.loads)) }
            if !state.jobs.isEmpty { return .job(state.jobs.removeFirst()) }
            if !state.isClosed { state.idle.append(reader) }
            return nil
        }
    }

    private static func takeFirst<Element>(_ count: Int, _ elements: inout [Element]) -> [Element] {
        guard elements.count > count else {
            defer { elements = [] }
            return elements
        }
        defer { elements.removeFirst(count) }
        return Array(elements.prefix(count))
    }

    func close() {
        let left = state.withLock { state in
            (state.isClosed, state.idle) = (true, [])
            defer { (state.confirmations, state.loads, state.jobs) = ([], [], []) }
            return (state.confirmations, state.loads, state.jobs)
        }
        for one in left.0 { one.completion(.failure(ReadQueue.closed)) }
        for one in left.1 { one.completion(.failure(ReadQueue.closed)) }
        for one in left.2 { one.run(.failure(ReadQueue.closed)) }
    }

    private static let closed = StoreError.unavailable(reason: PostgresStore.closed)
}
