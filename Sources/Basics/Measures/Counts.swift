internal import Glibc
internal import Synchronization

/// A fixed number of counters, numbered from 0. Adding to one takes no lock and allocates nothing.
///
/// All counters exist in several copies, and each thread adds to one copy. The cache line of a counter that all threads
/// share would move between the processors' caches with every addition. A counter's value is the sum of its copies.
///
/// Unchecked because of the pointer. It is set in `init` and freed in `deinit`, when no reference is left, and it
/// points to atomics.
public final class Counts: @unchecked Sendable {
    public let count: Int
    private let cells: UnsafeMutablePointer<Atomic<Int>>
    /// The number of cells from one copy to the next: whole pairs of cache lines, because processors fetch lines in
    /// pairs.
    private let stride: Int

    private static let copyBits = 3
    private static let copies = 1 << copyBits
    private static let cellsPerPair = 16

    public init(_ count: Int) {
        self.count = count
        let pairs = (count + Counts.cellsPerPair - 1) / Counts.cellsPerPair
        stride = max(1, pairs) * Counts.cellsPerPair
        cells = .allocate(capacity: stride * Counts.copies)
        for index in 0..<stride * Counts.copies { (cells + index).initialize(to: Atomic(0)) }
    }

    deinit {
        cells.deinitialize(count: stride * Counts.copies)
        cells.deallocate()
    }

    public func add(_ amount: Int = 1, at index: Int) {
        precondition(index >= 0 && index < count)
        cells[Counts.ownCopy &* stride &+ index].wrappingAdd(amount, ordering: .relaxed)
    }

    /// The number of the copy to which the calling thread adds. Two threads may have the same one.
    private static var ownCopy: Int {
        // A thread's handle is an address. Those of different threads differ only in some middle bits, which the
        // multiplication (Fibonacci hashing) spreads to the highest.
        Int((UInt(pthread_self()) &* 0x9E37_79B9_7F4A_7C15) >> (UInt.bitWidth - copyBits))
    }

    public subscript(index: Int) -> Int {
        precondition(index >= 0 && index < count)
        return (0..<Counts.copies).reduce(0) { $0 &+ cells[$1 * stride + index].load(ordering: .relaxed) }
    }
}
