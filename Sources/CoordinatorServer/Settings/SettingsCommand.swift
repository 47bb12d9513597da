public import ArgumentParser

/// A command that has some of the server's settings as options. What its command line leaves out comes from the
/// environment, a file or the defaults, as for `serve`.
///
/// The option's name and type are the setting's: `@Option var dataDirectory = "data"` for `data-directory`.
public protocol SettingsCommand: ParsableCommand {
    /// The names of the settings, as in `docs/settings.md`.
    static var settings: [String] { get }
}

extension SettingsCommand {
    /// For a command that takes a file with settings and has a stored store.
    static var storeSettings: [String] {
        [Settings.store.row.name, Settings.storePassword.row.name, Settings.config.row.name]
    }
}

extension ServerCommand {
    /// Runs the command line, completed with the settings of the other layers.
    @concurrent
    static func main(_ arguments: [String], environment: [String: String]) async {
        let (depth, command) = commandNamed(arguments[...])
        // Help is there even if the environment is wrong.
        let questions = ["--help", "-h", "-help", "--version", "--help-hidden"]
        guard let command, !arguments.contains(where: questions.contains) else { return await main(arguments) }
        let own = arguments[depth...]
        do throws(SettingFailure) {
            let resolution = try SettingResolution(of: command.settings, arguments: own, environment: environment)
            let completed = arguments[..<depth] + resolution.arguments + own
            await SettingResolution.$current.withValue(resolution) { await main(Array(completed)) }
        } catch {
            exit(withError: ExitCode.cannotUse(error))
        }
    }

    /// - Returns: how many words name the subcommand, and the subcommand if it has settings.
    private static func commandNamed(_ words: ArraySlice<String>) -> (depth: Int, (any SettingsCommand.Type)?) {
        var command: any ParsableCommand.Type = self
        var depth = 0
        while let word = words.dropFirst(depth).first,
            let next = command.configuration.subcommands.first(where: { $0._commandName == word })
        {
            command = next
            depth += 1
        }
        return (depth, command as? any SettingsCommand.Type)
    }
}
