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
    ///   - bytes: the most bytes of records to read.
    ///   - hasGone: whether the client has gone away meanwhile.
    /// - Returns: `nil` if there was nothing to wait for, or if more has changed than is read or kept.
    public func settled(
        _ outcome: Outcome, after before: SessionState, within limit: Duration, bytes: Int = 1 << 20,
        unless hasGone: @escaping @Sendable () -> Bool
    ) async throws(SessionError) -> SettledEvent? {
        guard !outcome.isReplay else { return nil }
        let session = with(try await host.inMemory(id, for: nil))
        let known = Set(before.navigation.pending.map(\.number))
        let deadline = ContinuousClock.now + limit
        var state = try session.live.current(for: nil, at: host.now())
        // An effect may have ended before the state was read.
        let began = state.version == outcome.version ? state : (try? await session.past(outcome.version)) ?? state
        let own = began.effects.subtracting(known)
        guard !own.isEmpty else { return nil }
        while !own.isDisjoint(with: state.effects), .now < deadline, !hasGone(), !host.feed.isClosed {
            state = try await session.state(after: state.tag, within: deadline - .now, unless: hasGone).state
        }
        let count = max(1, state.version - outcome.version + 1)
        let notes = try await session.history(from: state.version, limit: count, bytes: bytes).map(\.note)
        // Without one of them they lead to another state.
        guard notes.count == count else { return nil }
        state = try session.drawn(state)
        var transition = JSONObject(joining: notes.reversed())
        // Another event may have come between the caller's state and this one's.
        let isNext = before.version == outcome.version - 1
        if let base = isNext ? before : try? await session.past(outcome.version - 1) {
            let made = transition["operations"]?.array ?? []
            let operations = state.navigation.operations(since: base.navigation, replaced: made.replaced)
            transition["operations"] = try? JSON(parsing: JSONWriter.bytes(capacity: 500) { $0.value(operations) })
        }
        return SettledEvent(state: state, transition: .object(transition))
    }
}

extension SessionState {
    /// The numbers of the effects under way.
    fileprivate var effects: Set<Int> {
        Set(navigation.pending.compactMap { $0.effect == nil ? nil : $0.number })
    }
}

extension JSONObject {
    /// Several transitions as one, with the event and the cause of the first.
    fileprivate init(joining notes: [TransitionNote]) {
        let all = { (part: KeyPath<TransitionNote, JSON>) in
            JSON.array(notes.flatMap { $0[keyPath: part].array ?? [] })
        }
        self.init()
        self["event"] = notes.first?.event.map(JSON.string)
        self["cause"] = notes.first?.cause.map(JSON.string)
        self["operations"] = all(\.operations)
        self["finished"] = all(\.finished)
        self["dismissed"] = all(\.dismissed)
    }
}
