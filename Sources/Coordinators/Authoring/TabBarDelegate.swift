/// A coordinator that is called when the user selects another of its tabs: what a `UITabBarControllerDelegate` is in UIKit.
///
/// ```swift
/// extension TabCoordinator: TabBarDelegate {
///     mutating func didSelectTab(_ tab: String, _ navigator: inout Navigator) {
///         visits[tab, default: 0] += 1
///     }
/// }
/// ```
public protocol TabBarDelegate: Coordinator {
    /// The user has selected another tab, by `selectTab` or by a `back` that changes tabs. What a coordinator selects is not
    /// reported, nor is the selected tab, selected again.
    ///
    /// - Parameter tab: its id; `navigator.selectedTab`.
    mutating func didSelectTab(_ tab: String, _ navigator: inout Navigator) async throws
}
