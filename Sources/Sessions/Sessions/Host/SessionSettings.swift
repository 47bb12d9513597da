internal import Coordinators
public import FoundationEssentials
public import Tracing

/// What a host takes from its surroundings, besides the time: a simulation decides it instead.
package struct Surroundings: Sendable {
    package var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    package var random: @Sendable (ClosedRange<Double>) -> Double = { .random(in: $0) }
    /// Where effects run; `nil` for threads that they may block.
    package var effectExecutor: (any TaskExecutor)?
    /// Whether functions that block their thread are called on others.
    package var movesBlockingCalls = true

    package init() {}
}

/// How long sessions live, and the limits on them.
public struct SessionSettings: Sendable {
    /// How long a session lives after its last use, unless its app says otherwise.
    public var idleLifetime: TimeInterval = 24 * 60 * 60
    /// How long a session lives at most, unless its app says otherwise.
    public var absoluteLifetime: TimeInterval = 30 * 24 * 60 * 60
    /// How long an ended or expired session is kept, so that its client learns that it has ended or expired.
    public var tombstoneLifetime: TimeInterval = 24 * 60 * 60
    /// How long a handler may take before it has failed.
    public var handlerDeadline: Duration = .seconds(10)
    /// How many effects run at the same time; the others wait.
    public var effectLimit = 256
    /// How long one attempt of an effect may take.
    public var effectDeadline = Duration.seconds(30)
    /// How long after a first failure an effect or a signal is tried again; it doubles with each failure, up to 60 times
    /// as long.
    public var retryPause = Duration.seconds(1)
    /// How long after it was recorded an effect is still repeated, in seconds.
    static let effectLifetime: TimeInterval = 600
    /// How often the outcome of an effect, or a timer, is repeated if its coordinator throws.
    static let retriesOfSignals = 5
    /// The sessions whose timers are fired at the same time, and how many are asked for at a time.
    static let (timersAtOnce, timersOfRound) = (64, 2048)
    /// Events of one session that may wait for their turn.
    public var waitingLimit = 32
    /// Events that one session accepts in a second; 0 for no limit.
    public var eventRate = 10_000
    /// Sessions in all, including ended and expired ones that are still kept.
    public var sessionLimit = 10_000_000
    /// Watches that may be open in all: requests that wait for a session to change, and streams of changes.
    public var watcherLimit = 5000
    /// Watches of one session.
    public static let watchersOfSession = 16
    /// Live sessions, which are kept in memory; the others are loaded from the store when they are requested.
    public var liveLimit = 100_000
    /// About how many bytes the live sessions may take; see `MemoryEstimate`.
    public var liveMemory = Int.max

    /// Identifies the build of the program and its apps; 0 if that does not matter. A state that another build has made
    /// may accept other events here, or have other titles, so its entity tag is another one.
    public var build = 0

    /// Whether to measure how long handlers take, see `HandlerTimings`.
    public var measuresHandlers = false

    /// Whether to count events and to measure how long transitions take, see `EventMeasures`.
    public var measuresEvents = false

    /// Traces the calls of coordinators and the commits; `nil` for no traces.
    public var tracer: (any Tracer)?

    /// How long a change is attempted that other servers prevent again and again.
    package var attemptTime = Duration.seconds(5)
    package var observeDeadline: DeadlineObserver?
    package var surroundings = Surroundings()

    public init() {}

    /// In whole seconds, as clients see it.
    func expiry(of app: App, createdAt: Date, usedAt: Date) -> Date {
        min(usedAt + idle(of: app), absoluteEnd(of: app, createdAt: createdAt)).bounded.wholeSeconds
    }

    private func idle(of app: App) -> TimeInterval { app.expiry.idle?.seconds ?? idleLifetime }

    /// Whether a use that changes nothing else moves the expiry far enough to be a version of its own: by a minute, or
    /// by a sixteenth of a short life.
    func isWorthCommitting(_ expiresAt: Date, after before: Date, of app: App) -> Bool {
        expiresAt.timeIntervalSince(before) >= min(60, idle(of: app) / 16)
    }

    /// The expiry that a session gets because it is watched; `nil` while more than three quarters of its idle lifetime
    /// are left. Each such version displaces one of the history, so they must be rare.
    func expiryIfWatched(_ state: SessionState, of app: App, at now: Date) -> Date? {
        let expiresAt = expiry(of: app, createdAt: state.identity.createdAt, usedAt: now)
        return expiresAt.timeIntervalSince(state.expiresAt) >= max(1, idle(of: app) / 4) ? expiresAt : nil
    }

    /// The pause after so many failures. Random in part, so that what failed together is not repeated together.
    func pause(afterFailure number: Int) -> Duration {
        retryPause * min(60, Double(1 << min(number - 1, 6))) * surroundings.random(0.75...1.25)
    }

    private func absoluteEnd(of app: App, createdAt: Date) -> Date {
        createdAt + (app.expiry.absolute?.seconds ?? absoluteLifetime)
    }

    /// When a session may be forgotten if it is not used any more.
    ///
    /// A fork that ends with its origin is kept as long as anything that was forked from it can live, because the
    /// origin's end finds those only through it.
    ///
    /// A session that ends with clean-ups is kept until they are done.
    func keptUntil(_ state: SessionState, of app: App) -> Date {
        if app.hasEndObservers || !state.navigation.pending.isEmpty, state.navigation.endsWithCleanUps {
            return .keptForCleanUps
        }
        let endsWithOrigin = app.endsForks && state.identity.origin != nil
        return (endsWithOrigin ? absoluteEnd(of: app, createdAt: state.identity.createdAt) : state.expiresAt)
            + tombstoneLifetime
    }
}

extension Duration {
    fileprivate var seconds: TimeInterval { self / .seconds(1) }
}
