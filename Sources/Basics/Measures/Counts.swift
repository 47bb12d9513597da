internal import Glibc
internal import Synchronization

/// A fixed number of counts, numbered from 0. Adding to one takes no lock and allocates nothing.
///
/// There are some copies of all counts, and each thread adds to one of them: a counter that many threads add to would
/// travel between the processors' caches with every event. A value is the sum of the copies.
///
/// Unchecked because of the pointer, which is set in `init` and freed in `deinit`, when nobody adds any more; what it
/// points to is atomic.
public final class Counts: @unchecked Sendable {
    public let count: Int
    private let cells: UnsafeMutablePointer<Atomic<Int>>
    /// Cells from one copy to the next: whole pairs of cache lines.
    private let stride: Int

    /// Eight copies.
    private static let copyBits = 3
    private static let copies = 1 << copyBits
    private static let cellsOfPair = 16

    public init(_ count: Int) {
        self.count = count
        let pairs = (count + Counts.cellsOfPair - 1) / Counts.cellsOfPair
        stride = max(1, pairs) * Counts.cellsOfPair
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

    /// The calling thread's. Two threads may have the same one.
    private static var ownCopy: Int {
        // A thread's handle is an address, of which only some bits in the middle differ; the multiplication (Fibonacci
        // hashing) spreads them to the highest.
        Int((UInt(pthread_self()) &* 0x9E37_79B9_7F4A_7C15) >> (UInt.bitWidth - copyBits))
    }

    public subscript(index: Int) -> Int {
        precondition(index >= 0 && index < count)
        return (0..<Counts.copies).reduce(0) { $0 &+ cells[$1 * stride + index].load(ordering: .relaxed) }
    }
}
