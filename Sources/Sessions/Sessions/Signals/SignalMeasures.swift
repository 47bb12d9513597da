public import Measures

/// What has become of effects, timers and signals of other systems, as counts.
public final class SignalMeasures: Sendable {
    public enum Happening: Int, CaseIterable, Sendable {
        /// An attempt of an effect has begun.
        case effectAttempted
        /// An attempt has failed, and another one follows.
        case effectRepeated
        /// The last attempt has failed.
        case effectFailed
        /// An effect's outcome is committed.
        case effectEnded
        /// An effect had been over before its outcome was there: it was cancelled or replaced, or its coordinator had
        /// ended.
        case effectDiscarded
        case timerFired
        /// An effect or timer was removed, because its coordinator could not receive the signal.
        case dropped
        /// A signal of another system is committed.
        case signalReceived
        /// It had been received under the same `Idempotency-Key`.
        case signalReplayed
        case signalRefused
    }

    private let happenings = Counts(Happening.allCases.count)
    /// How long after its time a timer's transition was committed, in nanoseconds.
    public let timerLags = Distributions(bounds: Distributions.durationBounds)

    func count(_ happening: Happening) { happenings.add(at: happening.rawValue) }

    /// - Parameter seconds: how late the timer was.
    func countTimer(late seconds: Double) {
        count(.timerFired)
        timerLags.add(Int(max(0, min(seconds, 1e9)) * 1e9))
    }

    public subscript(happening: Happening) -> Int { happenings[happening.rawValue] }
}
