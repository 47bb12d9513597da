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
