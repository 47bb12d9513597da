// ByteText: splits and searches text from outside by its bytes. A Swift Character is a grapheme: a comma followed by a
// combining mark is one Character, and not equal to a comma. So code that searched Characters would read a header
// differently than a proxy does. ByteText knows no format except the percent-encoding of URLs.
//
// `Tests/ArchitectureTests` finds code that compares or searches Characters instead.

extension StringProtocol {
    /// The parts between the separators, also empty ones.
    ///
    /// - Parameters:
    ///   - separator: an ASCII character.
    ///   - limit: the most parts; the last one then contains the rest of the text, with its separators.
    @inlinable package func parts(at separator: Unicode.Scalar, limit: Int = .max) -> [Substring] {
        Substring(self).utf8
            .split(separator: UInt8(ascii: separator), maxSplits: limit - 1, omittingEmptySubsequences: false)
            .map(Substring.init)
    }

    /// The parts between spaces, tabs and line ends, without empty ones.
    @inlinable package var words: [Substring] {
        Substring(self).utf8.split { [0x20, 0x09, 0x0A, 0x0D].contains($0) }.map(Substring.init)
    }

    /// The lines, without empty ones.
    @inlinable package var lines: [Substring] {
        Substring(self).utf8.split { $0 == 0x0A || $0 == 0x0D }.map(Substring.init)
    }

    /// The text without the spaces and tabs at both ends.
    @inlinable package var trimmed: Substring {
        var text = Substring(self).utf8
        while text.first == 0x20 || text.first == 0x09 { text.removeFirst() }
        while text.last == 0x20 || text.last == 0x09 { text.removeLast() }
        return Substring(text)
    }

    /// The number that the text is; `nil` unless it consists of decimal digits alone, and fits an `Int`.
    @inlinable package var natural: Int? { utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(self) : nil }

    /// The text with each occurrence of an ASCII character replaced.
    @inlinable package func substituting(_ character: Unicode.Scalar, with other: String) -> String {
        parts(at: character).joined(separator: other)
    }

    /// Whether the texts are equal, ignoring the case of ASCII letters, as tokens of HTTP are compared.
    @inlinable package func isSame(as token: String) -> Bool {
        func folded(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte | 0x20 : byte }
        return utf8.elementsEqual(token.utf8) { folded($0) == folded($1) }
    }

    @inlinable package func begins(with prefix: String) -> Bool { utf8.starts(with: prefix.utf8) }

    @inlinable package func ends(with suffix: String) -> Bool {
        utf8.suffix(suffix.utf8.count).elementsEqual(suffix.utf8)
    }

    /// - Parameter character: an ASCII character.
    @inlinable package func has(_ character: Unicode.Scalar) -> Bool { utf8.contains(UInt8(ascii: character)) }

    /// The parts before and after the first such character; `nil` if there is none.
    @inlinable package func cut(at separator: Unicode.Scalar) -> (before: Substring, after: Substring)? {
        let text = Substring(self).utf8
        guard let index = text.firstIndex(of: UInt8(ascii: separator)) else { return nil }
        return (Substring(text[..<index]), Substring(text[text.index(after: index)...]))
    }

    /// The parts before and after the last such character; `nil` if there is none.
    @inlinable package func cut(atLast separator: Unicode.Scalar) -> (before: Substring, after: Substring)? {
        let text = Substring(self).utf8
        guard let index = text.lastIndex(of: UInt8(ascii: separator)) else { return nil }
        return (Substring(text[..<index]), Substring(text[text.index(after: index)...]))
    }

    /// The text between two enclosing ASCII characters; `nil` unless it begins and ends with them.
    @inlinable package func inside(_ first: Unicode.Scalar, _ last: Unicode.Scalar) -> Substring? {
        let text = Substring(self).utf8
        guard text.count >= 2, text.first == UInt8(ascii: first), text.last == UInt8(ascii: last) else { return nil }
        return Substring(text.dropFirst().dropLast())
    }

    /// How many bytes have to be inserted, removed or replaced, or exchanged with the next one, to make the other text of this
    /// one. Of long texts only the first 80 bytes count.
    package func editDistance(to other: String) -> Int {
        let (here, there) = (Array(utf8.prefix(80)), Array(other.utf8.prefix(80)))
        // What the last two beginnings of `here` cost, by the length of the beginning of `there`.
        var (rowBefore, row) = ([Int](), Array(0...there.count))
        for (index, byte) in here.enumerated() {
            var next = [index + 1]
            for (column, other) in there.enumerated() {
                var cost = Swift.min(row[column] + (byte == other ? 0 : 1), row[column + 1] + 1, next[column] + 1)
                if index > 0, column > 0, byte == there[column - 1], other == here[index - 1] {
                    cost = Swift.min(cost, rowBefore[column - 1] + 1)
                }
                next.append(cost)
            }
            (rowBefore, row) = (row, next)
        }
        return row[there.count]
    }
}
