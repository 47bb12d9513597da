internal import ArgumentParser
internal import MicroHTTP

/// Limits on what clients use of the server, however many and however slow they are.
struct ConnectionOptions: ParsableArguments {
    @Option(help: Settings.connections.help, transform: Settings.connections.parse)
    var connections = Settings.connections.standard

    @Option(help: Settings.connectionsPerAddress.help, transform: Settings.connectionsPerAddress.parse)
    var connectionsPerAddress = Settings.connectionsPerAddress.standard

    @Option(help: Settings.headTime.help, transform: Settings.headTime.parse)
    var headTime = Settings.headTime.standard

    @Option(help: Settings.bodyTime.help, transform: Settings.bodyTime.parse)
    var bodyTime = Settings.bodyTime.standard

    @Option(help: Settings.answerTime.help, transform: Settings.answerTime.parse)
    var answerTime = Settings.answerTime.standard

    @Option(help: Settings.idleTime.help, transform: Settings.idleTime.parse)
    var idleTime = Settings.idleTime.standard

    @Option(help: Settings.headSize.help, transform: Settings.headSize.parse)
    var headSize = Settings.headSize.standard

    @Option(help: Settings.bodySize.help, transform: Settings.bodySize.parse)
    var bodySize = Settings.bodySize.standard

    @Option(help: Settings.requestsSize.help, transform: Settings.requestsSize.parse)
    var requestsSize = Settings.requestsSize.standard

    @Option(help: Settings.answersSize.help, transform: Settings.answersSize.parse)
    var answersSize = Settings.answersSize.standard

    @Option(help: Settings.drainDelay.help, transform: Settings.drainDelay.parse)
    var drainDelay = Settings.drainDelay.standard

    @Option(help: Settings.drainTime.help, transform: Settings.drainTime.parse)
    var drainTime = Settings.drainTime.standard

    func apply(to settings: inout HTTPServer.Settings) {
        settings.connectionLimit = connections
        settings.addressLimit = connectionsPerAddress
        settings.limits.head = headTime.milliseconds
        settings.limits.body = bodyTime.milliseconds
        settings.limits.sending = answerTime.milliseconds
        settings.headLimit = headSize.bytes
        settings.bodyLimit = bodySize.bytes
        settings.receivingLimit = requestsSize.bytes
        settings.sendingLimit = answersSize.bytes
        settings.idleTimeout = idleTime.milliseconds / 1000
    }

    var drain: (delay: Duration, time: Duration) {
        (.milliseconds(drainDelay.milliseconds), .milliseconds(drainTime.milliseconds))
    }
}
