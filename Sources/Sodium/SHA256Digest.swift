internal import CSodium

/// A SHA-256 digest (FIPS 180-4). Equality takes the same time whatever the bytes are.
public struct SHA256Digest: Sendable, Equatable {
    /// 32 bytes as four words in the order of memory, so that a digest needs no allocation of its own.
    private var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)

    /// Of the text's UTF-8.
    public init(of text: String) {
        var text = text
        text.withUTF8 { hash($0) }
    }

    public init(of bytes: [UInt8]) {
        bytes.withUnsafeBufferPointer { hash($0) }
    }

    private mutating func hash(_ message: UnsafeBufferPointer<UInt8>) {
        withUnsafeMutablePointer(to: &words) { words in
            // Never fails. The four words are crypto_hash_sha256_BYTES long.
            _ = crypto_hash_sha256(UnsafeMutableRawPointer(words), message.baseAddress, UInt64(message.count))
        }
    }

    /// A digest that was kept as text.
    ///
    /// - Parameter hex: 64 hexadecimal digits.
    public init?(hex: String) {
        guard hex.utf8.count == 64 else { return nil }
        var digits = hex.utf8.makeIterator()
        let isHexadecimal = withUnsafeMutableBytes(of: &words) { bytes in
            for index in bytes.indices {
                guard let high = digits.next().flatMap(SHA256Digest.value),
                    let low = digits.next().flatMap(SHA256Digest.value)
                else { return false }
                bytes[index] = high << 4 | low
            }
            return true
        }
        guard isHexadecimal else { return nil }
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// 64 hexadecimal digits.
    public var hex: String {
        String(unsafeUninitializedCapacity: 64) { text in
            withUnsafeBytes(of: words) { bytes in
                for (index, byte) in bytes.enumerated() {
                    text[2 * index] = SHA256Digest.digit(byte >> 4)
                    text[2 * index + 1] = SHA256Digest.digit(byte & 0xF)
                }
            }
            return 64
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }

    public static func == (left: SHA256Digest, right: SHA256Digest) -> Bool {
        withUnsafePointer(to: left.words) { left in
            withUnsafePointer(to: right.words) { right in
                sodium_memcmp(left, right, MemoryLayout.size(ofValue: left.pointee)) == 0
            }
        }
    }
}
