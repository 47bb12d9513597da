public import Measures

/// What a store counts about its commits.
public final class StoreMeasures: Sendable {
    /// Changes that were committed together.
    public let batchSizes = Distributions(bounds: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512])
    /// How long committing them together took, in nanoseconds, until they were as durable as the store makes them.
    public let commits = Distributions(bounds: Distributions.durationBounds)

    public init() {}

    /// - Parameter duration: in nanoseconds.
    public func add(changes: Int, in duration: Int) {
        batchSizes.add(changes)
        commits.add(duration)
    }
}

/// What a store says about itself now; `nil` where it has no such thing.
public struct StoreFigures: Sendable {
    /// Commits that are waiting or being written.
    public var waiting: Int?
    /// How long the one that came first has been waiting, in seconds; 0 if none is.
    public var longestWait: Double?
    /// Bytes of the file, or about how many bytes of memory.
    public var bytes: Int?
    /// Bytes of the write-ahead log.
    public var logBytes: Int?
    /// Rows of the journal that are to be compacted next, and the bytes of their texts.
    public var uncompactedRows: Int?
    public var uncompactedBytes: Int?

    public init() {}
}
