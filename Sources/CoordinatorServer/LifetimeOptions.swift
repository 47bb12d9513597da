internal import ArgumentParser

/// How long sessions live, unless their app says otherwise.
struct LifetimeOptions: ParsableArguments {
    @Option(help: "How long a session lives after its last event: 90s, 30m, 24h, 7d.")
    var idleExpiry = Span(hours: 24)

    @Option(help: "How long a session lives at most.")
    var absoluteExpiry = Span(hours: 30 * 24)
}

/// A duration as it is given on the command line: a number and a unit.
struct Span: ExpressibleByArgument, Equatable {
    private static let units: [Character: Double] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]

    let seconds: Double

    init(hours: Double) {
        self.init(seconds: hours * 3600)
    }

    init(seconds: Double) {
        self.seconds = seconds
    }

    /// At most thirty years, which can still be added to the time of the system's clocks.
    var milliseconds: Int { Int(min(seconds, 1e9) * 1000) }

    init?(argument: String) {
        guard let last = argument.last, let unit = Span.units[last], let number = Int(argument.dropLast()), number > 0
        else { return nil }
        seconds = Double(number) * unit
    }

    var defaultValueDescription: String {
        let (name, unit) =
            Span.units.filter { seconds.remainder(dividingBy: $0.value) == 0 }.max { $0.value < $1.value } ?? ("s", 1)
        return "\(Int(seconds / unit))\(name)"
    }
}
