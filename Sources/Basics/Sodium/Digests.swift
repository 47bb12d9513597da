internal import CSodium

/// A SHA-256 digest (FIPS 180-4). Equality takes the same time whatever the bytes are.
public struct SHA256Digest: Sendable, Hashable {
    /// 32 bytes as four words in memory order, so that a digest needs no allocation of its own.
    private var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)

    /// The digest of the text's UTF-8.
    public init(of text: String) {
        var text = text
        text.withUTF8 { hash($0) }
    }

    public init(of bytes: [UInt8]) {
        bytes.withUnsafeBufferPointer { hash($0) }
    }

    public init(of bytes: UnsafeBufferPointer<UInt8>) { hash(bytes) }

    private mutating func hash(_ message: UnsafeBufferPointer<UInt8>) {
        withUnsafeMutablePointer(to: &words) { words in
            // Never fails. The four words are crypto_hash_sha256_BYTES long.
            _ = crypto_hash_sha256(UnsafeMutableRawPointer(words), message.baseAddress, UInt64(message.count))
        }
    }

    /// A digest that was stored as text.
    ///
    /// - Parameter hex: 64 hexadecimal digits.
    public init?(hex: String) {
        var count = 0
        let code = withUnsafeMutablePointer(to: &words) { words in
            words.withMemoryRebound(to: UInt8.self, capacity: SHA256Digest.size) { bytes in
                sodium_hex2bin(bytes, SHA256Digest.size, hex, hex.utf8.count, nil, &count, nil)
            }
        }
        // Without a pointer for the end of the digits, libsodium returns an error for any other character.
        guard code == 0, count == SHA256Digest.size else { return nil }
    }

    /// - Returns: `nil` unless there are 32 bytes.
    public init?(bytes: [UInt8]) {
        guard bytes.count == SHA256Digest.size else { return nil }
        withUnsafeMutableBytes(of: &words) { $0.copyBytes(from: bytes) }
    }

    public var bytes: [UInt8] { withUnsafeBytes(of: words) { Array($0) } }

    /// 64 hexadecimal digits.
    public var hex: String {
        let length = 2 * SHA256Digest.size
        return withUnsafePointer(to: words) { words in
            words.withMemoryRebound(to: UInt8.self, capacity: SHA256Digest.size) { bytes in
                withUnsafeTemporaryAllocation(of: CChar.self, capacity: length + 1) { text in
                    guard let start = text.baseAddress else { return "" }
                    return String(cString: sodium_bin2hex(start, text.count, bytes, SHA256Digest.size))
                }
            }
        }
    }

    private static let size = Int(crypto_hash_sha256_BYTES)

    public static func == (left: SHA256Digest, right: SHA256Digest) -> Bool {
        let (left, right) = (left.words, right.words)
        // Nothing depends on where the words differ.
        return (left.0 ^ right.0) | (left.1 ^ right.1) | (left.2 ^ right.2) | (left.3 ^ right.3) == 0
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(words.0)
        hasher.combine(words.1)
        hasher.combine(words.2)
        hasher.combine(words.3)
    }
}

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
