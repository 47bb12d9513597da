/// What accounts are told apart by: an email address, without regard to case.
struct AccountName: Hashable {
    let text: String

    /// - Returns: `nil` for what is longer than an address can be (RFC 5321, section 4.5.3.1.3): no account has that
    ///   name.
    init?(_ email: String) {
        guard email.utf8.count <= AccountName.longest else { return nil }
        text = email.lowercased()
    }

    private static let longest = 254
}
