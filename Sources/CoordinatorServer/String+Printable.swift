extension String {
    /// The text in one line that is safe to print on a terminal: control characters, and those that change the
    /// direction of text, are escaped as in JSON: `\u001b`. JSON text keeps its meaning.
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
        // Nearly all characters are in this range.
        if (0x20..<0x7F).contains(value) { return false }
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: return true
        default: return properties.isBidiControl
        }
    }
}
