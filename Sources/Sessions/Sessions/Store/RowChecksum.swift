internal import Sodium

/// A row's checksum, over every column that gives the row meaning. The length of each text is included, so that no two
/// rows are the same sequence of numbers. It detects damage, not tampering.
public struct RowChecksum: Sendable {
    private var sum: UInt64 = 0x243F_6A88_85A3_08D3

    public init() {}

    public mutating func add(_ number: Int) {
        sum = RowChecksum.mixed(sum, UInt64(bitPattern: Int64(number)))
    }

    public mutating func add(_ text: String?) {
        guard let text else { return add(-1) }
        let bytes = text.utf8Span.span
        add(bytes.count)
        var (word, shift): (UInt64, UInt64) = (0, 0)
        for index in bytes.indices {
            word |= UInt64(bytes[index]) << shift
            shift += 8
            guard shift == 64 else { continue }
            sum = RowChecksum.mixed(sum, word)
            (word, shift) = (0, 0)
        }
        if shift > 0 { sum = RowChecksum.mixed(sum, word) }
    }

    /// Adds a long text as its SipHash.
    public mutating func add(digestOf text: [UInt8]) {
        add(Int(bitPattern: UInt(Checksum.of(text))))
    }

    public var value: Int { Int(bitPattern: UInt(sum)) }

    /// Adds a word to a sum. A bijection for each word: data that differs in one word has another sum.
    private static func mixed(_ sum: UInt64, _ word: UInt64) -> UInt64 {
        let both = sum ^ word
        return (both << 29 | both >> 35) &* 0x9E37_79B9_7F4A_7C15
    }
}
