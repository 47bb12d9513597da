/// An app's own name for one of its users: a number, a UUID, an address. To everybody else it is opaque.
public enum UserID {
    /// In UTF-8 bytes.
    public static let limit = 256

    /// Whether a text can be a user's id: 1 to `limit` bytes, none of which is 0: not every store can keep that.
    public static func isValid(_ text: String) -> Bool {
        (1...limit).contains(text.utf8.count) && !text.utf8.contains(0)
    }
}
