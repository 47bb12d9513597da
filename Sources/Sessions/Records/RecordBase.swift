internal import Coordinators

/// A version of a session whose record tells everything. Those of the next versions lean on it: they leave out what is
/// still the same, so that an event costs the disk what it has changed, and not the whole state.
final class RecordBase: Sendable {
    let version: Int
    private let identity: SessionIdentity
    let parts: SharedParts
    /// Of the state as it is saved, in bytes.
    let size: Int

    init(version: Int, _ identity: SessionIdentity, _ navigation: NavigationState) {
        self.version = version
        self.identity = identity
        self.parts = SharedParts(of: navigation)
        self.size = navigation.savedSize()
    }

    /// Whether the record of that version is to lean on this one.
    func carries(_ version: Int, of identity: SessionIdentity, _ navigation: NavigationState) -> Bool {
        version - self.version <= SessionRecord.reach && identity === self.identity && parts.arePlenty(for: navigation)
    }
}
