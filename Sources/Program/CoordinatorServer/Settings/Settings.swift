internal import MicroHTTP
internal import NavigationAPI

/// The table of all settings. The flags and their help, the names in the environment and in a file, `config`,
/// `docs/settings.md` and the manual page are made from it, in its order. `serve` has all groups, other commands have
/// some. The groups of what only the complete server has are in the folder `Complete`.
struct Settings: SettingGroup {
    let address = Address()
    let connections = Connections()
    let clients = Clients()
    let storage = Storage()
    let sessions = Sessions()
    let apps = Apps()
    let admin = Admin()
    let traces = Traces()
    let log = Log()
    let console = Console()
    let configuration = Configuration()

    static let all = Settings().rows

    /// Where clients find the server.
    struct Address: SettingGroup {
        static let title = "Address"

        let host = Setting(
            "host", .host, default: "127.0.0.1", "The name or address to listen on; 0.0.0.0 or :: for all.")
        let port = Setting(
            "port", .number(0...65_535), default: "8080", "The port to listen on; 0 for any free one.")
        let basePath = Setting(
            "base-path",
            SettingForm(
                "path", "a path such as /nav",
                advice: """
                    It has segments of letters, digits and -._~, no slash at the end, and does not begin as one of the \
                    API's own paths does, such as /v1.
                    """, value: { BasePath($0) }),
            """
            The path below which a proxy offers the API: /nav. Requests are answered with and without it, and the \
            paths in answers begin with it.
            """)
    }

    /// Limits on what clients use of the server, however many and however slow they are.
    struct Connections: SettingGroup {
        static let title = "Connections"

        let connections = Setting(
            "connections", .number(1...Int.max), default: "10000",
            "Connections at a time; fewer if the process may not open as many files. Further ones wait.")
        let connectionsPerAddress = Setting(
            "connections-per-address", .number(0...Int.max), default: "0",
            "Connections at a time from one address; 0 for any number, as behind a proxy.")
        let headTime = Setting(
            "head-time", .time(to: .hour), default: "10s", "How long the head of a request may take to arrive.")
        let bodyTime = Setting(
            "body-time", .time(to: .hour), default: "15s", "How long the body of a request may take to arrive.")
        let answerTime = Setting(
            "answer-time", .time(to: .hour), default: "1m", "How long a client may take to receive an answer.")
        let idleTime = Setting(
            "idle-time", .time(to: .hour), default: "1m", "How long a connection without a request is kept.")
        let headSize = Setting(
            "head-size", .size(from: ByteSize(2 << 10), to: ByteSize(1 << 20)), default: "8K",
            "How large a request's head may be (431); each field, parameter and cookie counts for 64 bytes more.")
        let bodySize = Setting(
            "body-size", .size(from: ByteSize(1 << 10), to: ByteSize(16 << 20)), default: "64K",
            "How large a request's body may be (413).")
        let requestsSize = Setting(
            "requests-size", .size(from: ByteSize(1 << 20), to: ByteSize(1 << 40)), default: "32M",
            """
            How large all bodies over 4K that are under way may be together (503); without a session's token, half of \
            it; from one address, a quarter.
            """)
        let answersSize = Setting(
            "answers-size", .size(from: ByteSize(1 << 20), to: ByteSize(1 << 40)), default: "32M",
            """
            How large all answers over 16K that are being sent may be together; beyond it, those under way longest are \
            cut off.
            """)
        let compress = Setting(
            flag: "compress",
            """
            Compresses answers with gzip for clients that accept it, but for those with a token or a code. Not needed \
            behind a proxy that does it.
            """)
        let drainDelay = Setting(
            "drain-delay", .time(from: Span(seconds: 0), to: .hour), default: "0s",
            "How long new connections are accepted after SIGTERM, while /readyz answers 503.")
        let drainTime = Setting(
            "drain-time", .time(to: .hour), default: "6s",
            "How long the requests under way may take after that; the end takes up to 3s more.")
    }

    /// Who the clients are, and what one of them may do.
    struct Clients: SettingGroup {
        static let title = "Clients"

        let trustedProxy = Setting(
            list: "trusted-proxy",
            SettingForm("network", "an address or a network such as 10.0.0.0/8", value: { IPNetwork($0) }),
            """
            A proxy, or a network of proxies, that sends its clients' addresses in X-Forwarded-For: 10.0.0.0/8. The \
            header of anybody else is ignored. May be given several times.
            """)
        let creationsPerSecond = Setting(
            "creations-per-second", .number(0...Int.max),
            unset: "100 with --trusted-proxy; without it 0, because all clients of a proxy come from one address",
            derived: { $0["trusted-proxy"]?.texts.isEmpty == false ? "100" : "0" },
            "Sessions that one address may create in a second (429); 0 for any number.")
        let allowOrigin = Setting(
            list: "allow-origin", .origin,
            "A web origin whose pages may use the API: https://app.example. May be given several times.")
        let serviceKeyFile = Setting(
            "service-key-file", .path("file"),
            """
            A file with the keys of the systems that may send signals: a name and a key of at least \
            \(KeyFile.Form.services.lengths.lowerBound) characters in each line, such as "payments 3f1c…"; several lines may have the \
            same name. It is read again when it changes.
            """)
    }

    /// Where sessions are kept.
    struct Store: SettingGroup {
        static let title = "Store"

        let location = Setting(
            "store",
            SettingForm("store", StoreChoice.forms, mayHoldSecret: true, parse: StoreChoice.parse),
            default: "sqlite:./data",
            """
            Where sessions are kept: sqlite:DIRECTORY; \
            \(PostgresDatabase.form.map { "\($0), which several servers may share; " } ?? "")or memory (they end with the \
            process).
            """)
        let database = Database()
    }

    /// The store of a server, and how it keeps sessions there.
    struct Storage: SettingGroup {
        static let title = Store.title

        let store = Store()
        let shared = SharedStore()
        let durability = Setting(
            "durability", SettingForm<DurabilityChoice>.choice("promise"), default: "strict",
            """
            strict: what is answered is on the disk, also on that of a database server, or it is refused. relaxed: a \
            power loss may lose the last events.
            """)
        let history = Setting(
            "history", .number(1...Int.max), default: "100", "How many versions of a session are kept.")
        let storeSize = Setting(
            "store-size", .size(from: ByteSize(64 << 10)),
            unset: "half of the memory for --store memory, any size for a file",
            derived: { $0.value(of: Store().location) == .memory ? ByteSize(MachineMemory.size / 2).description : nil },
            """
            How large the store may be. When it is full, sessions can only be read and ended (503). Not for PostgreSQL.
            """)
    }

    /// How long sessions live, unless their app says otherwise.
    struct Lifetimes: SettingGroup {
        static let title = "Sessions"

        let idleExpiry = Setting(
            "idle-expiry", .time(to: .tenYears), default: "24h",
            "How long a session lives after its last use, never longer than --absolute-expiry.")
        let absoluteExpiry = Setting(
            "absolute-expiry", .time(to: .tenYears), default: "30d", "How long a session lives at most.")
    }

    /// How long sessions live, how many there may be, and what one of them may use.
    struct Sessions: SettingGroup {
        static let title = Lifetimes.title

        let lifetimes = Lifetimes()
        let liveSessions = Setting(
            "live-sessions", .number(1...Int.max), default: "100000",
            "How many sessions are kept in memory; the others are loaded from the store when they are used.")
        let liveMemory = Setting(
            "live-memory", .size(from: ByteSize(64 << 10)),
            unset: "a quarter of the machine's, or of the control group's if that is less",
            derived: { _ in ByteSize(MachineMemory.size / 4).description },
            """
            About how much memory the sessions in memory may take. It is an estimate: the real use may be half or \
            double.
            """)
        let sessions = Setting(
            "sessions", .number(1...Int.max), default: "10000000",
            "How many sessions there may be (503), including those only in the store and those that ended recently.")
        let watchers = Setting(
            "watchers", .number(0...Int.max), default: "5000",
            "Streams of changes, and requests that wait for one, at a time (503).")
        let eventsPerSecond = Setting(
            "events-per-second", .number(0...Int.max), default: "10000",
            "Events that one session accepts in a second (429); 0 for any number.")
        let effects = Setting(
            "effects", .number(1...100_000), default: "256",
            "Effects of the apps that run at a time, eight of one session at most; the others wait.")
    }

    /// What the apps are made with.
    struct Apps: SettingGroup {
        static let title = "Apps"

        let development = Setting(
            flag: "development", "Gives the apps their development dependencies, such as seeded accounts.")
        let data = AppData()
    }

    /// Where apps keep data of their own.
    struct AppData: SettingGroup {
        static let title = Apps.title

        let directory = Setting(
            "data-directory", .path("directory"), default: "data",
            """
            The directory for the apps' own data; an app that needs it creates it. With --store memory, apps store no \
            data.
            """)
    }

    /// Where the operator's own tools find the server, such as Prometheus.
    struct Admin: SettingGroup {
        static let title = "Metrics"

        let adminPort = Setting(
            "admin-port", .number(0...65_535), unset: "none, and nothing is measured",
            """
            Serves /metrics, /livez and /readyz on this port, without a token, and the console: for a network that only \
            the operator's tools reach. 0 for any free one.
            """)
        let adminHost = Setting(
            "admin-host", .host, default: "127.0.0.1", "The name or address that the admin port listens on.")
    }

    /// What the server logs, and how.
    struct Log: SettingGroup {
        static let title = "Log"

        let logFormat = Setting(
            "log-format", SettingForm<LineLogHandler.Format>.choice("format"),
            unset: "text on a terminal, json otherwise",
            "How log entries are written to standard error: text, or json, an object in each line.")
        let logLevel = Setting(
            "log-level", SettingForm("levels", "a level, or some as in info,sessions=debug", parse: LogLevels.parse),
            default: "info",
            """
            What is logged: \(LogLevels.names). A part of the server, or a logger of the app, can have a level of its \
            own: info,sessions=debug. The parts are server, requests, sessions, signals, store, access, audit and traces.
            """)
        let accessLog = Setting(
            "access-log", .share, default: "off",
            """
            Which requests get a line in the log, as level info of the part access: off, all, or a share such as 1%. \
            duration is in seconds. Nothing that a client has sent is in it, except the ids of the request and the \
            session.
            """)
    }

    /// The file that contains other settings.
    struct Configuration: SettingGroup {
        static let title = "Configuration"

        let config = Setting(
            "config", .path("file"),
            "A JSON file with settings. Flags and the environment have precedence over it.")
    }

    /// The settings of a command that works on a store from outside a server.
    struct OfStore: SettingGroup {
        let store = Store()
        let configuration = Configuration()
    }

    /// The settings of `check`.
    struct OfCheck: SettingGroup {
        let store = Store()
        let lifetimes = Lifetimes()
        let apps = Apps()
        let configuration = Configuration()
    }
}
