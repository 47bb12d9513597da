internal import Coordinators
public import FoundationEssentials
internal import JSONCoding

/// What a store indexes of a session, so that the session wakes when it must: its timers and effects, which go on without a
/// request.
public struct WakeEntry: Sendable, Equatable {
    /// When the session's earliest timer is due; `nil` if it has none that fires before the session expires. A session that
    /// ends with clean-ups has one that is due when it expires.
    public let nextTimer: Date?
    /// Whether effects or clean-ups are under way.
    public let hasEffects: Bool

    /// - Parameters:
    ///   - nextTimer: `nil` if there is none.
    ///   - expiresAt: when the session expires. A timer that is not due before then never fires.
    ///   - endsWithCleanUps: whether something remains to be done when it expires.
    init(nextTimer: Date?, hasEffects: Bool, expiresAt: Date, endsWithCleanUps: Bool = false) {
        let timer = nextTimer.flatMap { $0 < expiresAt ? $0 : nil }
        self.nextTimer = endsWithCleanUps ? timer ?? expiresAt : timer
        self.hasEffects = hasEffects
    }

    /// Of a session that has ended, or that only waits for requests.
    public static let nothing = WakeEntry(nextTimer: nil, hasEffects: false, expiresAt: .distantPast)

    /// Whether the session only waits for requests.
    var isEmpty: Bool { nextTimer == nil && !hasEffects }
}

extension WakeEntry {
    /// - Parameter state: as `NavigationState.encoded` writes it. Its member `pending` has an object for each effect,
    ///   with a member `effect`, for each clean-up, with `cleanUp`, and for each timer, which is `due` at a time in
    ///   milliseconds since 1970.
    init(inSaved state: JSON, expiresAt: Date) {
        var timer: Int?
        var hasEffects = false
        for one in state["pending"]?.array ?? [] {
            if one["effect"] != nil || one["cleanUp"] != nil {
                hasEffects = true
            } else if let due = one["due"]?.integer {
                timer = min(due, timer ?? due)
            }
        }
        self.init(
            nextTimer: timer.map { Date(milliseconds: $0) }, hasEffects: hasEffects, expiresAt: expiresAt,
            endsWithCleanUps: state.savedEnd == nil && state.savedEndsWithCleanUps)
    }

    /// - Parameter state: of a session that goes on.
    init(_ state: NavigationState, expiresAt: Date) {
        self.init(
            nextTimer: state.nextTimer, hasEffects: state.pending.contains(where: \.isPerformed),
            expiresAt: expiresAt, endsWithCleanUps: state.endsWithCleanUps)
    }
}

/// A session whose next timer is due, as a store's index says.
public struct DueTimer: Sendable, Hashable {
    public let session: SessionID
    /// When it was or is due.
    public let due: Date

    public init(_ session: SessionID, due: Date) {
        self.session = session
        self.due = due
    }
}
