internal import ArgumentParser

/// How a setting's value is written.
enum SettingForm: Sendable {
    case number(ClosedRange<Int>)
    case size(least: ByteSize, most: ByteSize?)
    case time
    case flag
    /// Any other text.
    ///
    /// - Parameters:
    ///   - word: what it is, in one word: `host`.
    ///   - form: how it is written, for documents.
    ///   - mayHoldSecret: whether errors must not repeat it.
    case text(_ word: String, form: String, mayHoldSecret: Bool = false)

    /// In one word, for usage lines: `--port <number>`.
    var word: String {
        switch self {
        case .number: "number"
        case .size: "size"
        case .time: "time"
        case .flag: "flag"
        case .text(let word, _, _): word
        }
    }

    /// In a few words, for documents.
    var description: String {
        switch self {
        case .number(let range) where range.upperBound == .max: "a number from \(range.lowerBound)"
        case .number(let range): "a number from \(range.lowerBound) to \(range.upperBound)"
        case .size(let least, let most?): "a size from \(least) to \(most)"
        case .size(let least, nil): "a size of at least \(least)"
        case .time: "a time"
        case .flag: "true or false"
        case .text(_, let form, _): form
        }
    }

    var mayHoldSecret: Bool {
        if case .text(_, _, mayHoldSecret: true) = self { true } else { false }
    }
}

extension Setting where Value == Int {
    static func number(
        _ name: String, _ topic: SettingTopic, _ range: ClosedRange<Int>, default standard: SettingRow.Default,
        _ help: String
    ) -> Setting {
        let form = SettingForm.number(range)
        return Setting(name, topic, form, default: standard, help) { text in
            guard let number = Int(text), range.contains(number) else {
                throw ValidationError("“\(text)” is not \(form.description).")
            }
            return number
        }
    }
}

extension Setting where Value == ByteSize {
    static func size(
        _ name: String, _ topic: SettingTopic, from least: String, to most: String? = nil,
        default standard: SettingRow.Default, _ help: String
    ) -> Setting {
        // The lower bound catches a forgotten unit.
        let form = SettingForm.size(least: ByteSize(least) ?? ByteSize(1), most: most.flatMap { ByteSize($0) })
        guard case .size(let least, let most) = form else { preconditionFailure() }
        return Setting(name, topic, form, default: standard, help) { text in
            guard let size = ByteSize(text), size >= least, size <= most ?? size else {
                throw ValidationError("“\(text)” is not \(form.description). \(ByteSize.form)")
            }
            return size
        }
    }
}

extension Setting where Value == Span {
    static func time(
        _ name: String, _ topic: SettingTopic, canBeZero: Bool = false, default standard: String, _ help: String
    ) -> Setting {
        Setting(
            name, topic, .time, default: .text(standard), help, parse: canBeZero ? Span.parseOrZero : Span.parse)
    }
}

extension Setting where Value == Bool {
    static func flag(_ name: String, _ topic: SettingTopic, _ help: String) -> Setting {
        Setting(name, topic, .flag, kind: .flag, default: .text("false"), help) { text in
            switch text {
            case "true": return true
            case "false": return false
            default: throw ValidationError("“\(text)” is not true or false.")
            }
        }
    }
}

extension Setting where Value == String {
    /// A directory or a file.
    static func path(
        _ name: String, _ topic: SettingTopic, _ word: String, default standard: SettingRow.Default, _ help: String
    ) -> Setting {
        Setting(name, topic, .text(word, form: "a \(word)"), default: standard, help, parse: nonempty)
    }

    static func secret(
        _ name: String, _ topic: SettingTopic, default standard: SettingRow.Default, _ help: String
    ) -> Setting {
        let form = SettingForm.text("file", form: "a file", mayHoldSecret: true)
        return Setting(name, topic, form, kind: .secret, default: standard, help, parse: nonempty)
    }

    @Sendable private static func nonempty(_ text: String) throws -> String {
        guard !text.isEmpty else { throw ValidationError("It is empty.") }
        return text
    }
}
