// Measures: what a server counts about itself. Counts and distributions that many threads add to without a lock, and
// the clock that durations are measured with.
//
// It does not know what is counted, nor who reads it: the other targets keep their figures in these types, and
// `CoordinatorServer` reads them when it is asked for its metrics.

internal import Glibc

/// Nanoseconds on a clock that is never set.
public enum MonotonicTime {
    /// Since the machine was started, also while it was asleep.
    public static var nanosecondsOfUptime: Int {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }

    public static var nanoseconds: Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }
}
