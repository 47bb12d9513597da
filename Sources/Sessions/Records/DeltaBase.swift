internal import Coordinators

/// A base version: a version of a session with a full record. The next versions have delta records, which leave out
/// what is the same in this one, so that an event writes only what it has changed, not the whole state.
final class DeltaBase: Sendable {
    /// How many versions after its base version a delta record may be.
    static let maxDistance = 15

    let version: Int
    private let identity: SessionIdentity
    let parts: SharedParts
    /// Bytes of the saved state.
    let size: Int

    init(version: Int, _ identity: SessionIdentity, _ navigation: NavigationState) {
        self.version = version
        self.identity = identity
        self.parts = SharedParts(of: navigation)
        self.size = navigation.savedSize()
    }

    /// Whether the record of `version` is to be a delta record with this base version.
    func suits(_ version: Int, of identity: SessionIdentity, _ navigation: NavigationState) -> Bool {
        version - self.version <= DeltaBase.maxDistance && identity === self.identity
            && parts.coverMost(of: navigation)
    }
}
