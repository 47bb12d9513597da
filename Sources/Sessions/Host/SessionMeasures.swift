internal import Coordinators
internal import Measures

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
        /// Started anew, because nothing that was saved fits its app.
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
    /// `nil` if nobody wants to know.
    public let events: EventMeasures?

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
