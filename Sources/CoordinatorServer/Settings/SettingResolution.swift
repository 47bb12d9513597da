internal import ArgumentParser
internal import ByteText
internal import Glibc
internal import JSONCoding
internal import Sessions

/// The value of each setting of a command: from the command line, otherwise from the environment, otherwise from a
/// file, otherwise the default.
struct SettingResolution: Sendable {
    /// In the table's order.
    let values: [SettingValue]

    /// Of the command that runs.
    @TaskLocal static var current = SettingResolution(values: [])

    subscript(name: String) -> SettingValue? { values.first { $0.row.name == name } }

    /// The value, which the table has found good; `nil` for a default that depends on the machine.
    func value<Value>(of setting: Setting<Value>) -> Value? {
        self[setting.row.name]?.texts.last.flatMap { try? setting.parse($0) }
    }

    /// What the layers below the command line add to it.
    var arguments: [String] {
        values.flatMap(\.addedArguments)
    }
}

/// Why the settings cannot be used.
struct SettingFailure: Error {
    /// One of sysexits.h.
    let code: CInt
    /// One sentence each.
    let reasons: [String]
}

extension ExitCode {
    /// Prints the reasons to standard error.
    static func cannotUse(_ failure: SettingFailure) -> ExitCode {
        for reason in failure.reasons { StandardError.print("Error: \(reason)") }
        if failure.code == EX_USAGE {
            StandardError.print("`serve --help` lists the settings, and how they are written.")
        }
        return ExitCode(failure.code)
    }
}

extension SettingResolution {
    /// - Parameters:
    ///   - names: the settings that the command has. Of the others only the names are checked, and the file as a whole.
    ///   - arguments: the command's, without its name.
    ///   - file: the file to read; by default the one that the command line or the environment names.
    init(
        of names: [String], arguments: some Sequence<String>, environment: [String: String], file: String? = nil
    ) throws(SettingFailure) {
        var faults: [String] = []
        let flags = CommandLineLayer.values(in: arguments).filter { names.contains($0.key) }
        var variables = EnvironmentLayer.values(in: environment, faults: &faults)
        // The environment names the file also for a command that has no such flag.
        let naming = flags[Settings.config.row.name] ?? variables[Settings.config.row.name]
        variables = variables.filter { names.contains($0.key) }
        var members: [String: SettingValue] = [:]
        if let path = file ?? naming?.texts.last, !path.isEmpty {
            members = try SettingResolution.members(of: path, faults: &faults)
        }
        faults = (Array(flags.values) + Array(variables.values)).sorted { $0.name < $1.name }.flatMap(\.faults) + faults

        values = Settings.all.filter { names.contains($0.name) }.map { row in
            flags[row.name] ?? variables[row.name] ?? members[row.name] ?? .standard(row)
        }
        if faults.isEmpty { faults = contradictions }
        guard faults.isEmpty else { throw SettingFailure(code: EX_USAGE, reasons: faults) }
    }

    private static func members(
        of path: String, faults: inout [String]
    ) throws(SettingFailure) -> [String: SettingValue] {
        do throws(SmallFile.Unreadable) { return try FileLayer.values(in: path, faults: &faults) } catch {
            throw SettingFailure(code: EX_NOINPUT, reasons: [error.reason])
        }
    }

    /// What settings say against each other, one sentence each.
    private var contradictions: [String] {
        var faults: [String] = []
        let storeName = Settings.store.row.name
        if let given = self[storeName], let store = value(of: Settings.store) {
            do { try store.validate() } catch {
                faults.append("\(given.name): \((error as? ValidationError)?.message ?? "\(error)")")
            }
            faults += unused(Settings.storePassword.row, without: storeName, isUsed: store.isPostgres) {
                "is for --store \(StoreChoice.postgresForm)."
            }
            faults += unused(Settings.storeSize.row, without: storeName, isUsed: !store.isPostgres) {
                "is for a store in memory or in a file, not for PostgreSQL."
            }
        }
        let adminPort = Settings.adminPort.row
        faults += unused(
            Settings.adminHost.row, without: adminPort.name, isUsed: value(of: Settings.adminPort) != nil
        ) { "is for \(adminPort.flag)." }
        if let admin = self[Settings.adminPort.row.name], admin.origin != .standard,
            let port = value(of: Settings.adminPort), port != 0, port == value(of: Settings.port)
        {
            faults.append("\(admin.name) is the port of the API, too; choose another.")
        }
        if let requests = value(of: Settings.requestsSize), let body = value(of: Settings.bodySize),
            requests.bytes < 4 * body.bytes
        {
            let (given, other) = (Settings.requestsSize.row, Settings.bodySize.row)
            faults.append(
                "\(self[given.name]?.name ?? given.flag) is less than four times \(other.flag), and an address has a quarter."
            )
        }
        let isTraced = value(of: Settings.traceEndpoint) != nil
        for row in [Settings.traceSample.row, Settings.traceService.row] {
            faults += unused(row, without: Settings.traceEndpoint.row.name, isUsed: isTraced) {
                "is for \(Settings.traceEndpoint.row.flag)."
            }
        }
        let token = Settings.consoleToken.row
        if let console = self[Settings.console.row.name] {
            let isDevelopment = self[Settings.development.row.name]?.texts == ["true"]
            let isOn = console.texts == ["true"]
            if isOn, self[token.name]?.origin == .standard, !isDevelopment {
                faults.append("\(console.name) needs \(token.flag), or \(token.variable) in the environment.")
            }
            faults += unused(token, without: console.row.name, isUsed: isOn || isDevelopment) { "is for --console." }
        }
        return faults
    }

    /// A setting that has no effect because of another one. This is no fault if a layer of higher precedence has
    /// changed the other one, as when a flag names another store than the environment does, with its password.
    private func unused(
        _ row: SettingRow, without other: String, isUsed: Bool, _ reason: () -> String
    ) -> [String] {
        guard !isUsed, let value = self[row.name], let other = self[other], value.origin != .standard,
            value.origin.precedence >= other.origin.precedence
        else { return [] }
        return ["\(value.name) \(reason())"]
    }
}

extension SettingValue {
    fileprivate static func standard(_ row: SettingRow) -> SettingValue {
        guard case .text(let text) = row.standard else { return SettingValue(row: row, origin: .standard, texts: []) }
        return SettingValue(row: row, origin: .standard, texts: [text])
    }
}

/// The settings among the arguments of a command. The parser of the command line reads them, too; here they are needed
/// before, because what they leave out comes from the other layers.
enum CommandLineLayer {
    static func values(in arguments: some Sequence<String>) -> [String: SettingValue] {
        var values: [String: SettingValue] = [:]
        var rest = Array(arguments.prefix { $0 != "--" })[...]
        while let argument = rest.popFirst() {
            let parts = argument.parts(at: "=", limit: 2).map(String.init)
            guard let (row, isNegated) = row(of: parts[0]) else { continue }
            var texts = parts.count > 1 ? [parts[1]] : []
            if row.kind == .flag {
                texts = [isNegated ? "false" : "true"]
            } else if texts.isEmpty, let next = rest.first, !next.begins(with: "-") {
                texts = [next]
                rest.removeFirst()
            }
            let before = row.kind == .list ? values[row.name]?.texts ?? [] : []
            values[row.name] = SettingValue(row: row, origin: .flag(parts[0]), texts: before + texts)
        }
        return values
    }

    private static func row(of flag: String) -> (row: SettingRow, isNegated: Bool)? {
        for row in Settings.all {
            if row.flag == flag { return (row, false) }
            if row.kind == .flag, "--no-\(row.name)" == flag { return (row, true) }
        }
        return nil
    }
}

/// The settings in the environment. An empty variable counts as one that is not set.
enum EnvironmentLayer {
    /// - Parameter faults: receives what is wrong with names; values are not judged.
    static func values(in environment: [String: String], faults: inout [String]) -> [String: SettingValue] {
        var values: [String: SettingValue] = [:]
        let variables = environment.filter { name, value in
            !value.isEmpty && name.begins(with: SettingRow.prefix) && !OtherVariables.isServiceLink(name, value)
        }
        for row in Settings.all {
            let texts = row.variables.compactMap { name in variables[name].map { (name: name, text: $0) } }
            guard let first = texts.first else { continue }
            if texts.count > 1 {
                faults.append(
                    "the environment variables \(texts.map(\.name).joined(separator: " and ")) exclude each other.")
            }
            values[row.name] = SettingValue(
                row: row, origin: .environment(first.name),
                texts: row.kind == .list ? list(first.text) : [first.text],
                isSecretItself: row.kind == .secret && first.name == row.variable)
        }
        let port = Settings.port.row
        if values[port.name] == nil, let text = environment[OtherVariables.port], !text.isEmpty {
            values[port.name] = SettingValue(row: port, origin: .environment(OtherVariables.port), texts: [text])
        }
        let known = Settings.all.flatMap(\.variables)
        for name in variables.keys.sorted() where !known.contains(name) {
            guard !OtherVariables.all.contains(where: { $0.0 == name }) else { continue }
            faults.append(
                "the environment variable \(name): there is no such setting\(known.suggestion(for: name))")
        }
        return values
    }

    /// An empty element stays, and is a fault of the value.
    private static func list(_ text: String) -> [String] {
        text.parts(at: ",").map { String($0.trimmed) }
    }
}

/// The settings in a file: a JSON object with the settings' names.
enum FileLayer {
    /// - Parameter faults: receives what is wrong with the file, one sentence each.
    static func values(in path: String, faults: inout [String]) throws(SmallFile.Unreadable) -> [String: SettingValue] {
        let bytes = try SmallFile.bytes(of: path)
        let json: JSON
        do throws(JSONSyntaxError) { json = try JSON(parsing: bytes) } catch {
            faults.append("\(path): \(error.sentence(in: bytes))")
            return [:]
        }
        guard let object = json.object else {
            faults.append("\(path): It must be a JSON object, such as {\"port\": 8080}.")
            return [:]
        }
        var values: [String: SettingValue] = [:]
        for member in object.members {
            guard let row = row(named: member.name, path: path, faults: &faults) else { continue }
            guard let texts = row.texts(member.value) else {
                faults.append("\(path): \(member.name): It must be \(row.jsonForm).")
                continue
            }
            let value = SettingValue(row: row, origin: .file(path), texts: texts)
            faults += value.faults
            values[row.name] = value
        }
        return values
    }

    private static func row(named name: String, path: String, faults: inout [String]) -> SettingRow? {
        let rows = Settings.all.filter { $0.name != Settings.config.row.name }
        if let row = rows.first(where: { $0.key == name }) { return row }
        let remark: String
        if name == Settings.config.row.name {
            remark = "a file cannot name another one."
        } else if let secret = rows.first(where: { $0.kind == .secret && $0.name == name }) {
            remark = "a secret does not stand in this file; write \(secret.key), the name of a file that has it."
        } else {
            remark = "there is no such setting\(rows.map(\.key).suggestion(for: name))"
        }
        faults.append("\(path): \(name.printable): \(remark)")
        return nil
    }
}

extension SettingRow {
    /// The value as the command line has it; `nil` if it has the wrong type.
    fileprivate func texts(_ json: JSON) -> [String]? {
        switch (kind, form) {
        case (.list, _):
            guard let elements = json.array else { return nil }
            let texts = elements.compactMap(\.string)
            return texts.count == elements.count ? texts : nil
        case (.flag, _):
            guard case .bool(let value) = json else { return nil }
            return ["\(value)"]
        case (_, .number):
            return json.integer.map { ["\($0)"] }
        case (_, .size):
            return (json.string ?? json.integer.map { "\($0)" }).map { [$0] }
        default:
            return json.string.map { [$0] }
        }
    }

    /// The types that `texts` accepts.
    var jsonForm: String {
        switch (kind, form) {
        case (.list, _): "an array of strings"
        case (.flag, _): "true or false"
        case (_, .number): "a whole number"
        case (_, .size): "a string, or a number of bytes"
        default: "a string"
        }
    }

    /// The other way round, for `config --json`.
    func json(_ texts: [String]) -> JSON {
        switch (kind, form) {
        case (.list, _): .array(texts.map { .string($0) })
        case (.flag, _): .bool(texts == ["true"])
        case (_, .number): texts.first.flatMap { Int($0) }.map { .integer($0) } ?? .null
        default: texts.first.map { .string($0) } ?? .null
        }
    }
}

extension JSONSyntaxError {
    /// What is wrong, and where. It repeats nothing of the file but a name that occurs twice.
    fileprivate func sentence(in bytes: [UInt8]) -> String {
        let before = bytes.prefix(offset)
        let line = before.count { $0 == UInt8(ascii: "\n") } + 1
        let column =
            String(decoding: before.reversed().prefix { $0 != UInt8(ascii: "\n") }.reversed(), as: UTF8.self)
            .count + 1
        let what =
            switch reason {
            case .unexpectedByte: "this is no JSON"
            case .unexpectedEnd: "the file ends too early"
            case .trailingBytes: "something follows the object"
            case .duplicateName: "\(name(in: bytes)) occurs twice"
            case .nestedTooDeep: "it is nested too deep"
            case .invalidUTF8, .loneSurrogate: "this is no UTF-8"
            case .controlCharacter: "a control character must be escaped"
            case .invalidEscape: "there is no such escape"
            case .invalidNumber: "this is no number"
            }
        return "line \(line), column \(column): \(what)."
    }

    /// The text in quotation marks that begins at the fault.
    private func name(in bytes: [UInt8]) -> String {
        let text = bytes.dropFirst(offset + 1).prefix { $0 != UInt8(ascii: "\"") }
        return String(decoding: text.prefix(80), as: UTF8.self).printable
    }
}

/// Variables of the environment that begin as settings do, and are none.
enum OtherVariables {
    /// Each with what it is.
    static let all = [
        (AddressFile.variable, "the file to which `serve` writes its address, and where `health` reads it"),
        ("COORDINATORD_SERVER", "for this project's tests: the server under test"),
        ("COORDINATORD_TORTURE", "for this project's tests: how long they last"),
        ("COORDINATORD_CLUSTERS", "for this project's scripts: where PostgreSQL clusters are made"),
        ("COORDINATORD_FUZZING", "for building this project's fuzzer"),
    ]

    /// What platforms set to the port that a program is to listen on.
    static let port = "PORT"

    /// Whether Kubernetes has set the variable for a service whose name begins with `coordinatord`, in the form of
    /// Docker's links: COORDINATORD_SERVICE_HOST, COORDINATORD_PORT=tcp://10.0.0.1:80, COORDINATORD_PORT_80_TCP_ADDR.
    static func isServiceLink(_ name: String, _ value: String) -> Bool {
        if name.ends(with: "_PORT"), ["tcp://", "udp://", "sctp://"].contains(where: value.begins) { return true }
        let words = name.parts(at: "_")
        if let index = words.lastIndex(of: "SERVICE"), index > 0, index + 1 < words.count {
            if words[index + 1] == "PORT" || words[(index + 1)...] == ["HOST"] { return true }
        }
        guard let protocolIndex = words.lastIndex(where: { ["TCP", "UDP", "SCTP"].contains($0) }), protocolIndex >= 2,
            Int(words[protocolIndex - 1]) != nil, words[protocolIndex - 2] == "PORT"
        else { return false }
        let rest = words[(protocolIndex + 1)...]
        return rest.isEmpty || rest == ["ADDR"] || rest == ["PORT"] || rest == ["PROTO"]
    }
}

extension Sequence<String> {
    /// The name that was probably meant, if one is near enough.
    func nearest(to name: String) -> String? {
        let near = map { (name: $0, distance: $0.distance(to: name)) }.min { $0.distance < $1.distance }
        guard let near, near.distance <= Swift.max(2, name.count / 4) else { return nil }
        return near.name
    }

    /// The end of an error: “; did you mean …?”, or nothing.
    func suggestion(for name: String) -> String {
        nearest(to: name).map { "; did you mean \($0)?" } ?? "."
    }
}

extension String {
    /// How many characters have to be inserted, removed or replaced (Levenshtein).
    fileprivate func distance(to other: String) -> Int {
        // What is longer than any name is near to none.
        let (here, there) = (Array(lowercased().prefix(80)), Array(other.lowercased().prefix(80)))
        var row = Array(0...there.count)
        for (index, character) in here.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for column in there.indices {
                let replaced = diagonal + (there[column] == character ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = Swift.min(replaced, diagonal + 1, row[column] + 1)
            }
        }
        return row[there.count]
    }
}
