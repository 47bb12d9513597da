internal import ArgumentParser
internal import NavigationAPI

/// Where clients find the server.
struct AddressOptions: ParsableArguments {
    @Option(help: Settings.host.help, transform: Settings.host.parse)
    var host = Settings.host.standard

    @Option(help: Settings.port.help, transform: Settings.port.parse)
    var port = Settings.port.standard

    @Option(help: Settings.basePath.help, transform: Settings.basePath.parse)
    var basePath: BasePath?
}
