@testable internal import CoordinatorsTesting

/// Changes bytes at random, the way that accidents and attackers do.
struct Mutator {
    var numbers: SplitMix64

    init(seed: UInt64) {
        numbers = SplitMix64(seed: seed)
    }

    mutating func number(in range: Range<Int>) -> Int { Int.random(in: range, using: &numbers) }
    mutating func number(in range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &numbers) }

    /// Makes one to four changes.
    ///
    /// - Parameter other: bytes that may replace a part of these.
    mutating func mutate(_ bytes: inout [UInt8], other: [UInt8]) {
        for _ in 0..<number(in: 1...4) { change(&bytes, other) }
    }

    private mutating func change(_ bytes: inout [UInt8], _ other: [UInt8]) {
        let range = someRange(of: bytes)
        switch number(in: 0..<9) {
        case 0: bytes.removeSubrange(range)
        case 1: bytes.insert(contentsOf: bytes[range], at: range.lowerBound)
        case 2: bytes.replaceSubrange(range, with: other[someRange(of: other)])
        case 3: bytes.removeSubrange(range.lowerBound...)
        case 4: bytes.insert(UInt8(number(in: 0..<256)), at: range.lowerBound)
        case 5: bytes.insert(contentsOf: Mutator.troublesome.randomElement(using: &numbers) ?? [], at: range.lowerBound)
        case 6: changeLines(&bytes)
        default:
            guard range.lowerBound < bytes.count else { return }
            bytes[range.lowerBound] ^= 1 << number(in: 0..<8)
        }
    }

    /// Repeats a line, leaves one out, or moves one.
    private mutating func changeLines(_ bytes: inout [UInt8]) {
        var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let line = lines[number(in: 0..<lines.count)]
        if number(in: 0..<3) == 0 { lines.remove(at: number(in: 0..<lines.count)) }
        if number(in: 0..<3) > 0 { lines.insert(line, at: number(in: 0...lines.count)) }
        bytes = Array(lines.joined(separator: [UInt8(ascii: "\n")]))
    }

    /// A random range, mostly a short one.
    private mutating func someRange(of bytes: [UInt8]) -> Range<Int> {
        let start = number(in: 0...bytes.count)
        return start..<start + min(bytes.count - start, 1 << number(in: 0..<8))
    }

    private static let troublesome: [[UInt8]] =
        [
            "\r\n", "\r", "\n", "\r\n\r\n", "\0", " ", "\t", ":", "%00", "%2F", "/../", "?", "#", "\u{FEFF}", "é",
            "Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n", "Expect: 100-continue\r\n",
            "Connection: close\r\n",
            "Host: x\r\n", "0\r\n\r\n", "18446744073709551616", "-1", "9223372036854775807", "1e999", "\\ud800",
            "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", "{\"a\":", "\"", "\\", ",", "null", "GET / HTTP/1.1\r\n",
            "HTTP/1.0\r\n",
        ]
        .map { Array($0.utf8) } + [
            [0xFF], [0xC3], [0xED, 0xA0, 0x80], [UInt8](repeating: UInt8(ascii: "A"), count: 9000),
        ]
}
