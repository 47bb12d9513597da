/// An amount of memory or storage as it is given on the command line.
struct ByteSize: Equatable, Comparable, CustomStringConvertible {
    /// How it is written, for help and errors.
    static let form = "Write bytes, or a number with K, M or G (powers of 1024), for example 512M."

    private static let units: [Character: Int] = ["K": 1 << 10, "M": 1 << 20, "G": 1 << 30]

    let bytes: Int

    init(_ bytes: Int) {
        self.bytes = bytes
    }

    init?(_ text: String) {
        let unit = text.last.flatMap { ByteSize.units[$0] }
        guard let number = Int(unit == nil ? text : String(text.dropLast())), number > 0 else { return nil }
        let (bytes, overflow) = number.multipliedReportingOverflow(by: unit ?? 1)
        guard !overflow else { return nil }
        self.bytes = bytes
    }

    static func < (first: ByteSize, second: ByteSize) -> Bool { first.bytes < second.bytes }

    /// In the largest unit that divides it.
    var description: String {
        let unit = ByteSize.units.filter { bytes % $0.value == 0 }.max { $0.value < $1.value }
        return unit.map { "\(bytes / $0.value)\($0.key)" } ?? "\(bytes)"
    }
}
