internal import Synchronization

/// Limits the bytes of all request bodies that are under way: that arrive, or belong to a request without its answer.
///
/// Bytes count when they arrive, not when they are announced. An address may have a quarter of all. The second half is
/// for requests that show a right (`HTTPHandler.hasRight`), which is asked only then: clients without one cannot keep
/// those with one from being heard.
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

    /// Counts bytes from an address. Threads that do so at the same time may exceed the limit by what they have just read.
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

    /// Call when a request has ended.
    func give(back bytes: Int, of address: IPAddress) {
        guard bytes > 0 else { return }
        bodies.withLock { bodies in
            bodies.size -= bytes
            bodies.sizes[address, default: 0] -= bytes
            if bodies.sizes[address] == 0 { bodies.sizes[address] = nil }
        }
    }
}
