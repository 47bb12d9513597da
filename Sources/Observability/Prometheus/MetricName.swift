/// Names as Prometheus allows them, made of those that apps give.
enum MetricName {
    /// `[a-zA-Z_][a-zA-Z0-9_]*`; also `:` is allowed, but reserved for rules.
    static func text(of label: String) -> String {
        var text = ""
        for byte in label.utf8 {
            let isLetter = (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) || byte == UInt8(ascii: "_")
            let isDigit = (0x30...0x39).contains(byte)
            if isDigit, text.isEmpty { text = "_" }
            text.append(isLetter || isDigit ? Character(Unicode.Scalar(byte)) : "_")
        }
        return text.isEmpty ? "_" : text
    }

    /// Sorted. Of several labels with one name, the last counts. What Prometheus reserves gets another name: `le`,
    /// `quantile`, and what begins with `__`.
    static func labels(of dimensions: [(String, String)]) -> [(name: String, value: String)] {
        var values: [String: String] = [:]
        for (label, value) in dimensions {
            var name = text(of: label)
            while name.hasPrefix("__") { name.removeFirst() }
            if name == "le" || name == "quantile" { name += "_" }
            values[name] = value
        }
        return values.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
    }
}
