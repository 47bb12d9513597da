internal import CoreMetrics
internal import Measures
internal import Synchronization

/// Through which an app records one series of a metric.
protocol AppMetricHandler: AnyObject, Sendable {
    var value: MetricSample.Value { get }
}

final class AppCounter: AppMetricHandler, CounterHandler {
    private let counts = Counts(1)

    /// A counter only grows.
    func increment(by amount: Int64) { counts.add(max(0, Int(amount)), at: 0) }
    func reset() { counts.add(-counts[0], at: 0) }
    var value: MetricSample.Value { .number(Double(counts[0])) }
}

final class AppFloatingPointCounter: AppMetricHandler, FloatingPointCounterHandler {
    private let number = AtomicNumber()

    func increment(by amount: Double) { if amount > 0 { number.add(amount) } }
    func reset() { number.set(0) }
    var value: MetricSample.Value { .number(number.value) }
}

final class AppGauge: AppMetricHandler, MeterHandler, RecorderHandler {
    private let number = AtomicNumber()

    func set(_ value: Int64) { number.set(Double(value)) }
    func set(_ value: Double) { number.set(value) }
    func increment(by amount: Double) { number.add(amount) }
    func decrement(by amount: Double) { number.add(-amount) }
    func record(_ value: Int64) { number.set(Double(value)) }
    func record(_ value: Double) { number.set(value) }
    var value: MetricSample.Value { .number(number.value) }
}

final class AppSummary: AppMetricHandler, RecorderHandler {
    private let sum = AtomicNumber()
    private let counts = Counts(1)

    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
        sum.add(value)
        counts.add(at: 0)
    }

    var value: MetricSample.Value { .sum(sum.value, count: counts[0]) }
}

final class AppTimer: AppMetricHandler, TimerHandler {
    private let durations = Distributions(bounds: Distributions.durationBounds)

    func recordNanoseconds(_ duration: Int64) { durations.add(Int(duration)) }
    var value: MetricSample.Value { .distribution(durations.reading(), perUnit: 1e9) }
}

/// A floating-point number that many threads change.
private struct AtomicNumber: ~Copyable {
    private let bits = Atomic<UInt64>(0)

    var value: Double { Double(bitPattern: bits.load(ordering: .relaxed)) }

    func set(_ value: Double) { bits.store(value.bitPattern, ordering: .relaxed) }

    func add(_ amount: Double) {
        var known = bits.load(ordering: .relaxed)
        while true {
            let sum = Double(bitPattern: known) + amount
            let (isChanged, current) = bits.weakCompareExchange(
                expected: known, desired: sum.bitPattern, ordering: .relaxed)
            if isChanged { return }
            known = current
        }
    }
}
