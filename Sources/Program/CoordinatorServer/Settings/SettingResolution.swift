internal import ArgumentParser
internal import ByteText
internal import Glibc
internal import JSONCoding
internal import Sessions

/// The value of each setting of a command: from the command line, otherwise from the environment, otherwise from a
/// file, otherwise the default.
struct SettingResolution: Sendable {
    /// In the table's order.
    private(set) var values: [SettingValue]

    subscript(name: String) -> SettingValue? { values.first { $0.row.name == name } }

    /// The setting as its layer gives it.
    func given<Value>(_ setting: Setting<Value>) -> SettingValue { self[setting.row.name] ?? .standard(setting.row) }

    func value<Value>(of setting: Setting<Value>) -> Value {
        do { return try setting.read(given(setting)) } catch {
            preconditionFailure("\(setting.row.name) was found good: \(error)")
        }
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
    ///   - rows: the settings that the command has. Of other settings in the environment only the names are checked; a
    ///     file is checked as a whole.
    ///   - flags: the values on the command line, by name.
    ///   - file: the file to read; by default the one that the command line or the environment names.
    init(
        of rows: [SettingRow], flags: [String: SettingValue], environment: [String: String], file: String? = nil
    ) throws(SettingFailure) {
        var faults: [String] = []
        let variables = EnvironmentLayer.values(in: environment, faults: &faults)
        // The environment names the file also for a command that has no such flag.
        let config = Settings.Configuration().config.row.name
        let path = file ?? (flags[config] ?? variables[config])?.texts.last
        let members: [String: SettingValue]
        do throws(UnusableFile) {
            members =
                try path.map { path throws(UnusableFile) in
                    path.isEmpty ? [:] : try FileLayer.values(in: path, faults: &faults)
                } ?? [:]
        } catch {
            throw SettingFailure(code: EX_NOINPUT, reasons: [error.reason])
        }
        values = rows.map { flags[$0.name] ?? variables[$0.name] ?? members[$0.name] ?? .standard($0) }
        // A file is checked as a whole, the other layers only for the command's settings.
        let given = rows.flatMap { row in [flags[row.name], variables[row.name]].compactMap(\.self) }
        faults = given.sorted { $0.name < $1.name }.flatMap(\.faults) + faults
        if faults.isEmpty {
            for (index, value) in values.enumerated() where value.texts.isEmpty {
                if let text = value.row.derived?(self) { values[index].texts = [text] }
            }
            faults = contradictions
        }
        guard faults.isEmpty else { throw SettingFailure(code: EX_USAGE, reasons: faults) }
    }

    /// Conflicts between settings, one sentence each.
    private var contradictions: [String] {
        let all = Settings()
        var faults: [String] = []

        let store = all.storage.store
        let choice = value(of: store.location)
        do { try choice.validate() } catch { faults.append("\(given(store.location).name): \(error)") }
        faults += store.database.conflicts(in: self) + all.storage.shared.conflicts(in: self)
        faults += unused(
            all.storage.storeSize, without: store.location, unless: !choice.isPostgres,
            "is for a store in memory or in a file, not for PostgreSQL.")
        faults += unused(
            all.storage.durability, without: store.location, unless: choice != .memory,
            "is for a store that outlives the process, not for one in memory.")
        faults += unused(
            all.apps.data.directory, without: store.location, unless: choice != .memory,
            "is for a store that outlives the process; with one in memory, apps store no data.")

        let lifetimes = all.sessions.lifetimes
        faults += unused(
            lifetimes.idleExpiry, without: lifetimes.absoluteExpiry,
            unless: value(of: lifetimes.idleExpiry).seconds <= value(of: lifetimes.absoluteExpiry).seconds,
            "is longer than --absolute-expiry, after which a session ends anyway.")

        let adminPort = value(of: all.admin.adminPort)
        faults += unused(
            all.admin.adminHost, without: all.admin.adminPort, unless: adminPort != nil, "is for --admin-port.")
        if let adminPort, adminPort != 0, adminPort == value(of: all.address.port) {
            faults.append("\(given(all.admin.adminPort).name) is the port of the API, too; choose another.")
        }

        let requests = all.connections.requestsSize
        if value(of: requests).bytes < 4 * value(of: all.connections.bodySize).bytes {
            faults.append(
                "\(given(requests).name) is less than four times --body-size, and an address has a quarter.")
        }

        let accessLevel = value(of: all.log.logLevel).level(of: AccessLog.label)
        faults += unused(
            all.log.accessLog, without: all.log.logLevel,
            unless: value(of: all.log.accessLog).percent == 0 || accessLevel <= AccessLog.level,
            "writes lines of level \(AccessLog.level), which --log-level leaves out; add access=\(AccessLog.level) to it."
        )
        return faults + all.traces.conflicts(in: self) + all.console.conflicts(in: self)
    }

    /// The fault that a setting has no effect because of another one. There is none if a layer of higher precedence
    /// sets the other one: a flag may name another store than the environment, which also has a password.
    func unused<Value, Other>(
        _ setting: Setting<Value>, without other: Setting<Other>, unless isUsed: Bool, _ reason: String
    ) -> [String] {
        let (value, other) = (given(setting), given(other))
        guard !isUsed, value.layer != .default, value.layer.rawValue >= other.layer.rawValue else { return [] }
        return ["\(value.name) \(reason)"]
    }
}

extension SettingValue {
    fileprivate static func standard(_ row: SettingRow) -> SettingValue {
        SettingValue(row: row, layer: .default, source: nil, texts: row.standard.map { [$0] } ?? [])
    }
}

/// The settings in the environment. An empty variable counts as one that is not set.
enum EnvironmentLayer {
    /// - Parameter faults: receives what is wrong with names; values are not checked.
    static func values(in environment: [String: String], faults: inout [String]) -> [String: SettingValue] {
        let variables = environment.filter { name, value in
            !value.isEmpty && name.begins(with: SettingRow.prefix) && !OtherVariables.isServiceLink(name, value)
        }
        var values: [String: SettingValue] = [:]
        for row in Settings.all {
            let names = row.variables.filter { variables[$0] != nil }
            guard let name = names.first, let text = variables[name] else { continue }
            if names.count > 1 {
                faults.append("the environment variables \(names.joined(separator: " and ")) exclude each other.")
            }
            values[row.name] = SettingValue(
                row: row, layer: .environment, source: name,
                // An empty element is kept, so that it is reported as a fault.
                texts: row.kind == .list ? text.parts(at: ",").map { String($0.trimmed) } : [text],
                isSecretItself: row.kind == .secret && name == row.variable)
        }
        let port = Settings.Address().port.row
        if values[port.name] == nil, let text = environment[OtherVariables.port], !text.isEmpty {
            values[port.name] = SettingValue(
                row: port, layer: .environment, source: OtherVariables.port, texts: [text])
        }
        let known = Settings.all.flatMap(\.variables)
        for name in variables.keys.sorted() where !(known + OtherVariables.all.map(\.0)).contains(name) {
            faults.append("the environment variable \(name): there is no such setting\(known.suggestion(for: name))")
        }
        return values
    }
}

/// The settings in a file: a JSON object with the settings' names.
enum FileLayer {
    /// - Parameter faults: receives what is wrong with the file, one sentence each.
    static func values(in path: String, faults: inout [String]) throws(UnusableFile) -> [String: SettingValue] {
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
            guard let row = Settings.all.first(where: { $0.key == member.name && $0.name != config }) else {
                faults.append("\(path): \(member.name.printable): \(remark(on: member.name))")
                continue
            }
            guard let texts = row.texts(member.value) else {
                faults.append("\(path): \(member.name): It must be \(row.jsonForm).")
                continue
            }
            let value = SettingValue(row: row, layer: .file, source: path, texts: texts)
            faults += value.faults
            values[row.name] = value
        }
        return values
    }

    private static var config: String { Settings.Configuration().config.row.name }

    private static func remark(on name: String) -> String {
        if name == config { return "a file cannot name another one." }
        if let secret = Settings.all.first(where: { $0.kind == .secret && $0.name == name }) {
            return "a secret does not stand in this file; write \(secret.key), the name of a file that has it."
        }
        let known = Settings.all.map(\.key).filter { $0 != config }
        return "there is no such setting\(known.suggestion(for: name))"
    }
}

extension SettingRow {
    /// The value of a file's member as the command line has it; `nil` if it has the wrong type.
    fileprivate func texts(_ json: JSON) -> [String]? {
        switch kind {
        case .list:
            guard let elements = json.array else { return nil }
            let texts = elements.compactMap(\.string)
            return texts.count == elements.count ? texts : nil
        case .flag: if case .bool(let value) = json { return ["\(value)"] } else { return nil }
        case .number: return json.integer.map { ["\($0)"] }
        case .size: return (json.string ?? json.integer.map { "\($0)" }).map { [$0] }
        case .text, .time, .secret: return json.string.map { [$0] }
        }
    }

    /// The types that `texts` accepts.
    fileprivate var jsonForm: String {
        switch kind {
        case .list: "an array of strings"
        case .flag: "true or false"
        case .number: "a whole number"
        case .size: "a string, or a number of bytes"
        case .text, .time, .secret: "a string"
        }
    }

    /// The inverse of `texts`, for `config --json`.
    func json(_ texts: [String]) -> JSON {
        switch kind {
        case .list: .array(texts.map { .string($0) })
        case .flag: .bool(texts == ["true"])
        case .number: texts.first.flatMap { Int($0) }.map { .integer($0) } ?? .null
        case .size, .text, .time, .secret: texts.first.map { .string($0) } ?? .null
        }
    }
}

extension JSONSyntaxError {
    /// What is wrong, and where. It repeats nothing of the file.
    fileprivate func sentence(in bytes: [UInt8]) -> String {
        let lines = bytes.prefix(offset).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let column = String(decoding: lines.last ?? [], as: UTF8.self).count + 1
        return "line \(lines.count), column \(column): the file \(reason)."
    }
}

/// Variables in the environment that have the prefix of settings and are not settings.
enum OtherVariables {
    /// Each with what it is.
    static let all = [
        (AddressFile.variable, "the file to which `serve` writes its address, and where `health` reads it"),
        ("COORDINATORD_SERVER", "for this project's tests: the server under test"),
        ("COORDINATORD_TORTURE", "for this project's tests: how long they last"),
        ("COORDINATORD_CLUSTERS", "for this project's scripts: where PostgreSQL clusters are made"),
        ("COORDINATORD_FUZZING", "for building this project's fuzzer"),
        ("COORDINATORD_SANITIZED", "for building with a sanitizer, which has its own allocator: without jemalloc"),
    ]

    /// The variable that some platforms set to the port that a program is to listen on.
    static let port = "PORT"

    /// Whether Kubernetes has set the variable for a service whose name begins with `coordinatord`, in the form of
    /// Docker's links: COORDINATORD_SERVICE_HOST, COORDINATORD_PORT=tcp://10.0.0.1:80, COORDINATORD_PORT_80_TCP_ADDR.
    static func isServiceLink(_ name: String, _ value: String) -> Bool {
        let words = name.parts(at: "_").dropFirst()
        return zip(words, words.dropFirst() + [""]).contains { word, next in
            switch word {
            case "SERVICE": next == "HOST" || next == "PORT"
            case "PORT": Int(next) != nil || next.isEmpty && value.utf8.firstRange(of: "://".utf8) != nil
            default: false
            }
        }
    }
}

extension Sequence<String> {
    /// The end of an error: “; did you mean …?” with the name that was probably meant, if one is near enough.
    fileprivate func suggestion(for name: String) -> String {
        let name = name.lowercased()
        let near = map { (name: $0, distance: $0.lowercased().editDistance(to: name)) }
            .min { $0.distance < $1.distance }
        guard let near, near.distance <= Swift.max(2, name.count / 4) else { return "." }
        return "; did you mean \(near.name)?"
    }
}
