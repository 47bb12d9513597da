internal import ArgumentParser
internal import ByteText

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
