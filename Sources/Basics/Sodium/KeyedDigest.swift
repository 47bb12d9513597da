internal import CSodium

/// HMAC-SHA-512-256 of a text (RFC 4231): 32 bytes, unpredictable without the key.
public struct KeyedDigest: Sendable {
    public static let keySize = Int(crypto_auth_KEYBYTES)

    public let bytes: [UInt8]

    /// - Parameter key: `keySize` bytes.
    public init(of text: String, key: [UInt8]) {
        precondition(key.count == KeyedDigest.keySize, "a key has \(KeyedDigest.keySize) bytes")
        var bytes = [UInt8](repeating: 0, count: Int(crypto_auth_BYTES))
        // Never fails.
        _ = crypto_auth(&bytes, Array(text.utf8), UInt64(text.utf8.count), key)
        self.bytes = bytes
    }
}
