public import JSONCoding

/// A coordinator that the app can no longer restore: its type is gone, or what was saved of it does not fit. Its screens
/// and children are removed with it. Its parent gets it in `childWasDismissed`.
public struct RemovedCoordinator: Coordinator {
    /// The name that its type had.
    public let name: String
    /// What was saved of it.
    public let saved: JSON

    public func start(_ navigator: inout Navigator) {}
}
