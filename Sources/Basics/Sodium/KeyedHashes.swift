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

/// Detects damage, not tampering: SipHash-2-4 under a fixed key.
public enum Checksum {
    private static let key = [UInt8](repeating: 0, count: Int(crypto_shorthash_KEYBYTES))

    public static func of(_ bytes: [UInt8]) -> UInt64 {
        var sum: UInt64 = 0
        withUnsafeMutablePointer(to: &sum) { sum in
            // Never fails. `sum` is crypto_shorthash_BYTES long.
            _ = crypto_shorthash(UnsafeMutableRawPointer(sum), bytes, UInt64(bytes.count), key)
        }
        return UInt64(littleEndian: sum)
    }
}
