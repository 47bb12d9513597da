internal import Sodium

/// Gathers what a row's checksum covers: every column that gives it meaning, each with its length, so that no two rows
/// have the same bytes.
struct RowChecksum {
    private var bytes: [UInt8] = []

    init() {
        bytes.reserveCapacity(256)
    }

    mutating func add(_ number: Int) {
        withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func add(_ text: String?) {
        guard let text else { return add(-1) }
        add(text.utf8.count)
        bytes.append(contentsOf: text.utf8)
    }

    /// A long text counts with a checksum of its own, instead of being copied.
    mutating func add(digestOf text: [UInt8]) {
        add(Int(bitPattern: UInt(Checksum.of(text))))
    }

    var value: Int { Int(bitPattern: UInt(Checksum.of(bytes))) }
}
