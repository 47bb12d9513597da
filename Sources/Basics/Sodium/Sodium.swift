// Sodium: the only Swift wrapper of libsodium, no larger than needed: SHA-256, HMAC, SipHash, random bytes, comparison
// in constant time, Argon2id. It knows neither what the bytes mean nor whose password it hashes.

internal import CSodium

/// libsodium's initialisation and its random bytes.
public enum Sodium {
    /// Initialises libsodium when it is first read; read it before each function that needs that. Traps on failure.
    /// `sodium_init` returns 0, or 1 if it has run before.
    static let isReady: Void = precondition(sodium_init() >= 0, "libsodium cannot be initialised")

    /// Unpredictable bytes from the system's source.
    public static func randomBytes(_ count: Int) -> [UInt8] {
        isReady
        var bytes = [UInt8](repeating: 0, count: count)
        bytes.withUnsafeMutableBytes { buffer in
            if let base = buffer.baseAddress { randombytes_buf(base, buffer.count) }
        }
        return bytes
    }
}
