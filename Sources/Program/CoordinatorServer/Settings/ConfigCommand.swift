internal import ArgumentParser
internal import ByteText
internal import FoundationEssentials
internal import JSONCoding

/// `config`: shows the settings that `serve` would have.
struct ConfigCommand<Server: NavigationServer>: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "config",
            abstract: "Prints the settings that `serve` would have, and where each comes from.",
            discussion: """
                Takes the flags of `serve`, and reads the same environment and file. Secrets are not shown. With \
                --check, reports what another file would change; if `serve` would refuse that file or a secret, the \
                exit code is that of `serve`.
                """)
    }

    @Option(
        help: ArgumentHelp("Reports what this file would change, given as --config.", valueName: "file"),
        transform: { path in
            guard !path.isEmpty else { throw ValidationError("It is empty.") }
            return path
        })
    var check: String?

    @Flag(help: "Prints JSON.")
    var json = false

    @Flag(help: "Prints the manual page instead, for man(1).")
    var man = false

    @Flag(help: "Prints the tables of docs/settings.md instead.")
    var markdown = false

    @OptionGroup var settings: SettingOptions<Settings>

    @OptionGroup(title: "Options of the apps") var own: Server.Options

    func validate() throws {
        guard [check != nil, man, markdown].count(where: \.self) <= 1, !json || (!man && !markdown) else {
            throw ValidationError("--check, --man and --markdown exclude each other, and --json those two.")
        }
    }

    func run() throws {
        if man { return print(ManualPage<Server>().text, terminator: "") }
        if markdown { return print(SettingsDocument.tables, terminator: "") }
        let present = settings.resolution
        guard let check else { return print(json ? present.json : present.table) }
        let changed: SettingResolution
        do throws(SettingFailure) {
            changed = try SettingResolution(
                of: Settings.all, flags: settings.flags,
                environment: ProcessInfo.processInfo.environment, file: check)
        } catch {
            throw ExitCode.cannotUse(error)
        }
        try changed.checkSecrets()
        let comparison = SettingComparison(from: present, to: changed, file: check)
        print(json ? comparison.json : comparison.text)
    }
}

extension SettingValue {
    private var shownTexts: [String] { row.form.mayHoldSecret ? texts.map(\.hidingPassword) : texts }

    /// The value for people; secrets are hidden.
    var shown: String {
        if isSecretItself { return "(hidden)" }
        if texts.isEmpty { return "-" }
        return shownTexts.joined(separator: ", ").printable
    }

    /// The value's origin for people, and what a default depends on.
    var shownOrigin: String {
        if let unset = row.unset, layer == .default { return "\(layer): \(unset)" }
        return source.map { "\(layer) \($0)".printable } ?? "\(layer)"
    }

    /// The value as a file has it; `null` if there is none, or a secret.
    var jsonValue: JSON {
        if isSecretItself || texts.isEmpty && row.kind != .list { return .null }
        return row.json(shownTexts)
    }

    /// The value, its layer and the layer's source.
    func json(named: Bool = false) -> JSON {
        var object: JSONObject = named ? ["name": .string(row.key)] : [:]
        object["value"] = jsonValue
        object["origin"] = .string("\(layer)")
        if let source { object["source"] = .string(source) }
        if isSecretItself { object["hidden"] = true }
        return .object(object)
    }
}

extension SettingResolution {
    /// Reads the secrets that `serve` would read.
    ///
    /// - Throws: the exit code of `serve`, after printing what is wrong with one of them or its file.
    fileprivate func checkSecrets() throws {
        let settings = SettingValues<Settings>(resolution: self)
        _ = try settings.storage.store.password()
        _ = try settings.clients.serviceKeys()
        _ = try settings.console.settings(of: "", apps: [], isDevelopment: settings.apps.development)
    }

    /// A line for each setting: name, value, origin.
    var table: String {
        let rows = [("SETTING", "VALUE", "ORIGIN")] + values.map { ($0.row.key, $0.shown, $0.shownOrigin) }
        // A long value does not widen the column.
        let names = rows.map(\.0.count).max() ?? 0
        let widths = min(rows.map(\.1.count).max() ?? 0, 28)
        return rows.map { "\($0.0.padded(to: names))  \($0.1.padded(to: widths))  \($0.2)" }.joined(separator: "\n")
    }

    var json: String {
        JSON.object(["settings": .array(values.map { $0.json(named: true) })]).description.printable
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String {
        self + String(repeating: " ", count: Swift.max(0, width - count))
    }

    /// A URI without its passwords: the one before the host, and those among the parameters.
    var hidingPassword: String {
        guard let start = utf8.firstRange(of: "://".utf8)?.upperBound else { return self }
        var text = self
        // As libpq reads it, up to the slash: a password may contain a question mark.
        let authority = utf8[start...].prefix { $0 != UInt8(ascii: "/") }
        if let (names, host) = Substring(authority).cut(atLast: "@"), let (user, _) = names.cut(at: ":") {
            text = "\(self[..<start])\(user):***@\(host)\(self[authority.endIndex...])"
        }
        guard let (address, query) = text.cut(at: "?") else { return text }
        let parameters = query.parts(at: "&").map { parameter in
            let name = parameter.parts(at: "=")[0]
            return name.lowercased().utf8.firstRange(of: "password".utf8) == nil ? parameter : "\(name)=***"
        }
        return "\(address)?\(parameters.joined(separator: "&"))"
    }
}

/// What another file would change.
struct SettingComparison {
    /// Settings whose value would be another one.
    private let changes: [(before: SettingValue, after: SettingValue)]
    /// Values in the file that a layer of higher precedence overrides.
    private let overridden: [(value: SettingValue, by: SettingValue)]
    private let file: String

    /// - Parameters:
    ///   - present: the settings as they are.
    ///   - changed: the settings with the file, which has no faults.
    init(from present: SettingResolution, to changed: SettingResolution, file: String) {
        let pairs = zip(present.values, changed.values).filter {
            $0.0.row.name != Settings.Configuration().config.row.name
        }
        changes = pairs.filter { $0.texts != $1.texts }.map { ($0, $1) }
        var faults: [String] = []
        let members = (try? FileLayer.values(in: file, faults: &faults)) ?? [:]
        overridden = pairs.compactMap { _, after in
            guard let value = members[after.row.name], after.layer != .file, value.texts != after.texts else {
                return nil
            }
            return (value, after)
        }
        self.file = file
    }

    var text: String {
        var lines = changes.map {
            "\($0.row.key): \($0.shown) (\($0.shownOrigin)) → \($1.shown) (\($1.shownOrigin))"
        }
        if lines.isEmpty { lines = ["\(file.printable) would change nothing."] }
        lines += overridden.map {
            "\($1.row.key): stays \($1.shown) (\($1.shownOrigin)); \($0.shown) in the file has no effect"
        }
        return lines.joined(separator: "\n")
    }

    var json: String {
        JSON.object([
            "changes": .array(
                changes.map { ["name": .string($0.row.key), "before": $0.json(), "after": $1.json()] }),
            "overridden": .array(
                overridden.map { ["name": .string($1.row.key), "value": $0.jsonValue, "by": $1.json()] }),
        ]).description.printable
    }
}
