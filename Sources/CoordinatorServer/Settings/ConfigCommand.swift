internal import ArgumentParser
internal import FoundationEssentials

/// `config`: shows the settings that `serve` would have.
struct ConfigCommand<Server: NavigationServer>: AsyncParsableCommand, SettingsCommand {
    static var settings: [String] { Settings.all.map(\.name) }

    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "config",
            abstract: "Prints the settings that `serve` would have, and where each comes from.",
            discussion: """
                Takes the flags of `serve`, and reads the same environment and file. Secrets are not shown. With \
                --check, reports what another file would change; the exit code is 64 if that file is wrong.
                """)
    }

    @Option(
        help: ArgumentHelp("Reports what this file would change, given as --config.", valueName: "file"),
        transform: Settings.config.parse)
    var check: String?

    @Flag(help: "Prints JSON.")
    var json = false

    @Flag(help: "Prints the manual page instead, for man(1).")
    var man = false

    @Flag(help: "Prints all settings as Markdown instead: docs/settings.md.")
    var markdown = false

    @OptionGroup var serve: ServeOptions<Server>

    func validate() throws {
        guard [check != nil, man, markdown].count(where: \.self) <= 1, !json || (!man && !markdown) else {
            throw ValidationError("--check, --man and --markdown exclude each other, and --json those two.")
        }
    }

    func run() throws {
        if man { return print(ManualPage<Server>().text, terminator: "") }
        if markdown { return print(SettingsDocument.text, terminator: "") }
        let present = SettingResolution.current
        guard let check else { return print(json ? present.json : present.table) }
        let changed: SettingResolution
        do throws(SettingFailure) {
            changed = try SettingResolution(
                of: Self.settings, arguments: CommandLine.arguments.dropFirst(2),
                environment: ProcessInfo.processInfo.environment, file: check)
        } catch {
            throw ExitCode.cannotUse(error)
        }
        let comparison = SettingComparison(from: present, to: changed, file: check)
        print(json ? comparison.json : comparison.text)
    }
}
