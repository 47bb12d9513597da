#if Complete
internal import ArgumentParser
internal import Coordinators
internal import CoordinatorsTesting
internal import Logging
internal import NavigationAPI
internal import Sessions

extension Settings {
    /// The console at `/console`.
    struct Console: SettingGroup {
        static let title = "Console"

        let console = Setting(
            flag: "console",
            """
            Serves a page for people at /console, on --admin-port. With --development there is one on the port of the \
            API anyway.
            """)
        let publicConsole = Setting(
            flag: "public-console",
            "Serves the console on the port of the API instead, where everybody can reach it who is not kept from it.")
        let consoleToken = Setting(
            secret: "console-token", unset: "with --development, one is made and printed",
            """
            A file with the tokens for the operator's part of it: all sessions, and the server's figures. Each line has \
            a name, for the audit log, and a token of at least \(KeyFile.Form.operators.lengths.lowerBound) characters, \
            or only a token, whose name is operator. It is read again when it changes.
            """)

        func conflicts(in settings: SettingResolution) -> [String] {
            let isDevelopment = settings.value(of: Apps().development)
            let isServed = settings.value(of: console)
            var conflicts = settings.unused(
                consoleToken, without: console, unless: isServed || isDevelopment, "is for --console.")
            if isServed, !isDevelopment, settings.given(consoleToken).layer == .default {
                let row = consoleToken.row
                conflicts.append(
                    "\(settings.given(console).name) needs \(row.flag), or \(row.variable) in the environment.")
            }
            let (isPublic, adminPort) = (settings.value(of: publicConsole), Admin().adminPort)
            if isServed, !isDevelopment, !isPublic, settings.value(of: adminPort) == nil {
                conflicts.append(
                    """
                    \(settings.given(console).name) needs \(adminPort.row.flag), a port that only operators reach, or \
                    \(publicConsole.row.flag), for everybody to reach the console.
                    """)
            }
            let logLevel = Log().logLevel
            if isServed, settings.value(of: logLevel).level(of: AuditLog.label) > AuditLog.level {
                conflicts.append(
                    """
                    \(settings.given(logLevel).name) leaves out the audit log of \(console.row.flag); add \
                    \(AuditLog.label)=\(AuditLog.level) to it.
                    """)
            }
            conflicts += settings.unused(
                publicConsole, without: console, unless: isServed || isDevelopment || !isPublic, "is for --console.")
            return conflicts
        }
    }
}

extension SettingValues<Settings.Console> {
    /// - Returns: `nil` if there is no console; `remark` contains the token if one was made for this start; `keyFile` is
    ///   to be followed.
    func settings(
        of server: String, apps: [App], isDevelopment: Bool
    ) throws -> (settings: ConsoleSettings, remark: String, keyFile: KeyFile?)? {
        guard self.console || isDevelopment else { return nil }
        let read = try keys()
        let made = read == nil ? SessionToken.random().text : nil
        let settings = ConsoleSettings(
            server: server, isDevelopment: isDevelopment, isPublic: isDevelopment || self.publicConsole,
            operators: read ?? KeyTable(made.map { [$0: "operator"] } ?? [:]), audit: AuditLog().report
        ) { name in
            // Exploring an app calls its handlers, so it is done only with development dependencies.
            guard isDevelopment, let app = apps.first(where: { $0.name == name }) else { return nil }
            let map = try? await AppMap(exploring: app, limit: 500) { (run) async throws(NavigationError) in
                try await result(of: run, CallWatch(limit: .seconds(1)))
            }
            return map?.drawn(as: .json, withBuiltIn: true)
        }
        return (settings, made.map { " (the operator's token: \($0))" } ?? "", read as? KeyFile)
    }

    /// - Returns: the operators' keys; `nil` if none are given.
    /// - Throws: an exit code, after printing what is wrong with a key or its file.
    func keys() throws -> (any NamedKeys)? {
        switch self.consoleToken {
        case nil: return nil
        case .file(let file): return try KeyFile(file, .operators, Logger(label: AuditLog.label))
        case .text(let secret):
            let place = resolution.given(Settings.Console().consoleToken).name
            do throws(UnusableFile) {
                return try KeyFile.Form.operators.keys(from: secret, of: place)
            } catch {
                throw ExitCode.cannotStart(error.exitCode, error.reason)
            }
        }
    }
}
#endif
