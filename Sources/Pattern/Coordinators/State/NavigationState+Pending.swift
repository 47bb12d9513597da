package import JSONCoding

extension NavigationState {
    /// When the next timer is due; `nil` if there is none.
    package var nextTimer: Date? { nil }

    /// Whether effects are under way.
    package var hasEffects: Bool { false }
}
