internal import Synchronization

/// Limits the bytes of all request bodies that are under way: those that are arriving, and those of requests that are
/// not answered yet.
///
/// Bytes count when they arrive, not when they are announced. One address may have a quarter of the limit. Beyond half
/// of it, only requests with a right have room (`HTTPHandler.hasRight`, called only then), so that clients without a
/// right cannot use up the room of the others.
final class ReceivingBudget: Sendable {
    /// Bodies up to this size are not counted: one for every connection costs less than the connections themselves.
    static let smallSize = 4 * 1024

    private struct Bodies {
        var size = 0
        /// Of each address that has any.
        var sizes: [IPAddress: Int] = [:]
    }

    private let limit: Int
    private let limitWithoutRight: Int
    private let share: Int
    private let bodies = Mutex(Bodies())

    /// - Parameter bodyLimit: of one body, for which there is always room when nothing else is under way.
    init(limit: Int, bodyLimit: Int) {
        self.limit = max(limit, bodyLimit)
        limitWithoutRight = max(limit / 2, bodyLimit)
        share = max(limit / 4, bodyLimit)
    }

    /// Bytes that are counted now.
    var size: Int { bodies.withLock { $0.size } }

    /// Whether there is room for bytes from an address.
    func hasRoom(for bytes: Int, from address: IPAddress, hasRight: () -> Bool) -> Bool {
        let (size, own) = bodies.withLock { ($0.size + bytes, $0.sizes[address, default: 0] + bytes) }
        return own <= share && (size <= limitWithoutRight || size <= limit && hasRight())
    }

    /// Counts bytes from an address. Threads that do so at the same time may exceed the limit by the bytes that each
    /// has just read.
    ///
    /// - Returns: `false` if there is no room for them; then they are not counted.
    func take(_ bytes: Int, from address: IPAddress, hasRight: () -> Bool) -> Bool {
        guard hasRoom(for: bytes, from: address, hasRight: hasRight) else { return false }
        bodies.withLock { bodies in
            bodies.size += bytes
            bodies.sizes[address, default: 0] += bytes
        }
        return true
    }

    /// Releases what `take` has counted. Call when a request has ended.
    func give(back bytes: Int, of address: IPAddress) {
        guard bytes > 0 else { return }
        bodies.withLock { bodies in
            bodies.size -= bytes
            bodies.sizes[address, default: 0] -= bytes
            if bodies.sizes[address] == 0 { bodies.sizes[address] = nil }
        }
    }
}

/// A connection that can be ended from any thread.
protocol Cuttable: AnyObject, Sendable {
    var socket: CInt { get }
}

/// Limits the bytes of all answers that are being sent. Clients that read theirs slowly, or never, must not fill the
/// memory: the answers that have been under way longest are cut off, and a client that reads promptly gets its answer.
final class SendingBudget: Sendable {
    /// Answers up to this size are not counted: one for every connection costs less than the connections themselves.
    static let smallSize = 16 * 1024

    private struct Answers {
        /// By number. The numbers ascend in the order in which the answers began.
        var sending: [Int: (connection: any Cuttable, size: Int)] = [:]
        /// No answer that can still be cut has a lower number.
        var oldest = 0
        var next = 0
        /// Bytes of all of them.
        var size = 0
        /// Bytes of the answers whose connections are not cut. The memory of the others is freed soon.
        var liveSize = 0
    }

    private let limit: Int
    private let measures: ConnectionMeasures
    private let answers = Mutex(Answers())

    init(limit: Int, _ measures: ConnectionMeasures) {
        self.limit = limit
        self.measures = measures
    }

    /// Bytes that are counted now.
    var size: Int { answers.withLock { $0.size } }

    /// Counts an answer that is about to be sent, and cuts off the oldest ones until the rest are within the limit.
    ///
    /// - Returns: its number, to be passed to `end`; `nil` if it must not be sent, because answers that were cut still
    ///   use as much memory again as the limit.
    func begin(_ size: Int, on connection: any Cuttable) -> Int? {
        answers.withLock { answers in
            guard answers.size + size <= 2 * max(limit, size) else { return nil }
            let number = answers.next
            answers.next += 1
            answers.size += size
            answers.liveSize += size
            while answers.liveSize > limit, answers.oldest < number {
                if let slow = answers.sending[answers.oldest] {
                    slow.connection.cut()
                    measures.count(.largeAnswer)
                    answers.liveSize -= slow.size
                }
                answers.oldest += 1
            }
            answers.sending[number] = (connection, size)
            return number
        }
    }

    /// Releases an answer. Call when it is sent, or its connection ends.
    func end(_ number: Int) {
        answers.withLock { answers in
            guard let ended = answers.sending.removeValue(forKey: number) else { return }
            answers.size -= ended.size
            if number >= answers.oldest { answers.liveSize -= ended.size }
        }
    }
}
