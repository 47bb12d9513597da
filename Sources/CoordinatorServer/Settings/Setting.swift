internal import ArgumentParser

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
