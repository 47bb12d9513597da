/// What identifies an account: an email address, without regard to case.
struct AccountName: Hashable {
    let text: String

    /// - Returns: `nil` if it is longer than an address can be (RFC 5321, section 4.5.3.1.3): no account has that name.
    init?(_ email: String) {
        guard email.utf8.count <= AccountName.longest else { return nil }
        text = email.lowercased()
    }

    /// The name of a new account: text on both sides of one `@`, without whitespace or unprintable characters.
    init?(new email: String) {
        let parts = email.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
        let isPlain = email.unicodeScalars.allSatisfy { scalar in
            !scalar.properties.isWhitespace && !AccountName.unprintable.contains(scalar.properties.generalCategory)
        }
        guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }), isPlain else { return nil }
        self.init(email)
    }

    private static let longest = 254
    private static let unprintable: Set<Unicode.GeneralCategory> = [.control, .format, .unassigned, .privateUse]
}
