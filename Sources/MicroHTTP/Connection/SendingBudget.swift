internal import Synchronization

/// The bytes of all answers that are on their way out. Clients that take theirs slowly, or never, must not fill the memory:
/// what has been on its way for the longest time is cut off, and whoever takes an answer soon gets it.
final class SendingBudget: Sendable {
    /// Answers up to this size are not counted: as many as there are connections cost less than the connections do.
    static let smallSize = 16 * 1024

    private struct Answers {
        /// In the order of their numbers, which is that of their beginning.
        var sending: [Int: (connection: WatchedConnection, size: Int)] = [:]
        /// No answer that may be cut has a lower number.
        var oldest = 0
        var next = 0
        /// Bytes of all of them.
        var size = 0
        /// The same without those whose connections are cut: their memory is given back soon.
        var liveSize = 0
    }

    private let limit: Int
    private let answers = Mutex(Answers())

    init(limit: Int) {
        self.limit = limit
    }

    /// Bytes that are counted now.
    var size: Int { answers.withLock { $0.size } }

    /// Counts an answer that is about to be sent, and cuts off as many of the oldest as are too many then.
    ///
    /// - Returns: its number, to be given to `end`; `nil` where the cut ones still take as much again: it must not be sent.
    func begin(_ size: Int, on connection: WatchedConnection) -> Int? {
        answers.withLock { answers in
            guard answers.size + size <= 2 * max(limit, size) else { return nil }
            let number = answers.next
            answers.next += 1
            answers.size += size
            answers.liveSize += size
            while answers.liveSize > limit, answers.oldest < number {
                if let slow = answers.sending[answers.oldest] {
                    slow.connection.cut()
                    answers.liveSize -= slow.size
                }
                answers.oldest += 1
            }
            answers.sending[number] = (connection, size)
            return number
        }
    }

    /// The answer is sent, or its connection closed.
    func end(_ number: Int) {
        answers.withLock { answers in
            guard let ended = answers.sending.removeValue(forKey: number) else { return }
            answers.size -= ended.size
            if number >= answers.oldest { answers.liveSize -= ended.size }
        }
    }
}
