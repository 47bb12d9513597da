/// How long a store waits before it gives up. Tests, which must not depend on how fast the machine is, have limits of
/// their own.
public struct TimeLimits: Sendable {
    /// How long a change waits to be sent, and how long a read is tried again.
    var waiting = Duration.milliseconds(1900)
    /// How long requests wait for an answer while the outcome of their batch is unknown.
    var resolving = Duration.milliseconds(4900)
    /// How long closing waits for what is under way.
    var closing = Duration.seconds(2)
    /// What the database gets in addition to the time for each connection and each statement.
    var extra = Duration.zero

    public static let standard = TimeLimits()

    /// Only what hangs is late.
    public static let hours = TimeLimits(
        waiting: .seconds(7200), resolving: .seconds(7200), closing: .seconds(7200), extra: .seconds(7200))
}
