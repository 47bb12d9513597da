internal import Sodium

/// Names a session in paths and logs. Not a secret.
public struct SessionID: Sendable, Hashable {
    public let text: String

    /// - Returns: `nil` if the text cannot be a session's id.
    public init?(_ text: String) {
        guard text.utf8.count == SessionID.prefix.utf8.count + SessionID.randomCharacters,
            text.utf8.starts(with: SessionID.prefix.utf8)
        else { return nil }
        let bytes = text.utf8Span.span
        for index in bytes.indices where !Base64URL.isDigit(bytes[index]) { return nil }
        self.text = text
    }

    /// A new id: 78 random bits. If one ever came up twice, the store would refuse the second session.
    static func random() -> SessionID {
        SessionID(random: Base64URL.text(of: Sodium.randomBytes(10)).prefix(randomCharacters))
    }

    /// The id that belongs to a key: always the same, and unpredictable without the secret.
    init(from key: String, secret: [UInt8]) {
        let digest = KeyedDigest(of: "session \(key)", key: secret).bytes
        self.init(random: Base64URL.text(of: digest).prefix(SessionID.randomCharacters))
    }

    private init(random: Substring) {
        self.text = SessionID.prefix + random
    }

    private static let prefix = "s_"
    /// Together with the prefix 15 bytes, the most that a Swift string holds without an allocation.
    private static let randomCharacters = 13
}

/// The secret that gives access to one session: 256 random bits. Returned once; only its digest is kept.
public struct SessionToken: Sendable {
    public let text: String

    public static func random() -> SessionToken {
        SessionToken(text: Base64URL.text(of: Sodium.randomBytes(32)))
    }

    /// The token that belongs to a key: always the same, so that it can be returned again without being kept.
    init(from key: String, secret: [UInt8]) {
        text = Base64URL.text(of: KeyedDigest(of: "token \(key)", key: secret).bytes)
    }

    /// The token that replaces an earlier one after an event under a key.
    init(from key: String, version: Int, of id: SessionID, secret: [UInt8]) {
        // No other digested text begins like this. The key comes last, because the client chooses it.
        text = Base64URL.text(of: KeyedDigest(of: "next token \(id.text) \(version) \(key)", key: secret).bytes)
    }

    private init(text: String) {
        self.text = text
    }

    var digest: SHA256Digest { SHA256Digest(of: text) }
}

extension SessionToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "•••" }
    public var debugDescription: String { "•••" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension Base64URL {
    fileprivate static func isDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
