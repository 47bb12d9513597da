internal import CSodium
internal import Glibc

/// An Argon2id hash (RFC 9106) of a password, with its salt and its limits: all that is stored of the password.
///
/// Making or checking a hash takes tens of milliseconds of one core and 64 MiB of memory, by design. Do neither on a
/// thread for which others wait.
public struct PasswordHash: Sendable, Equatable {
    /// `$argon2id$v=19$m=65536,t=2,p=1$…$…`, at most 127 ASCII characters.
    public let encoded: String

    /// Hashes a password with a new salt and libsodium's limits for interactive log-ins.
    public init(of password: String) throws(PasswordHashError) {
        Sodium.isReady
        var encoded = [CChar](repeating: 0, count: Int(crypto_pwhash_STRBYTES))
        let code = crypto_pwhash_str(
            &encoded, password, UInt64(password.utf8.count), UInt64(crypto_pwhash_OPSLIMIT_INTERACTIVE),
            Int(crypto_pwhash_MEMLIMIT_INTERACTIVE))
        guard code == 0 else { throw .outOfMemory }
        self.encoded = String(decoding: encoded.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// - Parameter encoded: the `encoded` of an earlier hash.
    /// - Returns: `nil` if this is not an Argon2id hash.
    public init?(encoded: String) {
        Sodium.isReady
        // Returns 0 or 1, whether the limits have changed since, or a negative number if the text is no hash.
        let answer = crypto_pwhash_str_needs_rehash(
            encoded, UInt64(crypto_pwhash_OPSLIMIT_INTERACTIVE), Int(crypto_pwhash_MEMLIMIT_INTERACTIVE))
        guard answer >= 0, encoded.hasPrefix(crypto_pwhash_STRPREFIX) else { return nil }
        self.encoded = encoded
    }

    private init(unchecked encoded: String) {
        self.encoded = encoded
    }

    /// Whether this is the password's hash. Takes the same time whatever the answer.
    public func matches(_ password: String) throws(PasswordHashError) -> Bool {
        Sodium.isReady
        // Both failures are -1; only `errno` distinguishes a password that does not match, EINVAL, from one that was
        // not checked.
        errno = 0
        if crypto_pwhash_str_verify(encoded, password, UInt64(password.utf8.count)) == 0 { return true }
        guard errno == EINVAL else { throw .outOfMemory }
        return false
    }

    /// Stands in for a missing hash, so that the time that `matches` takes does not reveal that the hash is missing. It
    /// has the limits of new hashes. Its digest is all zeros, for which nobody knows a password.
    public static let decoy = PasswordHash(
        unchecked: crypto_pwhash_STRPREFIX + "v=19$m=\(crypto_pwhash_MEMLIMIT_INTERACTIVE / 1024)"
            + ",t=\(crypto_pwhash_OPSLIMIT_INTERACTIVE),p=1$"
            // 16 and 32 bytes in Base64.
            + String(repeating: "A", count: 22) + "$" + String(repeating: "A", count: 43))
}

/// Masked, because whoever reads a hash in a log can guess passwords offline.
extension PasswordHash: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "•••" }
    public var debugDescription: String { "•••" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

public enum PasswordHashError: Error {
    /// There is not enough memory for Argon2id. Whether the password matches is not known.
    case outOfMemory
}
