internal import Coordinators
internal import FoundationEssentials
public import JSONCoding

/// The state after an event and after the effects that it has begun, or when the wait for them was over.
public struct SettledEvent: Sendable {
    public let state: SessionState
    /// Everything that has changed since the state before the event, as one transition.
    public let transition: JSON
}

extension AuthorizedSession {
    /// Waits until the effects that an event has begun are over, whether they have ended or were cancelled, but not longer
    /// than `limit`.
    ///
    /// - Parameters:
    ///   - outcome: the event's.
    ///   - before: a state from before the event.
    ///   - hasGone: whether the client has gone away meanwhile.
    /// - Returns: `nil` if there was nothing to wait for.
    public func settled(
        _ outcome: Outcome, after before: SessionState, within limit: Duration,
        unless hasGone: @escaping @Sendable () -> Bool
    ) async throws(SessionError) -> SettledEvent? {
        guard !outcome.isReplay else { return nil }
        let session = with(try await host.inMemory(id, for: nil))
        let known = Set(before.navigation.pending.map(\.number))
        let deadline = ContinuousClock.now + limit
        var state = try session.live.current(for: nil, at: host.now())
        let own = state.effects.subtracting(known)
        guard !own.isEmpty else { return nil }
        while !own.isDisjoint(with: state.effects), .now < deadline, !hasGone(), !host.feed.isClosed {
            state = try await session.state(after: state.tag, within: deadline - .now, unless: hasGone).state
        }
        let count = state.version - outcome.version + 1
        let notes = try await session.history(from: state.version, limit: max(1, count)).map(\.note)
        return SettledEvent(state: state, transition: .transition(of: notes.reversed()))
    }
}

extension SessionState {
    /// The numbers of the effects under way.
    fileprivate var effects: Set<Int> {
        Set(navigation.pending.compactMap { $0.effect == nil ? nil : $0.number })
    }
}

extension JSON {
    /// Several transitions as one, with the event and the cause of the first.
    fileprivate static func transition(of notes: [TransitionNote]) -> JSON {
        let all = { (part: KeyPath<TransitionNote, JSON>) in
            JSON.array(notes.flatMap { $0[keyPath: part].array ?? [] })
        }
        var transition: JSONObject = [:]
        transition["event"] = notes.first?.event.map(JSON.string)
        transition["cause"] = notes.first?.cause.map(JSON.string)
        transition["operations"] = all(\.operations)
        transition["finished"] = all(\.finished)
        transition["dismissed"] = all(\.dismissed)
        return .object(transition)
    }
}
