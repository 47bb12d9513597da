internal import ArgumentParser
internal import MicroHTTP
internal import NavigationAPI

/// The table of all settings. The flags and their help, the names in the environment and in a file, `config`,
/// `docs/settings.md` and the manual page are made from it; the order is theirs.
enum Settings {
    static let host = Setting(
        "host", .address, .text("host", form: "a name or an address"), default: .text("127.0.0.1"),
        "The name or address to listen on; 0.0.0.0 or :: for all.", parse: HostArgument.parse)
    static let port = Setting.number(
        "port", .address, 0...65_535, default: .text("8080"), "The port to listen on; 0 for any free one.")
    static let basePath = Setting(
        "base-path", .address, .text("path", form: "a path such as /nav"), default: .none,
        """
        The path below which a proxy offers the API: /nav. Requests are answered with and without it, and the paths in \
        answers begin with it.
        """
    ) { text in
        guard let path = BasePath(text) else {
            throw ValidationError(
                """
                A base path is written as /nav: segments of letters, digits and -._~, no slash at the end, and not the \
                beginning of one of the API's own paths, such as /v1.
                """)
        }
        return path
    }

    static let connections = Setting.number(
        "connections", .connections, 1...Int.max, default: .text("10000"),
        "Connections at a time; fewer if the process may not open as many files. Further ones wait.")
    static let connectionsPerAddress = Setting.number(
        "connections-per-address", .connections, 0...Int.max, default: .text("0"),
        "Connections at a time from one address; 0 for any number, as behind a proxy.")
    static let headTime = Setting.time(
        "head-time", .connections, default: "10s", "How long the head of a request may take to arrive.")
    static let bodyTime = Setting.time(
        "body-time", .connections, default: "15s", "How long the body of a request may take to arrive.")
    static let answerTime = Setting.time(
        "answer-time", .connections, default: "1m", "How long a client may take to receive an answer.")
    static let idleTime = Setting.time(
        "idle-time", .connections, default: "1m", "How long a connection without a request is kept.")
    static let headSize = Setting.size(
        "head-size", .connections, from: "2K", to: "1M", default: .text("8K"),
        "How large a request's head may be (431); each field, parameter and cookie counts for 64 bytes more.")
    static let bodySize = Setting.size(
        "body-size", .connections, from: "1K", to: "16M", default: .text("64K"),
        "How large a request's body may be (413).")
    static let requestsSize = Setting.size(
        "requests-size", .connections, from: "1M", to: "1024G", default: .text("32M"),
        """
        How large all bodies over 4K that are under way may be together (503); without a session's token, half of it; \
        from one address, a quarter.
        """)
    static let answersSize = Setting.size(
        "answers-size", .connections, from: "1M", to: "1024G", default: .text("32M"),
        """
        How large all answers over 16K that are being sent may be together; beyond it, those under way longest are cut \
        off.
        """)
    static let drainDelay = Setting.time(
        "drain-delay", .connections, canBeZero: true, default: "0s",
        "How long new connections are accepted after SIGTERM, while /readyz answers 503.")
    static let drainTime = Setting.time(
        "drain-time", .connections, default: "6s",
        "How long the requests under way may take after that; the end takes up to 3s more.")

    static let trustedProxy = Setting(
        "trusted-proxy", .clients, .text("network", form: "an address or a network such as 10.0.0.0/8"), kind: .list,
        default: .none,
        """
        A proxy, or a network of proxies, that sends its clients' addresses in X-Forwarded-For: 10.0.0.0/8. The header \
        of anybody else is ignored. May be given several times.
        """
    ) { text in
        guard let network = IPNetwork(text) else {
            throw ValidationError("“\(text)” is neither an address nor a network of addresses.")
        }
        return network
    }
    static let creationsPerSecond = Setting.number(
        "creations-per-second", .clients, 0...Int.max,
        default: .described(
            "100 with --trusted-proxy; without it 0, because all clients of a proxy come from one address"),
        "Sessions that one address may create in a second (429); 0 for any number.")
    static let allowOrigin = Setting(
        "allow-origin", .clients, .text("origin", form: "an origin such as https://app.example"), kind: .list,
        default: .none, "A web origin whose pages may use the API: https://app.example. May be given several times.",
        parse: WebOrigin.parse)

    static let store = Setting(
        "store", .store,
        .text("store", form: "sqlite:DIRECTORY, \(StoreChoice.postgresForm), or memory", mayHoldSecret: true),
        default: .text("sqlite:./data"),
        """
        Where sessions are kept: sqlite:DIRECTORY; \(StoreChoice.postgresForm), which several servers may share; or \
        memory (they end with the process).
        """, parse: StoreChoice.parse)
    static let storePassword = Setting.secret(
        "store-password", .store, default: .described("what libpq finds: PGPASSWORD, PGPASSFILE, ~/.pgpass"),
        "A file whose first line is the password of the database.")
    static let durability = Setting(
        "durability", .store, .text("promise", form: "strict or relaxed"), default: .text("strict"),
        """
        strict: what is answered is on the disk, also on that of a database server, or it is refused. relaxed: a power \
        loss may lose the last events.
        """
    ) { text in
        guard let choice = DurabilityChoice(rawValue: text) else {
            throw ValidationError("“\(text)” is not strict or relaxed.")
        }
        return choice
    }
    static let history = Setting.number(
        "history", .store, 1...Int.max, default: .text("100"), "How many versions of a session are kept.")
    static let storeSize = Setting.size(
        "store-size", .store, from: "64K",
        default: .described("half of the memory for --store memory, any size for a file"),
        """
        How large the store may be. When it is full, sessions can only be read and ended (503). Not for PostgreSQL.
        """)

    static let idleExpiry = Setting.time(
        "idle-expiry", .sessions, default: "24h",
        "How long a session lives after its last event, never longer than --absolute-expiry.")
    static let absoluteExpiry = Setting.time(
        "absolute-expiry", .sessions, default: "30d", "How long a session lives at most.")
    static let liveSessions = Setting.number(
        "live-sessions", .sessions, 1...Int.max, default: .text("100000"),
        "How many sessions are kept in memory; the others are loaded from the store when they are used.")
    static let liveMemory = Setting.size(
        "live-memory", .sessions, from: "64K",
        default: .described("a quarter of the machine's, or of the control group's if that is less"),
        """
        About how much memory the sessions in memory may take. It is an estimate: the real use may be half or double.
        """)
    static let sessions = Setting.number(
        "sessions", .sessions, 1...Int.max, default: .text("10000000"),
        "How many sessions there may be (503), including those only in the store and those that ended recently.")
    static let watchers = Setting.number(
        "watchers", .sessions, 0...Int.max, default: .text("5000"),
        "Streams of changes, and requests that wait for one, at a time (503).")
    static let eventsPerSecond = Setting.number(
        "events-per-second", .sessions, 0...Int.max, default: .text("10000"),
        "Events that one session accepts in a second (429); 0 for any number.")

    static let development = Setting.flag(
        "development", .apps, "Gives the apps their development dependencies, such as seeded accounts.")
    static let dataDirectory = Setting.path(
        "data-directory", .apps, "directory", default: .text("data"),
        """
        The directory for the apps' own data; an app that needs it creates it. With --store memory, apps store no data.
        """)

    static let adminPort = Setting.number(
        "admin-port", .metrics, 0...65_535, default: .described("none, and nothing is measured"),
        """
        Serves /metrics, /livez and /readyz on this port, without a token: for a network that only the operator's tools \
        reach. 0 for any free one.
        """)
    static let adminHost = Setting(
        "admin-host", .metrics, .text("host", form: "a name or an address"), default: .text("127.0.0.1"),
        "The name or address that the admin port listens on.", parse: HostArgument.parse)

    static let traceEndpoint = Setting(
        "trace-endpoint", .traces, .text("url", form: TraceEndpoint.form),
        default: .described("none, and nothing is traced"),
        """
        Sends spans to an OpenTelemetry collector, as OTLP in JSON, to /v1/traces below this URL: http://localhost:4318. \
        Without TLS: the collector is on this machine or in its pod.
        """, parse: TraceEndpoint.parse)
    static let traceSample = Setting(
        "trace-sample", .traces, .text("share", form: Share.form), default: .text("all"),
        """
        How many of the traces that begin here are recorded: off, all, or a share such as 1%. A request that belongs to \
        a trace already, by its field traceparent, is recorded if its caller says so.
        """, parse: Share.parse)
    static let traceService = Setting(
        "trace-service", .traces, .text("name", form: "a name"), default: .described("the name of the program"),
        "The name of this service in traces, service.name; that of all servers that do the same.", parse: nonempty)

    @Sendable private static func nonempty(_ text: String) throws -> String {
        guard !text.isEmpty else { throw ValidationError("It is empty.") }
        return text
    }

    static let logFormat = Setting(
        "log-format", .log, .text("format", form: "text or json"),
        default: .described("text on a terminal, json otherwise"),
        "How log entries are written to standard error: text, or json, an object in each line."
    ) { text in
        guard let format = LineLogHandler.Format(rawValue: text) else {
            throw ValidationError("“\(text)” is not text or json.")
        }
        return format
    }
    static let logLevel = Setting(
        "log-level", .log, .text("levels", form: "a level, or some as in info,sessions=debug"), default: .text("info"),
        """
        What is logged: \(LogLevels.names). A part of the server, or a logger of the app, can have a level of its own: \
        info,sessions=debug. The parts are server, requests, sessions, store, access and traces.
        """, parse: LogLevels.parse)
    static let accessLog = Setting(
        "access-log", .log, .text("share", form: Share.form), default: .text("off"),
        """
        Which requests get a line in the log, as level info of the part access: off, all, or a share such as 1%. \
        duration is in seconds. Nothing that a client has sent is in it, except the ids of the request and the session.
        """, parse: Share.parse)

    static let console = Setting.flag(
        "console", .console, "Serves a page for people at /console; so does --development.")
    static let consoleToken = Setting.secret(
        "console-token", .console, default: .described("with --development, one is made and printed"),
        """
        A file with the token for the operator's part of it: all sessions, and the server's figures. At least 16 \
        characters.
        """)

    static let config = Setting.path(
        "config", .configuration, "file", default: .none,
        "A JSON file with settings. Flags and the environment have precedence over it.")

    static let all: [SettingRow] = [
        host.row, port.row, basePath.row, connections.row, connectionsPerAddress.row, headTime.row, bodyTime.row,
        answerTime.row, idleTime.row, headSize.row, bodySize.row, requestsSize.row, answersSize.row, drainDelay.row,
        drainTime.row,
        trustedProxy.row, creationsPerSecond.row, allowOrigin.row, store.row, storePassword.row, durability.row,
        history.row, storeSize.row, idleExpiry.row, absoluteExpiry.row, liveSessions.row, liveMemory.row, sessions.row,
        watchers.row, eventsPerSecond.row, development.row, dataDirectory.row, adminPort.row, adminHost.row,
        traceEndpoint.row, traceSample.row, traceService.row,
        logFormat.row, logLevel.row, accessLog.row, console.row,
        consoleToken.row,
        config.row,
    ]
}
