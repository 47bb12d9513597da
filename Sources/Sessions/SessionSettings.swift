internal import Coordinators
public import FoundationEssentials

public struct SessionSettings: Sendable {
    /// How long a session lives after its last transition, where its app does not say.
    public var idleLifetime: TimeInterval = 24 * 60 * 60
    /// How long it lives at most, where its app does not say.
    public var absoluteLifetime: TimeInterval = 30 * 24 * 60 * 60
    /// How long an ended or expired session is known, so that its client can be told.
    public var graveTime: TimeInterval = 24 * 60 * 60
    /// After this a handler has failed.
    public var handlerDeadline: Duration = .seconds(10)
    /// Events of one session that may wait for their turn.
    public var waitingLimit = 32
    /// Events that one session takes in a second; 0 for any number.
    public var eventRate = 10_000
    /// Sessions in all, the ended ones among them that are still known.
    public var sessionLimit = 10_000_000
    /// Sessions that are kept in memory; the others rest in the store until they are asked for.
    public var liveLimit = 100_000

    public init() {}

    /// Whole seconds, as clients are told it.
    func expiry(of app: App, createdAt: Date, usedAt: Date) -> Date {
        let idle = app.expiry.idle?.seconds ?? idleLifetime
        let absolute = app.expiry.absolute?.seconds ?? absoluteLifetime
        return min(usedAt + idle, createdAt + absolute).bounded.wholeSeconds
    }
}

extension Duration {
    fileprivate var seconds: TimeInterval { self / .seconds(1) }
}
