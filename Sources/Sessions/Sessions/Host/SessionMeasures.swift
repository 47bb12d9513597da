internal import Coordinators
public import Measures
internal import Synchronization

/// What has happened to sessions, as counts.
public final class SessionMeasures: Sendable {
    public enum Happening: Int, CaseIterable, Sendable {
        case created, forked, ended
        /// Read from the store into memory.
        case loaded
        /// Removed from memory, because others needed the room.
        case evicted
        /// Restored without what no longer fits its app.
        case reduced
        /// Launched again, because nothing that was saved fits its app.
        case relaunched
        /// Deleted from the store, a while after it had ended or expired.
        case removed
        /// A kept answer was sent again, also to the creation of a session.
        case replayed
        /// An `Idempotency-Key` was used for another request than before.
        case keyReused
    }

    /// The kinds of `StoreError`.
    public enum StoreFailure: Int, CaseIterable, Sendable {
        case full, unavailable, damaged, unknownOutcome
    }

    private let happenings = Counts(Happening.allCases.count)
    private let failures = Counts(StoreFailure.allCases.count)
    /// `nil` if they are not counted.
    public let events: EventMeasures?
    public let signals = SignalMeasures()

    /// - Parameter apps: those whose events are counted.
    init(of apps: [App]?) {
        events = apps.map { EventMeasures($0) }
    }

    func count(_ happening: Happening, _ amount: Int = 1) { happenings.add(amount, at: happening.rawValue) }

    func count(_ error: StoreError) { failures.add(at: StoreFailure(error).rawValue) }

    public subscript(happening: Happening) -> Int { happenings[happening.rawValue] }

    public subscript(failure: StoreFailure) -> Int { failures[failure.rawValue] }
}

extension SessionMeasures.StoreFailure {
    fileprivate init(_ error: StoreError) {
        switch error {
        case .full: self = .full
        case .unavailable: self = .unavailable
        case .damaged: self = .damaged
        case .unknownOutcome: self = .unknownOutcome
        }
    }
}

/// How many events were posted, by app, type and outcome; and how long transitions took, by app and coordinator.
///
/// Only what the apps declare has a count of its own, so that no client can make this grow.
public final class EventMeasures: Sendable {
    /// Names that have a figure each; the last one stands for all others.
    private struct Names {
        let all: [String]
        private let places: [String: Int]

        init(_ names: [String], others: String) {
            var known: Set<String> = []
            all = names.filter { known.insert($0).inserted } + [others]
            places = Dictionary(zip(all, all.indices)) { first, _ in first }
        }

        func place(of name: String?) -> Int { name.flatMap { places[$0] } ?? all.count - 1 }
    }

    private final class Measures: Sendable {
        let app: String
        /// Its declared events, the built-in ones, and `other`.
        let types: Names
        /// Its coordinators, and `none`.
        let coordinators: Names
        let outcomes: Counts
        let durations: Distributions

        init(_ app: App) {
            self.app = app.name
            let declared = app.coordinators.flatMap(\.events).map(\.name)
            types = Names(declared + BuiltInEvent.allCases.map(\.rawValue), others: "other")
            coordinators = Names(app.coordinators.map(\.name), others: "none")
            outcomes = Counts(types.all.count * EventOutcome.allCases.count)
            durations = Distributions(coordinators.all.count, bounds: Distributions.durationBounds)
        }
    }

    private let apps: [String: Measures]

    init(_ apps: [App]) {
        self.apps = Dictionary(apps.map { ($0.name, Measures($0)) }) { first, _ in first }
    }

    func count(_ type: String, of app: String, _ outcome: EventOutcome) {
        guard let measures = apps[app] else { return }
        let row = measures.types.place(of: type)
        measures.outcomes.add(at: row * EventOutcome.allCases.count + outcome.rawValue)
    }

    /// - Parameters:
    ///   - duration: in nanoseconds.
    ///   - coordinator: the first that was called; `nil` if none was.
    func add(_ duration: Int, to coordinator: String?, of app: String) {
        guard let measures = apps[app] else { return }
        measures.durations.add(duration, at: measures.coordinators.place(of: coordinator))
    }

    private var sorted: [Measures] { apps.values.sorted { $0.app < $1.app } }

    /// The events that have been posted.
    public var counts: [(app: String, event: String, outcome: EventOutcome, count: Int)] {
        sorted.flatMap { measures in
            measures.types.all.enumerated().flatMap { row, type in
                EventOutcome.allCases.compactMap { outcome in
                    let count = measures.outcomes[row * EventOutcome.allCases.count + outcome.rawValue]
                    // Failures are listed from 0 on, so that monitoring sees the first one as an increase.
                    return count == 0 && outcome != .failed ? nil : (measures.app, type, outcome, count)
                }
            }
        }
    }

    /// How long transitions took, by the coordinator that was called first, in nanoseconds.
    public var durations: [(app: String, coordinator: String, durations: Distributions.Reading)] {
        sorted.flatMap { measures in
            measures.coordinators.all.enumerated().compactMap { index, coordinator in
                let reading = measures.durations.reading(at: index)
                return reading.count == 0 ? nil : (measures.app, coordinator, reading)
            }
        }
    }
}

/// What became of a posted event.
public enum EventOutcome: Int, CaseIterable, Sendable {
    case applied
    /// It had been applied under the same `Idempotency-Key`; the first answer was sent again.
    case replayed
    /// The state does not accept it now.
    case refused
    /// It, or its payload, does not fit the app.
    case invalid
    /// The session's version does not meet its condition.
    case stale
    /// Its `Idempotency-Key` was used for something else or withdrawn, or the answer is no longer kept.
    case keyReused
    /// Too many events, or an app without capacity: to be posted again later.
    case limited
    /// A handler failed.
    case failed
    /// A handler took too long.
    case late
    /// The store could not commit it.
    case notStored
    /// The session has ended, has expired or cannot be used here, or the token is no longer one of its tokens.
    case gone

    init(_ error: SessionError) {
        switch error {
        case .refused(let error, _): self.init(error)
        case .stale: self = .stale
        case .keyReused, .keyWithdrawn, .answerForgotten: self = .keyReused
        case .tooManyTokens, .notForRole: self = .refused
        case .tooManyWaiting, .tooManyEvents, .tooManyCodeRequests, .tooManyCodes: self = .limited
        case .deadlineExceeded: self = .late
        case .notApplied, .storageFull, .damaged, .unknownOutcome: self = .notStored
        default: self = .gone
        }
    }

    private init(_ error: NavigationError) {
        switch error {
        case .unknownEvent, .unknownSignal, .invalidEvent: self = .invalid
        case .eventNotAccepted, .payloadNotOffered, .notForRole, .signalNotAccepted, .signalRefused, .answerFirst,
            .staleScreen,
            .nothingToGoBack, .unknownLink, .linkNotTaken:
            self = .refused
        case .overloaded: self = .limited
        case .handlerFailed, .impossibleRequest, .stackLimit, .depthLimit, .nestingLimit, .linkLimit, .workLimit,
            .stateLimit, .runawayTransition, .invariantViolated:
            self = .failed
        }
    }
}

extension Outcome {
    /// Whether it is the answer to an earlier request.
    public var isReplay: Bool {
        if case .answered(_, _, .some, _, _) = self { true } else { false }
    }
}

/// How long the handlers of each event have taken since the server started, counted in steps of which each is a quarter
/// longer than the one before.
public final class HandlerTimings: Sendable {
    /// One event of one app. Durations are in milliseconds.
    public struct Entry: Sendable {
        public let app: String
        public let event: String
        public fileprivate(set) var count = 0
        public fileprivate(set) var longest = 0.0
        fileprivate var steps = [Int](repeating: 0, count: HandlerTimings.limits.count)

        fileprivate mutating func add(_ milliseconds: Double, _ step: Int) {
            count += 1
            steps[step] += 1
            longest = max(longest, milliseconds)
        }

        /// - Parameter share: 0.99 for the duration that one in a hundred exceeds.
        public func percentile(_ share: Double) -> Double {
            var left = Int((Double(count) * share).rounded(.up))
            for (limit, number) in zip(HandlerTimings.limits, steps) {
                left -= number
                if left <= 0 { return min(limit, longest) }
            }
            return longest
        }
    }

    private struct Key: Hashable {
        let app: String
        let event: String
    }

    /// The most events that have an entry of their own; apps have fewer.
    private static let capacity = 1000
    /// The longest duration of each step: from 10 µs to 20 s.
    private static let limits = Array(sequence(first: 0.01) { $0 * 1.25 }.prefix(66))

    private let entries = Mutex<[Key: Entry]>([:])

    func add(_ app: String, _ event: String, _ duration: Duration) {
        let milliseconds = duration / .milliseconds(1)
        let step = HandlerTimings.limits.firstIndex { $0 >= milliseconds } ?? HandlerTimings.limits.count - 1
        let key = Key(app: app, event: event)
        entries.withLock { entries in
            guard entries[key] != nil || entries.count < HandlerTimings.capacity else { return }
            entries[key, default: Entry(app: app, event: event)].add(milliseconds, step)
        }
    }

    /// The events whose slowest hundredth takes longest, at most `count`.
    public func slowest(_ count: Int) -> [Entry] {
        let all = entries.withLock { Array($0.values) }
        return Array(all.sorted { $0.percentile(0.99) > $1.percentile(0.99) }.prefix(count))
    }
}

/// What has become of effects, timers and signals of other systems, as counts.
public final class SignalMeasures: Sendable {
    public enum Happening: Int, CaseIterable, Sendable {
        /// An attempt of an effect has begun.
        case effectAttempted
        /// An attempt has failed, and another one follows.
        case effectRepeated
        /// The last attempt has failed.
        case effectFailed
        /// An effect's outcome is committed.
        case effectEnded
        /// An effect had been over before its outcome was there: it was cancelled or replaced, or its coordinator had
        /// ended.
        case effectDiscarded
        /// A clean-up is done, see `Coordinator.willBeRemoved`.
        case cleanUpDone
        /// The last attempt of a clean-up has failed.
        case cleanUpFailed
        case timerFired
        /// An effect or timer was removed, because its coordinator could not receive the signal.
        case dropped
        /// A signal of another system is committed.
        case signalReceived
        /// It had been received under the same `Idempotency-Key`.
        case signalReplayed
        case signalRefused
    }

    private let happenings = Counts(Happening.allCases.count)
    /// How long after its time a timer's transition was committed, in nanoseconds.
    public let timerLags = Distributions(bounds: Distributions.durationBounds)

    func count(_ happening: Happening) { happenings.add(at: happening.rawValue) }

    /// - Parameter seconds: how late the timer was.
    func countTimer(late seconds: Double) {
        count(.timerFired)
        timerLags.add(Int(max(0, min(seconds, 1e9)) * 1e9))
    }

    public subscript(happening: Happening) -> Int { happenings[happening.rawValue] }
}
