internal import CSodium

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
