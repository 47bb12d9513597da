internal import Synchronization

/// How long the handlers of each event take, since the server has started. Counted in steps of a quarter.
public final class HandlerTimings: Sendable {
    /// One event of one app. Durations are in milliseconds.
    public struct Entry: Sendable {
        public let app: String
        public let event: String
        public fileprivate(set) var count = 0
        public fileprivate(set) var longest = 0.0
        fileprivate var steps = [Int](repeating: 0, count: HandlerTimings.stepCount)

        fileprivate mutating func add(_ milliseconds: Double, _ step: Int) {
            count += 1
            steps[step] += 1
            longest = max(longest, milliseconds)
        }

        /// - Parameter share: 0.99 for the duration that one in a hundred exceeds.
        public func percentile(_ share: Double) -> Double {
            var left = Int((Double(count) * share).rounded(.up))
            for (step, number) in steps.enumerated() {
                left -= number
                if left <= 0 { return min(HandlerTimings.limit(of: step), longest) }
            }
            return longest
        }
    }

    private struct Key: Hashable {
        let app: String
        let event: String
    }

    /// Events that have an entry each; an app has fewer.
    private static let capacity = 1000
    /// From 10 µs to 20 s.
    private static let stepCount = 66
    private static let (shortest, factor) = (0.01, 1.25)

    private let entries = Mutex<[Key: Entry]>([:])

    private static func limit(of step: Int) -> Double {
        (0..<step).reduce(shortest) { limit, _ in limit * factor }
    }

    func add(_ app: String, _ event: String, _ duration: Duration) {
        let milliseconds = duration / .milliseconds(1)
        var (step, limit) = (0, HandlerTimings.shortest)
        while limit < milliseconds, step < HandlerTimings.stepCount - 1 {
            step += 1
            limit *= HandlerTimings.factor
        }
        let key = Key(app: app, event: event)
        entries.withLock { entries in
            guard entries[key] != nil || entries.count < HandlerTimings.capacity else { return }
            entries[key, default: Entry(app: app, event: event)].add(milliseconds, step)
        }
    }

    /// The events whose slowest hundredth takes longest, at most `count`.
    public func slowest(_ count: Int) -> [Entry] {
        let all = entries.withLock { Array($0.values) }
        return Array(all.sorted { $0.percentile(0.99) > $1.percentile(0.99) }.prefix(count))
    }
}
