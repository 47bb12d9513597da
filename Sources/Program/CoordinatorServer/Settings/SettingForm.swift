internal import ArgumentParser
internal import ByteText
internal import FoundationEssentials

/// What kind of value a setting has: how a flag, the environment and a file have it.
enum SettingKind: Sendable { case text, number, size, time, flag, list, secret }

/// How a setting's value is written.
struct SettingForm<Value: Sendable>: Sendable {
    let kind: SettingKind
    /// What the value is: in one word for usage lines, `--port <number>`; in a few for documents.
    let word, description: String
    /// Whether errors must not repeat a value.
    let mayHoldSecret: Bool
    /// Throws `ValidationError`, whose message may repeat the text.
    let parse: @Sendable (String) throws -> Value

    init(
        _ word: String, _ description: String, kind: SettingKind = .text, mayHoldSecret: Bool = false,
        parse: @escaping @Sendable (String) throws -> Value
    ) {
        (self.kind, self.word, self.description, self.mayHoldSecret) = (kind, word, description, mayHoldSecret)
        self.parse = parse
    }

    /// Without the type of the value.
    var erased: SettingForm<any Sendable> { erased(as: kind) }

    func erased(as kind: SettingKind) -> SettingForm<any Sendable> {
        SettingForm<any Sendable>(word, description, kind: kind, mayHoldSecret: mayHoldSecret, parse: parse)
    }

    /// - Parameters:
    ///   - advice: follows the error for a text that is no value.
    ///   - value: makes the value; returns `nil` for such a text.
    init(
        _ word: String, _ description: String, kind: SettingKind = .text, advice: String = "",
        value: @escaping @Sendable (String) -> Value?
    ) {
        self.init(word, description, kind: kind) { text in
            guard let value = value(text) else {
                throw ValidationError("“\(text)” is not \(description).\(advice.isEmpty ? "" : " \(advice)")")
            }
            return value
        }
    }
}

extension SettingForm<Int> {
    static func number(_ range: ClosedRange<Int>) -> Self {
        let end = range.upperBound == .max ? "" : " to \(range.upperBound)"
        return Self(
            "number", "a number from \(range.lowerBound)\(end)", kind: .number,
            value: { text in
                Int(text).flatMap { range.contains($0) ? $0 : nil }
            })
    }
}

extension SettingForm<ByteSize> {
    /// A lower bound catches a forgotten unit.
    static func size(from least: ByteSize, to most: ByteSize? = nil) -> Self {
        let description = most.map { "a size from \(least) to \($0)" } ?? "a size of at least \(least)"
        return Self(
            "size", description, kind: .size, advice: ByteSize.form,
            value: { text in
                ByteSize(text).flatMap { (least.bytes...(most?.bytes ?? .max)).contains($0.bytes) ? $0 : nil }
            })
    }
}

extension SettingForm<Span> {
    /// The bounds are part of the help. An upper bound catches a wrong unit, and a time that clocks cannot be added to.
    static func time(from least: Span = Span(seconds: 1), to most: Span) -> Self {
        Self(
            "time", "a time from \(least) to \(most)", kind: .time, advice: Span.form,
            value: { text in
                Span(text).flatMap { (least.seconds...most.seconds).contains($0.seconds) ? $0 : nil }
            })
    }
}

extension SettingForm<Bool> {
    static var flag: Self { Self("flag", "true or false", kind: .flag, value: { Bool($0) }) }
}

extension SettingForm<Share> {
    static var share: Self { Self("share", "off, all, or a share such as 1%", value: { Share($0) }) }
}

extension SettingForm<String> {
    /// An IPv6 address may be in brackets, as in URLs.
    static var host: Self {
        Self("host", "a name or an address") { text in
            if let inside = text.inside("[", "]") { return String(inside) }
            let hasPort = text.utf8.firstRange(of: "]:".utf8) != nil || text.parts(at: ":").count == 2
            guard text.has("/") || hasPort else { return text }
            var advice = "A host is a name or an address alone, without scheme, port or path."
            let url = URL(string: text.utf8.firstRange(of: "//".utf8) != nil ? text : "//\(text)")
            if let url, let host = url.host {
                advice += " Write --host \(host)\(url.port.map { " --port \($0)" } ?? "")."
            }
            throw ValidationError(advice)
        }
    }

    /// An origin as browsers write it (RFC 6454, section 6.2): scheme, host, and the port unless it is the scheme's own.
    static var origin: Self {
        Self(
            "origin", "an origin such as https://app.example",
            advice: "Write scheme, host and port only, in lower case and without a final slash."
        ) { text in
            guard let (scheme, rest) = text.cut(at: ":"), !scheme.isEmpty, rest.begins(with: "//") else { return nil }
            let host = Substring(rest.utf8.dropFirst(2))
            guard !host.isEmpty, !host.utf8.contains(where: { "/*?#@".utf8.contains($0) }),
                text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), text == text.lowercased(),
                !(scheme == "http" && host.ends(with: ":80")), !(scheme == "https" && host.ends(with: ":443"))
            else { return nil }
            return text
        }
    }

    /// A directory or a file.
    static func path(_ word: String) -> Self { Self(word, "a \(word)", parse: { $0 }) }
}

extension SettingForm where Value: CaseIterable & RawRepresentable<String> {
    /// One of the type's two values.
    static func choice(_ word: String) -> Self {
        Self(word, Value.allCases.map(\.rawValue).joined(separator: " or "), value: { Value(rawValue: $0) })
    }
}

/// A duration as it is given on the command line: a number and a unit.
struct Span: Equatable, CustomStringConvertible {
    /// How it is written, for help and errors.
    static let form = "A time is a whole number with s, m, h or d: 10s."

    private static let units: [Character: Double] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]

    static let hour = Span(seconds: 3600)
    /// As long as a session of the longest life is kept.
    static let tenYears = Span(seconds: 3650 * 86_400)

    let seconds: Double

    init(seconds: Double) {
        self.seconds = seconds
    }

    init?(_ text: String) {
        let text = text == "0" ? "0s" : text
        guard let last = text.last, let unit = Span.units[last], let number = Int(text.dropLast()), number >= 0
        else { return nil }
        seconds = Double(number) * unit
    }

    /// The bounds of the settings keep it in range.
    var milliseconds: Int { Int(seconds * 1000) }
    var duration: Duration { .milliseconds(milliseconds) }

    /// In the largest unit that divides it.
    var description: String {
        let unit = Span.units.filter { seconds > 0 && seconds.remainder(dividingBy: $0.value) == 0 }
            .max { $0.value < $1.value }
        return unit.map { "\(Int(seconds / $0.value))\($0.key)" } ?? "\(Int(seconds))s"
    }
}

/// How many of all are chosen: none, all, or a percentage.
struct Share: Equatable {
    let percent: Double

    init?(_ text: String) {
        switch text {
        case "off": percent = 0
        case "all": percent = 100
        default:
            guard text.ends(with: "%"), let percent = Double(Substring(text.utf8.dropLast())),
                (0...100).contains(percent)
            else { return nil }
            self.percent = percent
        }
    }
}

/// An amount of memory or storage as it is given on the command line.
struct ByteSize: Equatable, CustomStringConvertible {
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

    /// In the largest unit that divides it.
    var description: String {
        let unit = ByteSize.units.filter { bytes % $0.value == 0 }.max { $0.value < $1.value }
        return unit.map { "\(bytes / $0.value)\($0.key)" } ?? "\(bytes)"
    }
}
