extension String {
    /// What a terminal may be shown, in one line: what would steer it, control characters and those that turn the
    /// direction of text, is written as JSON escapes it: `\u001b`. JSON stays the same JSON.
    var printable: String {
        guard unicodeScalars.contains(where: \.steersTerminal) else { return self }
        var text = ""
        for scalar in unicodeScalars {
            if scalar.steersTerminal {
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}

extension Unicode.Scalar {
    fileprivate var steersTerminal: Bool {
        // Nearly all are these.
        if (0x20..<0x7F).contains(value) { return false }
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: return true
        default: return properties.isBidiControl
        }
    }
}
