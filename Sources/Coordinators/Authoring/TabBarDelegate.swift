/// A coordinator that is called when the user selects another of its tabs, like a `UITabBarControllerDelegate` in
/// UIKit.
///
/// ```swift
/// extension TabCoordinator: TabBarDelegate {
///     mutating func didSelectTab(_ tab: String, _ navigator: inout Navigator) {
///         visits[tab, default: 0] += 1
///     }
/// }
/// ```
public protocol TabBarDelegate: Coordinator {
    /// Called when the user has selected another tab, by `selectTab` or by a `back` that changes tabs. Not called when
    /// a coordinator selects a tab, nor when the user selects the selected tab again.
    ///
    /// - Parameter tab: the tab's id, as in `navigator.selectedTab`.
    mutating func didSelectTab(_ tab: String, _ navigator: inout Navigator) async throws
}
