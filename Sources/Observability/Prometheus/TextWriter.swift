internal import Measures

/// Writes the text format: prometheus.io/docs/instrumenting/exposition_formats, “Text format details”.
struct TextWriter {
    private(set) var text: [UInt8] = []

    mutating func write(_ family: MetricFamily, _ samples: [MetricSample]) {
        guard !samples.isEmpty else { return }
        append("# HELP \(family.name) ")
        append(family.help, escapesQuotes: false)
        append("\n# TYPE \(family.name) \(family.kind.rawValue)\n")
        for sample in samples {
            let labels = zip(sample.labelNames ?? family.labels, sample.labels).map { (name: $0, value: $1) }
            switch sample.value {
            case .number(let value): write(family.name, labels, TextWriter.text(of: value))
            case .distribution(let reading, let perUnit): write(family.name, labels, reading, perUnit)
            case .sum(let sum, let count):
                write(family.name + "_sum", labels, TextWriter.text(of: sum))
                write(family.name + "_count", labels, "\(count)")
            }
        }
    }

    private mutating func write(
        _ name: String, _ labels: [(name: String, value: String)], _ reading: Distributions.Reading, _ perUnit: Double
    ) {
        var count = 0
        for (index, number) in reading.counts.enumerated() {
            count += number
            let bound = index < reading.bounds.count ? Double(reading.bounds[index]) / perUnit : .infinity
            write(name + "_bucket", labels + [("le", TextWriter.text(of: bound))], "\(count)")
        }
        write(name + "_sum", labels, TextWriter.text(of: Double(reading.sum) / perUnit))
        write(name + "_count", labels, "\(count)")
    }

    private mutating func write(_ name: String, _ labels: [(name: String, value: String)], _ value: String) {
        append(name)
        for (index, label) in labels.enumerated() {
            append("\(index == 0 ? "{" : ",")\(label.name)=\"")
            append(label.value, escapesQuotes: true)
            append("\"")
        }
        append(labels.isEmpty ? " " : "} ")
        append(value)
        append("\n")
    }

    private mutating func append(_ string: String) { text += string.utf8 }

    private mutating func append(_ string: String, escapesQuotes: Bool) {
        for byte in string.utf8 {
            switch byte {
            case UInt8(ascii: "\\"): append(#"\\"#)
            case UInt8(ascii: "\n"): append(#"\n"#)
            case UInt8(ascii: "\"") where escapesQuotes: append(#"\""#)
            default: text.append(byte)
            }
        }
    }

    static func text(of value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        return Int(exactly: value).map(String.init) ?? "\(value)"
    }
}
