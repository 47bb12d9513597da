internal import Dispatch
internal import Measures
internal import Synchronization

/// Sends ended spans to a collector, from a thread of its own.
///
/// Ending a span never blocks. Spans that the collector has not accepted yet take `limit` bytes at most, and twice as
/// many while they are sent; further ones are dropped and counted.
public final class SpanExporter: Sendable {
    /// How long the thread waits, in seconds.
    public struct Pauses: Sendable {
        /// For further spans after the first one.
        var gathering = 1.0
        /// Before spans are sent again; doubled each time.
        var (retry, longestRetry) = (1.0, 30.0)
        /// For an answer.
        var answer = 10
        /// From one report of a failure to the next.
        var report = 60.0

        public init() {}
    }

    private struct Backlog {
        var waiting = SpanBatch()
        /// What is being sent.
        var underWay = (bytes: 0, count: 0)
        var sent = 0
        var dropped = 0
        /// Whether the thread waits for a first span.
        var isIdle = false
        var isClosing = false
    }

    private let collector: SpanCollector
    private let resource: SpanResource
    private let limit: Int
    private let pauses: Pauses
    private let report: @Sendable (String) -> Void
    private let backlog = Mutex(Backlog())
    /// Serial, so libdispatch runs it on a thread outside its pools, which may block.
    private let queue = DispatchQueue(label: "coordinatord.traces")
    private let wake = DispatchSemaphore(value: 0)
    private let end = DispatchSemaphore(value: 0)

    /// - Parameters:
    ///   - limit: in bytes.
    ///   - report: receives what an operator should know, now and then.
    public init(
        to collector: SpanCollector, from resource: SpanResource, limit: Int = 1 << 20, pauses: Pauses = Pauses(),
        report: @escaping @Sendable (String) -> Void
    ) {
        self.collector = collector
        self.resource = resource
        self.limit = limit
        self.pauses = pauses
        self.report = report
        queue.async { self.run() }
    }

    /// Spans that the collector has accepted, and spans that are lost.
    public var counts: (sent: Int, dropped: Int) { backlog.withLock { ($0.sent, $0.dropped) } }

    /// - Parameter span: as JSON.
    func add(_ span: [UInt8]) {
        let isAwaited = backlog.withLock { backlog in
            let before = backlog.waiting.bytes
            guard !backlog.isClosing, before + backlog.underWay.bytes + span.count < limit else {
                backlog.dropped += 1
                return false
            }
            backlog.waiting.append(span)
            defer { backlog.isIdle = false }
            return backlog.isIdle || (before < limit / 2 && backlog.waiting.bytes >= limit / 2)
        }
        // Not under the lock: it wakes a thread.
        if isAwaited { wake.signal() }
    }

    /// Sends the spans that wait, and accepts no more. Blocks for `seconds` at most; spans not sent by then are
    /// dropped.
    public func finish(within seconds: Double) {
        backlog.withLock { $0.isClosing = true }
        wake.signal()
        guard end.wait(timeout: .now() + seconds) == .timedOut else { return }
        let lost = backlog.withLock { $0.waiting.count + $0.underWay.count }
        report("\(lost) spans were dropped: \(collector) has not accepted them before the end")
    }

    /// What the thread does until `finish`.
    private func run() {
        var (pause, failure) = (pauses.gathering, String?.none)
        var reported = (at: -Double.infinity, dropped: 0, isFailing: false)
        while true {
            let (isEmpty, isClosing) = backlog.withLock { backlog in
                backlog.isIdle = backlog.waiting.isEmpty
                return (backlog.isIdle, backlog.isClosing)
            }
            if isEmpty, isClosing { break }
            _ = wake.wait(timeout: isEmpty ? .distantFuture : .now() + (isClosing ? 0 : pause))
            guard !isEmpty else { continue }
            switch send() {
            case .accepted(rejected: 0): (pause, failure) = (pauses.gathering, nil)
            case .accepted: (pause, failure) = (pauses.gathering, "it has accepted only some")
            case .refused(let reason): (pause, failure) = (pauses.gathering, reason)
            case .unavailable(let reason):
                pause = failure == nil ? pauses.retry : min(pause * 2, pauses.longestRetry)
                failure = reason
            }
            if failure == nil, reported.isFailing {
                report("\(collector) accepts spans again")
                reported.isFailing = false
            }
            let (now, dropped) = (Double(MonotonicTime.nanoseconds) / 1e9, counts.dropped)
            guard failure != nil || dropped > reported.dropped, now - reported.at > pauses.report else { continue }
            report(dropped - reported.dropped, failure)
            reported = (now, dropped, failure != nil)
        }
        let dropped = counts.dropped - reported.dropped
        if dropped > 0 { report(dropped, failure) }
        end.signal()
    }

    private func report(_ dropped: Int, _ failure: String?) {
        let reason = failure.map { "\(collector) does not accept spans, \($0)" } ?? "\(collector) was too slow for them"
        report(dropped > 0 ? "\(dropped) spans were dropped: \(reason)" : "spans wait to be sent: \(reason)")
    }

    /// Sends the spans that wait. If they may be accepted later, they wait again, unless the exporter is closing.
    private func send() -> SpanCollector.Answer {
        let batch = backlog.withLock { backlog in
            let batch = backlog.waiting
            backlog.underWay = (batch.bytes, batch.count)
            backlog.waiting = SpanBatch()
            return batch
        }
        let answer = collector.post(batch.request(of: resource), timeout: pauses.answer)
        backlog.withLock { backlog in
            backlog.underWay = (0, 0)
            switch answer {
            case .accepted(let rejected):
                let rejected = min(max(0, rejected), batch.count)
                backlog.sent += batch.count - rejected
                backlog.dropped += rejected
            case .unavailable where !backlog.isClosing:
                var all = batch
                all.append(backlog.waiting)
                backlog.waiting = all
            case .refused, .unavailable: backlog.dropped += batch.count
            }
        }
        return answer
    }
}
