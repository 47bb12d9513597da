// Sodium: the only Swift wrapper of libsodium, no larger than needed: SHA-256, HMAC, SipHash, random bytes, comparison
// in constant time, Argon2id. It knows neither what the bytes mean nor whose password it hashes.

internal import CSodium

/// libsodium's initialisation and its random bytes.
public enum Sodium {
    /// Initialises libsodium when it is first read; read it before each function that needs that. Traps on failure.
    /// `sodium_init` returns 0, or 1 if it has run before.
    static let isReady: Void = precondition(sodium_init() >= 0, "libsodium cannot be initialised")

    /// Where bytes come from instead, for tests that repeat what has happened.
    @TaskLocal package static var source: (any ByteSource)?

    /// Unpredictable bytes from the system's source.
    public static func randomBytes(_ count: Int) -> [UInt8] {
        if let source { return source.bytes(count) }
        isReady
        var bytes = [UInt8](repeating: 0, count: count)
        bytes.withUnsafeMutableBytes { buffer in
            if let base = buffer.baseAddress { randombytes_buf(base, buffer.count) }
        }
        return bytes
    }
}

/// See `Sodium.source`.
package protocol ByteSource: Sendable {
    func bytes(_ count: Int) -> [UInt8]
}

/// Bytes as text of hexadecimal digits, two for each byte.
public enum Hexadecimal {
    /// The digits, in lower case.
    public static func text(of bytes: [UInt8]) -> String {
        var text = [CChar](repeating: 0, count: 2 * bytes.count + 1)
        return String(cString: sodium_bin2hex(&text, text.count, bytes, bytes.count))
    }

    /// - Returns: `nil` if the text consists of anything but pairs of digits.
    public static func bytes(of text: String) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: text.utf8.count / 2)
        var count = 0
        let code = sodium_hex2bin(&bytes, bytes.count, text, text.utf8.count, nil, &count, nil)
        return code == 0 && 2 * count == text.utf8.count ? bytes : nil
    }
}

/// Bytes as text that is safe in URLs and headers: Base64url (RFC 4648, section 5) without padding.
public enum Base64URL {
    public static func text(of bytes: [UInt8]) -> String {
        let variant = sodium_base64_VARIANT_URLSAFE_NO_PADDING
        var text = [CChar](repeating: 0, count: sodium_base64_encoded_len(bytes.count, variant))
        return String(cString: sodium_bin2base64(&text, text.count, bytes, bytes.count, variant))
    }
}
