internal import ArgumentParser
internal import Sessions

/// How long sessions live, unless their app says otherwise.
struct LifetimeOptions: ParsableArguments {
    @Option(help: Settings.idleExpiry.help, transform: Settings.idleExpiry.parse)
    var idleExpiry = Settings.idleExpiry.standard

    @Option(help: Settings.absoluteExpiry.help, transform: Settings.absoluteExpiry.parse)
    var absoluteExpiry = Settings.absoluteExpiry.standard

    func apply(to settings: inout SessionSettings) {
        settings.idleLifetime = idleExpiry.seconds
        settings.absoluteLifetime = absoluteExpiry.seconds
    }
}

/// A duration as it is given on the command line: a number and a unit.
struct Span: Equatable {
    /// How it is written, for help and errors.
    static let form = "A time is a whole number with s, m, h or d: 10s."

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

    @Sendable static func parse(_ text: String) throws -> Span {
        guard let span = Span(text), span.seconds > 0 else {
            throw ValidationError("“\(text)” is no such time. \(form)")
        }
        return span
    }

    @Sendable static func parseOrZero(_ text: String) throws -> Span {
        guard let span = Span(text == "0" ? "0s" : text) else {
            throw ValidationError("“\(text)” is no such time. \(form)")
        }
        return span
    }

    private init?(_ text: String) {
        guard let last = text.last, let unit = Span.units[last], let number = Int(text.dropLast()), number >= 0
        else { return nil }
        seconds = Double(number) * unit
    }
}
