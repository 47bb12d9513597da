internal import ArgumentParser
internal import MicroHTTP

/// Limits on what clients use of the server, however many and however slow they are.
struct ConnectionOptions: ParsableArguments {
    @Option(help: "Connections at a time; fewer if the process may not open as many files. Further ones wait.")
    var connections = 10_000

    @Option(help: "Connections at a time from one address; 0 for any number, as behind a proxy.")
    var connectionsPerAddress = 0

    @Option(help: "How long the head of a request may take to arrive. (default: 10s)", transform: Span.parse)
    var headTime = Span(seconds: 10)

    @Option(help: "How long the body of a request may take to arrive. (default: 15s)", transform: Span.parse)
    var bodyTime = Span(seconds: 15)

    @Option(help: "How long a client may take to receive an answer. (default: 1m)", transform: Span.parse)
    var answerTime = Span(seconds: 60)

    @Option(help: "How long a connection without a request is kept. (default: 1m)", transform: Span.parse)
    var idleTime = Span(seconds: 60)

    @Option(
        help: """
            How large a request's head may be; each field, parameter and cookie counts for 64 bytes more. (default: 8K)
            """, transform: ByteSize.parse)
    var headSize = ByteSize(8 << 10)

    @Option(help: "How large a request's body may be. (default: 64K)", transform: ByteSize.parse)
    var bodySize = ByteSize(64 << 10)

    @Option(
        help: """
            How large all answers over 16K that are being sent may be together; beyond it, those under way longest \
            are cut off. (default: 32M)
            """, transform: ByteSize.parse)
    var answersSize = ByteSize(32 << 20)

    @Option(
        help: "How long new connections are accepted after SIGTERM, while /readyz answers 503. (default: 0s)",
        transform: Span.parseOrZero)
    var drainDelay = Span(seconds: 0)

    @Option(
        help: "How long the requests under way may take after that; the end takes up to 2s more. (default: 8s)",
        transform: Span.parse)
    var drainTime = Span(seconds: 8)

    func validate() throws {
        try headSize.validate("--head-size", from: ByteSize(2 << 10), to: ByteSize(1 << 20))
        try bodySize.validate("--body-size", from: ByteSize(1 << 10), to: ByteSize(16 << 20))
        try answersSize.validate("--answers-size", from: ByteSize(1 << 20), to: ByteSize(1 << 40))
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
        settings.headLimit = headSize.bytes
        settings.bodyLimit = bodySize.bytes
        settings.sendingLimit = answersSize.bytes
        settings.idleTimeout = idleTime.milliseconds / 1000
    }

    var drain: (delay: Duration, time: Duration) {
        (.milliseconds(drainDelay.milliseconds), .milliseconds(drainTime.milliseconds))
    }
}
