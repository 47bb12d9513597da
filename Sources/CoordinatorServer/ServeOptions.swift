internal import ArgumentParser
internal import ByteText
internal import FoundationEssentials
internal import MicroHTTP
internal import NavigationAPI
internal import Sessions

/// All settings, and the program's own options: what `serve` takes.
struct ServeOptions<Server: NavigationServer>: ParsableArguments {
    @OptionGroup(title: SettingTopic.address.rawValue) var address: AddressOptions

    @OptionGroup(title: SettingTopic.connections.rawValue) var connections: ConnectionOptions

    @OptionGroup(title: SettingTopic.clients.rawValue) var clients: ClientOptions

    @OptionGroup(title: SettingTopic.store.rawValue) var storage: StorageOptions

    @OptionGroup(title: SettingTopic.sessions.rawValue) var lifetimes: LifetimeOptions

    @OptionGroup(title: SettingTopic.sessions.rawValue) var limits: SessionLimitOptions

    @OptionGroup(title: SettingTopic.apps.rawValue) var apps: AppOptions

    @OptionGroup(title: SettingTopic.metrics.rawValue) var admin: AdminOptions

    @OptionGroup(title: SettingTopic.traces.rawValue) var traces: TraceOptions

    @OptionGroup(title: SettingTopic.log.rawValue) var log: LogOptions

    @OptionGroup(title: SettingTopic.console.rawValue) var console: ConsoleOptions

    @OptionGroup(title: SettingTopic.configuration.rawValue) var config: ConfigOptions

    @OptionGroup(title: "Options of the apps") var own: Server.Options
}

/// Where clients find the server.
struct AddressOptions: ParsableArguments {
    @Option(help: Settings.host.help, transform: Settings.host.parse)
    var host = Settings.host.standard

    @Option(help: Settings.port.help, transform: Settings.port.parse)
    var port = Settings.port.standard

    @Option(help: Settings.basePath.help, transform: Settings.basePath.parse)
    var basePath: BasePath?
}

/// What the apps are made with.
struct AppOptions: ParsableArguments {
    @Flag(inversion: .prefixedNo, help: Settings.development.help)
    var development = false

    @Option(help: Settings.dataDirectory.help, transform: Settings.dataDirectory.parse)
    var dataDirectory = Settings.dataDirectory.standard
}

/// Who the clients are, and what one of them may do.
struct ClientOptions: ParsableArguments {
    @Option(help: Settings.trustedProxy.help, transform: Settings.trustedProxy.parse)
    var trustedProxy: [IPNetwork] = []

    @Option(help: Settings.creationsPerSecond.help, transform: Settings.creationsPerSecond.parse)
    var creationsPerSecond: Int?

    @Option(help: Settings.allowOrigin.help, transform: Settings.allowOrigin.parse)
    var allowOrigin: [WebOrigin] = []

    var settings: NavigationHandler.Settings {
        var settings = NavigationHandler.Settings()
        settings.proxies = trustedProxy
        settings.creationRate = creationsPerSecond ?? (trustedProxy.isEmpty ? 0 : 100)
        return settings
    }
}

/// An origin as browsers write it (RFC 6454, section 6.2): scheme, host, and the port unless it is the scheme's own.
struct WebOrigin {
    let text: String

    @Sendable static func parse(_ argument: String) throws -> WebOrigin {
        guard let origin = WebOrigin(argument) else {
            throw ValidationError(
                "Write scheme, host and port only, in lower case and without a final slash: https://app.example.")
        }
        return origin
    }

    init?(_ argument: String) {
        guard let (scheme, rest) = argument.cut(at: ":"), !scheme.isEmpty, rest.begins(with: "//") else { return nil }
        let host = Substring(rest.utf8.dropFirst(2))
        guard !host.isEmpty, !host.utf8.contains(where: { "/*?#@".utf8.contains($0) }),
            argument.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), argument == argument.lowercased(),
            !(scheme == "http" && host.ends(with: ":80")), !(scheme == "https" && host.ends(with: ":443"))
        else { return nil }
        text = argument
    }
}

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

/// How long sessions live, unless their app says otherwise.
struct LifetimeOptions: ParsableArguments {
    @Option(help: Settings.idleExpiry.help, transform: Settings.idleExpiry.parse)
    var idleExpiry = Settings.idleExpiry.standard

    @Option(help: Settings.absoluteExpiry.help, transform: Settings.absoluteExpiry.parse)
    var absoluteExpiry = Settings.absoluteExpiry.standard

    func apply(to settings: inout SessionSettings) {
        settings.idleLifetime = idleExpiry.seconds
        settings.absoluteLifetime = absoluteExpiry.seconds
    }
}

/// A duration as it is given on the command line: a number and a unit.
struct Span: Equatable {
    /// How it is written, for help and errors.
    static let form = "A time is a whole number with s, m, h or d: 10s."

    private static let units: [Character: Double] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]

    let seconds: Double

    init(hours: Double) {
        self.init(seconds: hours * 3600)
    }

    init(seconds: Double) {
        self.seconds = seconds
    }

    /// At most thirty years, which can still be added to the time of the system's clocks.
    var milliseconds: Int { Int(min(seconds, 1e9) * 1000) }

    @Sendable static func parse(_ text: String) throws -> Span {
        guard let span = Span(text), span.seconds > 0 else {
            throw ValidationError("“\(text)” is no such time. \(form)")
        }
        return span
    }

    @Sendable static func parseOrZero(_ text: String) throws -> Span {
        guard let span = Span(text == "0" ? "0s" : text) else {
            throw ValidationError("“\(text)” is no such time. \(form)")
        }
        return span
    }

    private init?(_ text: String) {
        guard let last = text.last, let unit = Span.units[last], let number = Int(text.dropLast()), number >= 0
        else { return nil }
        seconds = Double(number) * unit
    }
}

/// How many sessions there may be, and what one of them may use.
struct SessionLimitOptions: ParsableArguments {
    @Option(help: Settings.liveSessions.help, transform: Settings.liveSessions.parse)
    var liveSessions = Settings.liveSessions.standard

    @Option(help: Settings.liveMemory.help, transform: Settings.liveMemory.parse)
    var liveMemory: ByteSize?

    @Option(help: Settings.sessions.help, transform: Settings.sessions.parse)
    var sessions = Settings.sessions.standard

    @Option(help: Settings.watchers.help, transform: Settings.watchers.parse)
    var watchers = Settings.watchers.standard

    @Option(help: Settings.eventsPerSecond.help, transform: Settings.eventsPerSecond.parse)
    var eventsPerSecond = Settings.eventsPerSecond.standard

    func apply(to settings: inout SessionSettings) {
        settings.liveLimit = liveSessions
        settings.liveMemory = liveMemory?.bytes ?? MachineMemory.size / 4
        settings.sessionLimit = sessions
        settings.watcherLimit = watchers
        settings.eventRate = eventsPerSecond
    }
}

/// The value of `--host`: a name or an address; an IPv6 address may be in brackets, as in URLs.
enum HostArgument {
    @Sendable static func parse(_ text: String) throws -> String {
        if let inside = text.inside("[", "]") { return String(inside) }
        let hasPort = text.utf8.firstRange(of: "]:".utf8) != nil || text.parts(at: ":").count == 2
        guard text.has("/") || hasPort else { return text }
        var advice = "A host is a name or an address alone, without scheme, port or path."
        if let url = URL(string: text.utf8.firstRange(of: "//".utf8) != nil ? text : "//\(text)"), let host = url.host {
            advice += " Write --host \(host)\(url.port.map { " --port \($0)" } ?? "")."
        }
        throw ValidationError(advice)
    }
}

/// Which part of many is wanted.
struct Share: Equatable {
    let percent: Double

    /// How it is written.
    static let form = "off, all, or a share such as 1%"

    @Sendable static func parse(_ text: String) throws -> Share {
        switch text {
        case "off": return Share(percent: 0)
        case "all": return Share(percent: 100)
        default:
            guard text.ends(with: "%"), let percent = Double(Substring(text.utf8.dropLast())),
                (0...100).contains(percent)
            else {
                throw ValidationError("“\(text)” is not \(form).")
            }
            return Share(percent: percent)
        }
    }
}

/// An amount of memory or storage as it is given on the command line.
struct ByteSize: Equatable, Comparable, CustomStringConvertible {
    /// How it is written, for help and errors.
    static let form = "Write bytes, or a number with K, M or G (powers of 1024), for example 512M."

    private static let units: [Character: Int] = ["K": 1 << 10, "M": 1 << 20, "G": 1 << 30]

    let bytes: Int

    init(_ bytes: Int) {
        self.bytes = bytes
    }

    init?(_ text: String) {
        let unit = text.last.flatMap { ByteSize.units[$0] }
        guard let number = Int(unit == nil ? text : String(text.dropLast())), number > 0 else { return nil }
        let (bytes, overflow) = number.multipliedReportingOverflow(by: unit ?? 1)
        guard !overflow else { return nil }
        self.bytes = bytes
    }

    static func < (first: ByteSize, second: ByteSize) -> Bool { first.bytes < second.bytes }

    /// In the largest unit that divides it.
    var description: String {
        let unit = ByteSize.units.filter { bytes % $0.value == 0 }.max { $0.value < $1.value }
        return unit.map { "\(bytes / $0.value)\($0.key)" } ?? "\(bytes)"
    }
}
