// Measures: the types with which a server counts and measures itself. Counters and distributions to which many threads
// add without a lock, and the clock for durations.
//
// It knows neither what is counted nor who reads it: the other targets keep their figures in these types, and
// `CoordinatorServer` reads them when a client fetches the metrics.

internal import Glibc
internal import Synchronization

/// Nanoseconds on a clock that is never set.
public enum MonotonicTime {
    /// Since the machine was started, including the time in which it was suspended.
    public static var nanosecondsOfUptime: Int { nanoseconds(by: CLOCK_BOOTTIME) }

    /// Since some unspecified time, without the time in which the machine was suspended.
    public static var nanoseconds: Int { nanoseconds(by: CLOCK_MONOTONIC) }

    private static func nanoseconds(by clock: clockid_t) -> Int {
        var time = timespec()
        clock_gettime(clock, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }
}

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

/// A fixed number of histograms of whole numbers, numbered from 0: how many values lie between two bounds, and the sum
/// of all values.
public final class Distributions: Sendable {
    public struct Reading: Sendable, Equatable {
        /// Ascending.
        public let bounds: [Int]
        /// For each bound, the number of values up to it and above the bound before; at the end, the number of values
        /// above all bounds.
        public let counts: [Int]
        public let sum: Int
        public var count: Int { counts.reduce(0, +) }
    }

    public let count: Int
    private let bounds: [Int]
    /// For each distribution its counts, then its sum.
    private let counts: Counts
    private let width: Int

    /// From 100 µs to 10 s, in nanoseconds.
    public static let durationBounds = [
        100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000, 100_000_000,
        250_000_000, 500_000_000, 1_000_000_000, 2_500_000_000, 5_000_000_000, 10_000_000_000,
    ]

    /// - Parameter bounds: ascending.
    public init(_ count: Int = 1, bounds: [Int]) {
        self.count = count
        self.bounds = bounds
        width = bounds.count + 2
        counts = Counts(count * width)
    }

    public func add(_ value: Int, at index: Int = 0) {
        var bucket = 0
        while bucket < bounds.count, bounds[bucket] < value { bucket += 1 }
        counts.add(at: index * width + bucket)
        counts.add(max(0, value), at: (index + 1) * width - 1)
    }

    /// A value that another thread adds at the same time may be in the counts, but not yet in the sum.
    public func reading(at index: Int = 0) -> Reading {
        let start = index * width
        return Reading(
            bounds: bounds, counts: (start..<start + width - 1).map { counts[$0] }, sum: counts[start + width - 1])
    }
}
