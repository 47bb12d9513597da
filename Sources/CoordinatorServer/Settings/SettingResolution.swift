internal import ArgumentParser
internal import Glibc
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
