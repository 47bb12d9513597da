internal import ArgumentParser
internal import ByteText

/// A setting: its row in the table, and how its value is read.
struct Setting<Value: Sendable>: SettingPart {
    let row: SettingRow
    /// Converts a value that the row has checked.
    let read: @Sendable (SettingValue) throws -> Value

    var rows: [SettingRow] { [row] }
}

extension Setting {
    /// One value.
    init(_ name: String, _ form: SettingForm<Value>, default standard: String, _ help: String) {
        self.init(SettingRow(name: name, form: form.erased, standard: standard, help: help), form)
    }

    /// One value, whose default depends on the machine or on other settings.
    ///
    /// - Parameters:
    ///   - unset: the default, for people.
    ///   - derived: the default as it is written in any layer, from the other settings.
    init(
        _ name: String, _ form: SettingForm<Value>, unset: String,
        derived: @escaping @Sendable (SettingResolution) -> String, _ help: String
    ) {
        self.init(SettingRow(name: name, form: form.erased, unset: unset, derived: derived, help: help), form)
    }

    private init(_ row: SettingRow, _ form: SettingForm<Value>) {
        self.row = row
        read = { value in
            guard let text = value.texts.last else { throw ValidationError("It is empty.") }
            return try form.parse(text)
        }
    }

    /// One value or none.
    ///
    /// - Parameters:
    ///   - unset: the meaning of no value, for people.
    ///   - derived: the default as it is written in any layer, from the other settings; `nil` for none.
    init<Wrapped>(
        _ name: String, _ form: SettingForm<Wrapped>, unset: String? = nil,
        derived: (@Sendable (SettingResolution) -> String?)? = nil, _ help: String
    ) where Value == Wrapped? {
        row = SettingRow(name: name, form: form.erased, unset: unset, derived: derived, help: help)
        read = { value in try value.texts.last.map(form.parse) }
    }

    /// Any number of values: a flag several times, an array in a file, separated by commas in the environment.
    init<Element>(list name: String, _ form: SettingForm<Element>, _ help: String) where Value == [Element] {
        row = SettingRow(name: name, form: form.erased(as: .list), help: help)
        read = { value in try value.texts.map(form.parse) }
    }
}

extension Setting<Bool> {
    /// False by default. On the command line `--name` and `--no-name`, elsewhere true or false.
    init(flag name: String, _ help: String) { self.init(name, .flag, default: "false", help) }
}

extension Setting<Secret?> {
    /// A value that is never shown. The command line and a file name a file that has it; the environment has the
    /// value or names such a file.
    init(secret name: String, unset: String, _ help: String) {
        let form = SettingForm("file", "a file", kind: .secret, mayHoldSecret: true) { $0 }
        row = SettingRow(name: name, form: form.erased, unset: unset, help: help)
        read = { value in value.texts.first.map { value.isSecretItself ? .text($0) : .file($0) } }
    }
}

/// A secret, or the path of the file that has it.
enum Secret { case text(String), file(String) }

/// A setting without the type of its value: all that flags, documents and the layers need.
struct SettingRow: Sendable {
    /// As the flag, without `--`: `idle-expiry`.
    let name: String
    let form: SettingForm<any Sendable>
    /// The default as it is written in any layer; `nil` if there is none or it depends on the machine.
    var standard: String?
    /// The meaning of no value, for people.
    var unset: String?
    /// The default that depends on the machine or on other settings, as it is written in any layer.
    var derived: (@Sendable (SettingResolution) -> String?)?
    /// Whole sentences.
    let help: String

    var kind: SettingKind { form.kind }
    /// The name on the command line and in a file: a secret is named by its file.
    var key: String { kind == .secret ? "\(name)-file" : name }
    var flag: String { "--\(key)" }
    /// The name in the environment. It does not depend on the program's name.
    var variable: String { SettingRow.prefix + name.uppercased().replacing("-", with: "_") }
    var variables: [String] { kind == .secret ? [variable, "\(variable)_FILE"] : [variable] }

    static let prefix = "COORDINATORD_"

    /// The default for people; `nil` if there is none.
    var defaultText: String? { standard ?? unset }
    /// The bounds of a time, for the help; `nil` for every other value.
    var bounds: String? { kind == .time ? form.description : nil }
}

/// A place that settings come from, in ascending precedence.
enum SettingLayer: Int { case `default`, file, environment, flag }

/// A setting as a layer gives it.
struct SettingValue: Sendable {
    let row: SettingRow
    let layer: SettingLayer
    /// The file's path, the variable, or the flag with `--`; `nil` for a default.
    let source: String?
    /// The values as they are written on the command line: one, or any number for a list. For a secret, its file's name
    /// unless `isSecretItself`. Empty if there is no value.
    var texts: [String]
    /// Whether `texts` has a secret, not a file's name.
    var isSecretItself = false

    /// The setting with its layer, for errors: `--port`, `the environment variable COORDINATORD_PORT`.
    var name: String {
        switch layer {
        case .flag: source ?? row.flag
        case .environment: "the environment variable \(source ?? row.variable)"
        case .file: "\(source ?? ""): \(row.key)"
        case .default: "the default of \(row.flag)"
        }
    }

    /// What is wrong with the values, in one sentence each.
    var faults: [String] {
        texts.compactMap { text in
            guard !text.isEmpty else { return "\(name): It is empty." }
            // C would read only what precedes the NUL.
            guard !text.utf8.contains(0) else { return "\(name): It has a NUL character." }
            do { _ = try row.form.parse(text) } catch {
                // A message may repeat the value, in which only a URI can have a password.
                let isSecret =
                    row.form.mayHoldSecret && (text.has("@") || text.utf8.firstRange(of: "password".utf8) != nil)
                return "\(name): \(isSecret ? "Write \(row.form.description)." : "\(error)")"
            }
            return nil
        }
    }
}
