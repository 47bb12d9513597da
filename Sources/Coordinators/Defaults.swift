public import JSONCoding

/// Small values kept for the session, also when the tree is started anew by `relaunch`.
public struct Defaults: Sendable, Equatable {
    var values = JSONObject()

    public init() {}

    /// `nil` where there is no such value; assigning `nil` removes it.
    public subscript(name: String) -> JSON? {
        get { values[name] }
        set { values[name] = newValue }
    }
}
