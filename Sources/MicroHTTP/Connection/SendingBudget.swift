internal import Synchronization

/// A connection that can be ended from any thread.
protocol Cuttable: AnyObject, Sendable {
    func cut()
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
        /// The same without the answers whose connections are cut: their memory is freed soon.
        var liveSize = 0
    }

    private let limit: Int
    private let measures: ConnectionMeasures
    private let answers = Mutex(Answers())

    init(limit: Int, _ measures: ConnectionMeasures = ConnectionMeasures()) {
        self.limit = limit
        self.measures = measures
    }

    /// Bytes that are counted now.
    var size: Int { answers.withLock { $0.size } }

    /// Counts an answer that is about to be sent, and cuts off the oldest ones until the rest are within the limit.
    ///
    /// - Returns: its number, to be passed to `end`; `nil` if the cut answers still use as much memory again: it must
    ///   not be sent.
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

    /// Call when the answer is sent, or its connection ends.
    func end(_ number: Int) {
        answers.withLock { answers in
            guard let ended = answers.sending.removeValue(forKey: number) else { return }
            answers.size -= ended.size
            if number >= answers.oldest { answers.liveSize -= ended.size }
        }
    }
}
