public import Measures

/// A metric: a name, what it means, and the names of its labels.
public struct MetricFamily: Sendable, Hashable {
    public enum Kind: String, Sendable {
        /// Only grows, until the process ends.
        case counter
        case gauge
        /// For each of some bounds, how many values were at most that; the sum and the number of all.
        case histogram
        /// The sum and the number of values.
        case summary
    }

    public let name: String
    public let kind: Kind
    /// A sentence, with the unit.
    public let help: String
    public let labels: [String]

    public init(_ name: String, _ kind: Kind, labels: [String] = [], _ help: String) {
        self.name = name
        self.kind = kind
        self.help = help
        self.labels = labels
    }
}

/// A value of a metric when it is read.
public struct MetricSample: Sendable {
    enum Value {
        case number(Double)
        case distribution(Distributions.Reading, perUnit: Double)
        case sum(Double, count: Int)
    }

    /// The names of its labels; `nil` for the family's.
    var labelNames: [String]?
    let labels: [String]
    let value: Value
}

extension MetricSample {
    init(labels: [(name: String, value: String)], _ value: Value) {
        self.init(labelNames: labels.map(\.name), labels: labels.map(\.value), value: value)
    }

    /// - Parameter labels: the values of the family's labels, in their order.
    public init(_ labels: String..., value: Double) { self.init(labels: labels, value: .number(value)) }

    public init(_ labels: String..., value: Int) { self.init(labels: labels, value: .number(Double(value))) }

    /// - Parameter perUnit: the value in the distribution that is 1 in the metric: 1e9 from nanoseconds to seconds.
    public init(_ labels: String..., value: Distributions.Reading, perUnit: Double) {
        self.init(labels: labels, value: .distribution(value, perUnit: perUnit))
    }
}
