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
    /// Sessions that are kept in memory; the others are loaded from the store when they are asked for.
    public var liveLimit = 100_000
    /// About how many bytes they may take; see `MemoryEstimate`.
    public var liveMemory = Int.max

    public init() {}

    /// Whole seconds, as clients are told it.
    func expiry(of app: App, createdAt: Date, usedAt: Date) -> Date {
        let idle = app.expiry.idle?.seconds ?? idleLifetime
        return min(usedAt + idle, absoluteEnd(of: app, createdAt: createdAt)).bounded.wholeSeconds
    }

    private func absoluteEnd(of app: App, createdAt: Date) -> Date {
        createdAt + (app.expiry.absolute?.seconds ?? absoluteLifetime)
    }

    /// When a session may be forgotten that is not used any more.
    ///
    /// A fork that its origin's end has to find stays known as long as anything that was forked from it can live.
    func keptUntil(_ state: SessionState, of app: App) -> Date {
        let isLink = app.endsForks && state.identity.origin != nil
        return (isLink ? absoluteEnd(of: app, createdAt: state.identity.createdAt) : state.expiresAt) + graveTime
    }
}

extension Duration {
    fileprivate var seconds: TimeInterval { self / .seconds(1) }
}
