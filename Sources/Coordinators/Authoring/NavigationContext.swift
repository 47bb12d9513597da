/// What a coordinator's functions may depend on beside its own properties: what the session shares, its defaults, and
/// what the client says about itself.
public struct NavigationContext: Sendable, Equatable {
    /// What the session's coordinators share.
    public let shared: SharedValues
    /// Small values kept for the session, also across `relaunch`.
    public let defaults: Defaults
    public let client: ClientInfo
}

extension NavigationState {
    package var context: NavigationContext { NavigationContext(shared: shared, defaults: defaults, client: client) }
}
