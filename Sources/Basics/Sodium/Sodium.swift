// Sodium: the only Swift wrapper of libsodium, no larger than needed: SHA-256, HMAC, SipHash, random bytes, comparison
// in constant time, Argon2id. It does not know what the bytes mean, nor whose a password is.

internal import CSodium

/// libsodium's entry points. Those that need `sodium_init` run it first.
public enum Sodium {
    /// `sodium_init` returns 0, or 1 if it has run before; a library that cannot be initialised cannot be used at all.
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
