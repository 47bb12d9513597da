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

/// A SHA-256 digest (FIPS 180-4). Equality takes the same time whatever the bytes are.
public struct SHA256Digest: Sendable, Equatable {
    /// 32 bytes as four words in the order of memory, so that a digest needs no allocation of its own.
    private var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)

    /// Of the text's UTF-8.
    public init(of text: String) {
        var text = text
        text.withUTF8 { message in
            withUnsafeMutablePointer(to: &words) { words in
                // Never fails. The four words are crypto_hash_sha256_BYTES long.
                _ = crypto_hash_sha256(UnsafeMutableRawPointer(words), message.baseAddress, UInt64(message.count))
            }
        }
    }

    public static func == (left: SHA256Digest, right: SHA256Digest) -> Bool {
        withUnsafePointer(to: left.words) { left in
            withUnsafePointer(to: right.words) { right in
                sodium_memcmp(left, right, MemoryLayout.size(ofValue: left.pointee)) == 0
            }
        }
    }
}
