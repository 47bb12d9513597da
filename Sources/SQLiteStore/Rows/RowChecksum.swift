internal import SQLite
internal import Sodium

/// A row's checksum, over every column that gives the row meaning. Each text counts with its length, so that no two
/// rows are summed up from the same numbers. It detects damage, not tampering.
struct RowChecksum {
    private var sum: UInt64 = 0x243F_6A88_85A3_08D3

    mutating func add(_ number: Int) {
        sum = PageChecksum.mixed(sum, UInt64(bitPattern: Int64(number)))
    }

    mutating func add(_ text: String?) {
        guard let text else { return add(-1) }
        let bytes = text.utf8Span.span
        add(bytes.count)
        var (word, shift): (UInt64, UInt64) = (0, 0)
        for index in bytes.indices {
            word |= UInt64(bytes[index]) << shift
            shift += 8
            guard shift == 64 else { continue }
            sum = PageChecksum.mixed(sum, word)
            (word, shift) = (0, 0)
        }
        if shift > 0 { sum = PageChecksum.mixed(sum, word) }
    }

    /// Adds a long text as its SipHash.
    mutating func add(digestOf text: [UInt8]) {
        add(Int(bitPattern: UInt(Checksum.of(text))))
    }

    var value: Int { Int(bitPattern: UInt(sum)) }
}
