import Coordinators
import CoordinatorsTesting
import JSONCoding

/// Effects, timers and signals of other systems.
extension CoordinatorTester {
    /// The ids of the effects under way and of the timers.
    var pending: [String] { state.pending.map(\.id) }

    /// Performs the effects under way, each as often as it is repeated, and applies their outcomes.
    mutating func performEffects() async throws {
        for work in state.pending where work.effect != nil {
            guard let outcome = await outcome(of: work.number) else { continue }
            try await apply(.effect(work.number, outcome))
        }
    }

    /// - Returns: `nil` if the effect is over.
    private func outcome(of number: Int) async -> EffectOutcome? {
        for attempt in 1... {
            guard
                let run = EffectRun(
                    of: number, in: state, of: app, session: id, user: user, effectID: "f_\(number)", attempt: attempt,
                    at: now)
            else { return nil }
            do {
                return .done(try await run.signal())
            } catch {
                if attempt > run.retries { return .failed(error) }
            }
        }
        return nil
    }

    /// Lets time pass, and fires the timers that fall due.
    mutating func advance(by seconds: Double) async throws {
        let end = now + seconds
        while let work = state.timersDue(at: end).first {
            now = max(now, work.due ?? now)
            try await apply(.timer(work.number))
        }
        now = end
    }

    /// Sends a signal as another system would.
    mutating func send(signal: String, _ payload: JSON) async throws {
        try await apply(.signal(PostedEvent(signal, payload: payload)))
    }

    private mutating func apply(_ occurrence: Occurrence) async throws {
        guard var run = try app.begin(occurrence, on: state, at: now) else { return }
        let after = try await run.result().state
        self = try await CoordinatorTester(
            app, restoring: JSON(parsing: after.encoded, maximumDepth: 512), id: id, now: now)
    }
}
