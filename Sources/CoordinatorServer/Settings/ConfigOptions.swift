internal import ArgumentParser

/// `--config`. The file was read before the command line is parsed; the option is here for the help.
struct ConfigOptions: ParsableArguments {
    @Option(help: Settings.config.help, transform: Settings.config.parse)
    var config: String?
}
