// Sodium: the one Swift wrapper of libsodium, as small as the need: SHA-256, random bytes, comparison in constant time,
// Argon2id. It knows nothing of what the bytes mean, nor whose a password is.

internal import CSodium

/// libsodium's entry points. Every one of them sees to `sodium_init` first.
public enum Sodium {
    /// `sodium_init` answers 0, or 1 when it was done before; a library that cannot be initialised cannot be used at
    /// all.
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
