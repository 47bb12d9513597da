// Measures: the types with which a server counts and measures itself. Counters and distributions to which many threads
// add without a lock, and the clock for durations.
//
// It knows neither what is counted nor who reads it: the other targets keep their figures in these types, and
// `CoordinatorServer` reads them when a client fetches the metrics.

internal import Glibc

/// Nanoseconds on a clock that is never set.
public enum MonotonicTime {
    /// Since the machine was started, including the time in which it was suspended.
    public static var nanosecondsOfUptime: Int {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }

    /// Since some unspecified time, without the time in which the machine was suspended.
    public static var nanoseconds: Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }
}
