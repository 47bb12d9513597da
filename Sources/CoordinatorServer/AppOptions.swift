internal import ArgumentParser

/// What the apps are made with.
struct AppOptions: ParsableArguments {
    @Flag(inversion: .prefixedNo, help: Settings.development.help)
    var development = false

    @Option(help: Settings.dataDirectory.help, transform: Settings.dataDirectory.parse)
    var dataDirectory = Settings.dataDirectory.standard
}
