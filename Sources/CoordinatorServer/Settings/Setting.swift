internal import ArgumentParser
internal import ByteText
internal import FoundationEssentials

/// A setting: its row in the table, and its type.
struct Setting<Value: Sendable>: Sendable {
    let row: SettingRow
    /// Throws `ValidationError`, whose message may repeat the text.
    let parse: @Sendable (String) throws -> Value

    init(
        _ name: String, _ topic: SettingTopic, _ form: SettingForm, kind: SettingRow.Kind = .value,
        default standard: SettingRow.Default, _ help: String, parse: @escaping @Sendable (String) throws -> Value
    ) {
        row = SettingRow(
            name: name, topic: topic, form: form, kind: kind, standard: standard, help: help,
            check: { text throws(ValidationError) in
                do { _ = try parse(text) } catch let error as ValidationError { throw error } catch {
                    throw ValidationError("\(error)")
                }
            })
        self.parse = parse
    }

    /// The default, as the table writes it.
    var standard: Value {
        guard case .text(let text) = row.standard, let value = try? parse(text) else {
            preconditionFailure("the table has no default of \(row.name)")
        }
        return value
    }

    /// For the option of the command line.
    var help: ArgumentHelp { row.argumentHelp }
}

/// A setting without its type: all that help, documents and the layers need.
struct SettingRow: Sendable {
    enum Kind: Sendable {
        /// One value.
        case value
        /// On the command line `--name` and `--no-name`, elsewhere true or false.
        case flag
        /// Any number of values: a flag several times, an array in a file, separated by commas in the environment.
        case list
        /// A value that is never shown. The command line and a file name a file that has it; the environment has the
        /// value or names such a file.
        case secret
    }

    enum Default: Sendable {
        /// A value as it is written in any layer.
        case text(String)
        /// Depends on the machine or on other settings; described for people.
        case described(String)
        case none
    }

    /// As the flag, without `--`: `idle-expiry`.
    let name: String
    let topic: SettingTopic
    let form: SettingForm
    let kind: Kind
    let standard: Default
    /// Whole sentences.
    let help: String
    /// Throws what is wrong with a value, in whole sentences that may repeat it.
    let check: @Sendable (String) throws(ValidationError) -> Void

    /// The name on the command line and in a file: a secret is named by its file.
    var key: String { kind == .secret ? "\(name)-file" : name }
    var flag: String { "--\(key)" }
    var variable: String { SettingRow.prefix + name.uppercased().replacing("-", with: "_") }
    /// Names a file with the secret; `nil` if this is no secret.
    var fileVariable: String? { kind == .secret ? "\(variable)_FILE" : nil }
    var variables: [String] { [variable] + (fileVariable.map { [$0] } ?? []) }

    /// Of the names of all settings in the environment, whatever the program is called.
    static let prefix = "COORDINATORD_"

    /// The default for people; `nil` if there is none.
    var standardText: String? {
        switch standard {
        case .text(let text): text
        case .described(let text): text
        case .none: nil
        }
    }

    fileprivate var argumentHelp: ArgumentHelp {
        // The library itself shows the default of a flag.
        let remark = kind == .flag ? nil : standardText.map { " (default: \($0))" }
        return ArgumentHelp("\(help)\(remark ?? "")", valueName: kind == .secret ? "file" : form.word)
    }
}

/// What a setting is about: a heading in the help, in `docs/settings.md` and in the manual page.
enum SettingTopic: String, CaseIterable, Sendable {
    case address = "Address"
    case connections = "Connections"
    case clients = "Clients"
    case store = "Store"
    case sessions = "Sessions"
    case apps = "Apps"
    case metrics = "Metrics"
    case traces = "Traces"
    case log = "Log"
    case console = "Console"
    case configuration = "Configuration"
}

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

/// Where a setting's value comes from. The layers in ascending precedence.
enum SettingOrigin: Equatable, Sendable {
    case standard
    /// The file's path.
    case file(String)
    /// The variable's name.
    case environment(String)
    /// With `--`.
    case flag(String)

    var precedence: Int {
        switch self {
        case .standard: 0
        case .file: 1
        case .environment: 2
        case .flag: 3
        }
    }

    /// The layer's name, as `config --json` prints it.
    var layer: String {
        switch self {
        case .standard: "default"
        case .file: "file"
        case .environment: "environment"
        case .flag: "flag"
        }
    }

    /// The path, the variable or the flag.
    var source: String? {
        switch self {
        case .standard: nil
        case .file(let source), .environment(let source), .flag(let source): source
        }
    }
}

/// A setting as a layer gives it.
struct SettingValue: Sendable {
    let row: SettingRow
    let origin: SettingOrigin
    /// As they are written on the command line: one, or any number for a list. A secret's is its file, unless
    /// `isSecretItself`. Empty for a default that is not written in the table.
    let texts: [String]
    /// Whether `texts` has a secret, and not a file's name.
    var isSecretItself = false

    /// The setting with its layer, for errors: `--port`, `the environment variable COORDINATORD_PORT`.
    var name: String {
        switch origin {
        case .flag(let flag): flag
        case .environment(let variable): "the environment variable \(variable)"
        case .file(let path): "\(path): \(row.key)"
        case .standard: "the default of \(row.flag)"
        }
    }

    /// What is wrong with the values, in one sentence each.
    var faults: [String] {
        texts.compactMap { text in
            guard row.kind == .secret || !text.isEmpty else { return "\(name): It is empty." }
            // Where C reads the value, it would end there.
            guard !text.utf8.contains(0) else { return "\(name): It has a NUL character." }
            do throws(ValidationError) { try row.check(text) } catch {
                // A message may repeat the value, in which only a URI can have a password.
                let isSecret =
                    row.form.mayHoldSecret && (text.has("@") || text.utf8.firstRange(of: "password".utf8) != nil)
                return "\(name): \(isSecret ? "Write \(row.form.description)." : error.message)"
            }
            return nil
        }
    }

    /// The flags that give a command line this value, if it does not have it. A secret itself is not among them, so
    /// that no error of the command line repeats it.
    var addedArguments: [String] {
        switch (origin, row.kind) {
        case (.flag, _), (.standard, _): []
        case _ where isSecretItself: []
        case (_, .flag): texts == ["true"] ? [row.flag] : ["--no-\(row.name)"]
        case (_, .value), (_, .list), (_, .secret): texts.map { "\(row.flag)=\($0)" }
        }
    }
}

extension SettingRow {
    /// A secret that the environment has itself, not in a file. It never becomes an argument, which an error
    /// could repeat.
    var secretInEnvironment: String? {
        guard kind == .secret, let text = ProcessInfo.processInfo.environment[variable], !text.isEmpty else {
            return nil
        }
        return text
    }
}
