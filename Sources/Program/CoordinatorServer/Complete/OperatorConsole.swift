#if Complete
internal import ArgumentParser
internal import ByteText
internal import Coordinators
internal import CoordinatorsTesting
internal import FoundationEssentials
internal import Glibc
internal import NavigationAPI
internal import Sessions

extension Settings {
    /// The console at `/console`.
    struct Console: SettingGroup {
        static let title = "Console"

        let console = Setting(flag: "console", "Serves a page for people at /console; so does --development.")
        let consoleToken = Setting(
            secret: "console-token", unset: "with --development, one is made and printed",
            """
            A file with the token for the operator's part of it: all sessions, and the server's figures. At least 16 \
            characters.
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
            return conflicts
        }
    }
}

extension SettingValues<Settings.Console> {
    /// - Returns: `nil` if there is no console; `remark` contains the token if one was made for this start.
    func settings(
        of server: String, apps: [App], isDevelopment: Bool
    ) throws -> (settings: ConsoleSettings, remark: String)? {
        guard self.console || isDevelopment else { return nil }
        let read = try token()
        let made = read == nil ? SessionToken.random().text : nil
        let settings = ConsoleSettings(
            server: server, isDevelopment: isDevelopment,
            operatorToken: read ?? made
        ) { name in
            // Exploring an app calls its handlers, so it is done only with development dependencies.
            guard isDevelopment, let app = apps.first(where: { $0.name == name }) else { return nil }
            let map = try? await AppMap(exploring: app, limit: 500) { (run) async throws(NavigationError) in
                try await result(of: run, CallWatch(limit: .seconds(1)))
            }
            return map?.drawn(as: .json, withBuiltIn: true)
        }
        return (settings, made.map { " (the operator's token: \($0))" } ?? "")
    }

    /// - Returns: `nil` if no token is given.
    /// - Throws: an exit code, after printing what is wrong with the token or its file.
    func token() throws -> String? {
        let (text, place): (String, String)
        switch self.consoleToken {
        case nil: return nil
        case .file(let file):
            place = "the file \(file) of --console-token-file"
            do throws(SmallFile.Unreadable) {
                text = String(decoding: try SmallFile.bytes(of: file), as: UTF8.self)
            } catch {
                throw ExitCode.cannotStart(EX_NOINPUT, "--console-token-file: \(error.reason)")
            }
        case .text(let secret):
            place = resolution.given(Settings.Console().consoleToken).name
            text = secret
        }
        let token = text.words
        // The head of a request must have room for it.
        let lengths = 16...512
        guard token.count == 1, lengths.contains(token[0].utf8.count),
            token[0].utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else {
            throw ExitCode.cannotStart(
                EX_DATAERR,
                "\(place) must have one token of \(lengths.lowerBound) to \(lengths.upperBound) ASCII characters")
        }
        return String(token[0])
    }
}
#endif
