public import FoundationEssentials
public struct DueTimer: Sendable { public let session: SessionID; public let due: Date }
extension SessionStore {
    public func dueTimers(at now: Date, limit: Int) async throws(StoreError) -> [DueTimer] { [] }
    public func postpone(_ timers: [DueTimer], until time: Date?) async throws(StoreError) {}
    public func sessionsWithEffects(after last: SessionID?, limit: Int) async throws(StoreError) -> [SessionID] { [] }
}
