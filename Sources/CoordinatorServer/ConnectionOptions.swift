internal import ArgumentParser
internal import MicroHTTP

/// What clients may take of the server, however many and however slow they are.
struct ConnectionOptions: ParsableArguments {
    @Option(help: "Connections at a time; fewer where the process may not open as many files. More wait in line.")
    var connections = 10_000

    @Option(help: "Connections at a time from one address; 0 for any number, as behind a proxy.")
    var connectionsPerAddress = 0

    @Option(help: "How long the head of a request may take to come: 10s, 1m.")
    var headTime = Span(seconds: 10)

    @Option(help: "How long the body of a request may take to come.")
    var bodyTime = Span(seconds: 15)

    @Option(help: "How long an answer may take to be received.")
    var answerTime = Span(seconds: 60)

    @Option(help: "How long a connection without a request is kept.")
    var idleTime = Span(seconds: 60)

    @Option(help: "Bytes of a request's head; each field, parameter and cookie counts for 64 more.")
    var headSize = 8192

    @Option(help: "Bytes of a request's body.")
    var bodySize = 65_536

    @Option(help: "Bytes of all answers over 16 KiB that are being sent; beyond it, the slowest is cut off.")
    var answersSize = 33_554_432

    @Option(help: "How long new connections are taken after SIGTERM, while /readyz says 503. (default: not at all)")
    var drainDelay: Span?

    @Option(help: "How long the requests under way may take after that.")
    var drainTime = Span(seconds: 8)

    func validate() throws {
        guard (2048...1_048_576).contains(headSize) else {
            throw ValidationError("--head-size takes a number from 2048 to 1048576.")
        }
        guard (1024...16_777_216).contains(bodySize) else {
            throw ValidationError("--body-size takes a number from 1024 to 16777216.")
        }
        guard (1_048_576...1_099_511_627_776).contains(answersSize) else {
            throw ValidationError("--answers-size takes a number from 1048576 to 1099511627776.")
        }
        guard connections > 0 else { throw ValidationError("--connections takes a number from 1.") }
        guard connectionsPerAddress >= 0 else {
            throw ValidationError("--connections-per-address takes a number from 0.")
        }
    }

    func apply(to settings: inout HTTPServer.Settings) {
        settings.connectionLimit = connections
        settings.addressLimit = connectionsPerAddress
        settings.limits.head = headTime.milliseconds
        settings.limits.body = bodyTime.milliseconds
        settings.limits.sending = answerTime.milliseconds
        settings.headLimit = headSize
        settings.bodyLimit = bodySize
        settings.sendingLimit = answersSize
        settings.idleTimeout = idleTime.milliseconds / 1000
    }

    var drain: (delay: Duration, time: Duration) {
        (.milliseconds(drainDelay?.milliseconds ?? 0), .milliseconds(drainTime.milliseconds))
    }
}
