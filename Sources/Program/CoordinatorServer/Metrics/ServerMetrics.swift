internal import ByteText
internal import CoreMetrics
internal import FoundationEssentials
internal import Glibc
internal import Measures
internal import MicroHTTP
internal import NavigationAPI
internal import Prometheus
internal import Sessions

/// What is counted only for the metrics, and so only if there is an admin port. Once this exists, the apps'
/// swift-metrics record into it.
final class ServerMetrics: Sendable {
    let requests = RequestMeasures()
    let apps = AppMetrics(reservedPrefixes: ["coordinatord_", "process_"])

    /// Call at most once in a process, as swift-metrics demands.
    init() {
        MetricsSystem.bootstrap(apps)
    }

    /// Everything that the server measures.
    static let all =
        HTTPMetrics.all + SessionMetrics.all + SignalMetrics.all + LimitMetrics.all + StoreMetrics.all
        + TraceMetrics.all + ProcessMetrics.all

    static func registry(_ figures: ServerFigures) -> MetricsRegistry {
        let registry = MetricsRegistry(app: figures.metrics.apps)
        for metric in all { registry.add(metric.family) { metric.read(figures) } }
        return registry
    }
}

/// What the metrics are read from.
struct ServerFigures: Sendable {
    /// The program's name, and its own version if it has one.
    let program: (name: String, version: String?)
    let metrics: ServerMetrics
    let host: SessionHost
    let handler: NavigationHandler
    let server: HTTPServer
    /// `nil` if nothing is traced.
    let traces: Traces?
    let limits: [ServerLimit]
}

/// A limit that a setting has, and how much of it is used.
struct ServerLimit: Sendable {
    /// The name of the setting.
    let name: String
    let limit: Int
    /// `nil` if that is not known.
    let use: @Sendable (ServerFigures) -> Int?
}

/// A metric of the server, and how it is read. It is read at each scrape, so that metrics of what is counted anyway
/// cost nothing in between.
struct ServerMetric: Sendable {
    let family: MetricFamily
    /// No samples for a metric that this server does not have.
    let read: @Sendable (ServerFigures) -> [MetricSample]

    init(
        _ name: String, _ kind: MetricFamily.Kind, labels: [String] = [], _ help: String,
        _ read: @escaping @Sendable (ServerFigures) -> [MetricSample]
    ) {
        family = MetricFamily(name, kind, labels: labels, help)
        self.read = read
    }

    /// A metric without labels.
    init(
        _ name: String, _ kind: MetricFamily.Kind, _ help: String,
        value: @escaping @Sendable (ServerFigures) -> Int?
    ) {
        self.init(name, kind, help) { figures in value(figures).map { [MetricSample(value: $0)] } ?? [] }
    }
}

/// Events, and the lives of sessions.
enum SessionMetrics {
    static let all =
        [
            ServerMetric(
                "coordinatord_events_total", .counter, labels: ["app", "event", "outcome"],
                """
                Posted events, without dry runs. Outcomes: \
                \(EventOutcome.allCases.map(\.label).joined(separator: ", ")). What the app does not declare is \
                “other”.
                """
            ) { figures in
                figures.host.measures.events?.counts.map {
                    MetricSample($0.app, $0.event, $0.outcome.label, value: $0.count)
                } ?? []
            },
            ServerMetric(
                "coordinatord_transition_duration_seconds", .histogram, labels: ["app", "coordinator"],
                """
                Time that the app takes for an event, without waiting for its turn and for the store. The coordinator \
                is the one that is called first, “none” if none is.
                """
            ) { figures in
                figures.host.measures.events?.durations.map {
                    MetricSample($0.app, $0.coordinator, value: $0.durations, perUnit: 1e9)
                } ?? []
            },
            ServerMetric(
                "coordinatord_late_calls", .gauge,
                """
                Calls of coordinators' functions that are still running after their deadline. Requests that waited \
                for them were answered 504.
                """
            ) { $0.host.lateCalls },
            ServerMetric("coordinatord_sessions_live", .gauge, "Sessions in memory.") { $0.host.liveFigures.sessions },
            ServerMetric(
                "coordinatord_sessions_live_bytes", .gauge, "About how much memory the sessions in memory take."
            ) { $0.host.liveFigures.bytes },
            ServerMetric(
                "coordinatord_sessions_stored", .gauge,
                """
                Sessions in the store, those included that have ended or expired and are still kept. Absent while the \
                store does not answer.
                """
            ) { $0.storedSessions },
            ServerMetric("coordinatord_coordinators_live", .gauge, "Coordinators that live in the sessions in memory.")
            { $0.host.liveFigures.coordinators },
            ServerMetric(
                "coordinatord_watchers", .gauge, "Streams and requests that wait for a session to change."
            ) { $0.host.watcherCount },
        ]
        + happenings.map { happening, name, help in
            ServerMetric("coordinatord_\(name)_total", .counter, help) { $0.host.measures[happening] }
        }

    private static let happenings: [(SessionMeasures.Happening, name: String, help: String)] = [
        (.created, "sessions_created", "Created sessions, without forks."),
        (.forked, "sessions_forked", "Sessions that were created as a fork of another."),
        (.ended, "sessions_ended", "Sessions that were ended here, by their clients, apps or the operator."),
        (
            .removed, "sessions_removed",
            """
            Sessions that were deleted from the store, a while after they had ended or expired. What exceeds the ended \
            ones has expired.
            """
        ),
        (.loaded, "sessions_loaded", "Sessions that were read from the store into memory."),
        (.evicted, "sessions_evicted", "Sessions that left the memory because others needed the room."),
        (.reduced, "sessions_reduced", "Sessions that were restored without what no longer fits their app."),
        (
            .relaunched, "sessions_relaunched",
            "Sessions that were started anew, because nothing that was saved of them fits their app."
        ),
        (
            .replayed, "idempotent_replays",
            "Requests that were answered as before under their Idempotency-Key, and not carried out again."
        ),
        (
            .keyReused, "idempotency_conflicts",
            "Requests whose Idempotency-Key had been used for another request; they were refused."
        ),
    ]
}

extension EventOutcome {
    /// A stable name, independent of the name of the case.
    fileprivate var label: String {
        switch self {
        case .applied: "applied"
        case .replayed: "replayed"
        case .refused: "refused"
        case .invalid: "invalid"
        case .stale: "stale"
        case .keyReused: "key-reused"
        case .limited: "limited"
        case .failed: "failed"
        case .late: "late"
        case .notStored: "not-stored"
        case .gone: "gone"
        }
    }
}

/// Requests and connections on the public port.
enum HTTPMetrics {
    static let all = [
        ServerMetric(
            "coordinatord_http_requests_total", .counter, labels: ["route", "method", "status"],
            "Answered requests. The route is the pattern of the path, “none” for a path that the API does not have."
        ) { figures in
            figures.metrics.requests.counts.map {
                MetricSample($0.route, $0.method, "\($0.status)", value: $0.count)
            }
        },
        ServerMetric(
            "coordinatord_http_request_duration_seconds", .histogram, labels: ["route"],
            """
            Time from the whole request to the beginning of its answer. Without requests that waited for a change \
            because they asked to, and without refused ones.
            """
        ) { figures in
            figures.metrics.requests.times.map { MetricSample($0.route, value: $0.times, perUnit: 1e9) }
        },
        ServerMetric(
            "coordinatord_http_refused_requests_total", .counter, labels: ["reason"],
            "Requests that the HTTP server itself refused; the reasons are the names of problems."
        ) { figures in
            figures.metrics.requests.refused.map { MetricSample($0.reason, value: $0.count) }
        },
        ServerMetric(
            "coordinatord_http_requests_under_way", .gauge,
            "Requests that have begun to arrive and are not answered yet, streams not counted."
        ) { $0.server.requestsUnderWay },
        ServerMetric("coordinatord_http_connections", .gauge, "Open connections, those of streams counted.") {
            $0.server.openConnections
        },
        ServerMetric(
            "coordinatord_http_body_bytes", .gauge, "Bytes of large bodies that are under way, of --requests-size."
        ) { $0.server.receivingBytes },
        ServerMetric("coordinatord_http_streams", .gauge, "Open streams of changes.") { $0.server.openStreams },
        ServerMetric("coordinatord_http_connections_accepted_total", .counter, "Accepted connections.") {
            $0.server.measures[.accepted]
        },
        ServerMetric(
            "coordinatord_http_connections_cut_total", .counter, labels: ["reason"],
            """
            Connections that the server cut: the head or the body came too slowly, the answer was read too slowly, \
            too many large answers were under way, too many connections came from the address.
            """
        ) { figures in
            cuts.map { MetricSample($1, value: figures.server.measures[$0]) }
        },
        ServerMetric(
            "coordinatord_wrong_tokens_total", .counter, labels: ["kind"],
            """
            Tokens for operators and keys of services that were nobody's, on both ports. Tokens that are not looked at, \
            because their address has tried ten in a minute, are not counted.
            """
        ) { figures in
            let (operators, services) = figures.handler.wrongTokens
            return [MetricSample("operator", value: operators), MetricSample("service", value: services)]
        },
    ]

    private static let cuts: [(ConnectionMeasures.Happening, String)] = [
        (.slowHead, "slow-head"), (.slowBody, "slow-body"), (.slowReader, "slow-reader"),
        (.largeAnswer, "large-answer"), (.refused, "address-limit"),
    ]
}

/// How full it is.
enum LimitMetrics {
    static let all = [
        ServerMetric(
            "coordinatord_limit", .gauge, labels: ["setting"], "The most that a setting allows; absent without a limit."
        ) { figures in figures.limits.map { MetricSample($0.name, value: $0.limit) } },
        ServerMetric(
            "coordinatord_limit_use", .gauge, labels: ["setting"],
            """
            What is used of it now. live-sessions and live-memory may be used up: then sessions that nobody uses leave \
            the memory.
            """
        ) { figures in
            figures.limits.compactMap { limit in limit.use(figures).map { MetricSample(limit.name, value: $0) } }
        },
    ]
}

extension ServerFigures {
    /// `nil` while the store does not answer.
    var storedSessions: Int? { host.store.condition.failure == nil ? host.store.sessionCount : nil }
}

/// The store.
enum StoreMetrics {
    static let all = common + PostgresDatabase.metrics

    private static let common = [
        ServerMetric("coordinatord_store_info", .gauge, labels: ["store"], "Always 1; the kind of store is a label.") {
            [MetricSample($0.host.store.name, value: 1)]
        },
        ServerMetric(
            "coordinatord_store_ready", .gauge,
            "Whether the store accepts what changes sessions: 1, or 0 with the reason in /readyz, also when it is full."
        ) {
            let condition = $0.host.condition
            return condition.failure == nil && !condition.isFull ? 1 : 0
        },
        ServerMetric("coordinatord_store_commit_changes", .histogram, "Changes that were committed together.") {
            $0.host.store.measures.map { [MetricSample(value: $0.batchSizes.reading(), perUnit: 1)] } ?? []
        },
        ServerMetric(
            "coordinatord_store_commit_duration_seconds", .histogram,
            "Time that such a commit takes, until it is as durable as the store promises."
        ) { $0.host.store.measures.map { [MetricSample(value: $0.commits.reading(), perUnit: 1e9)] } ?? [] },
        ServerMetric(
            "coordinatord_store_queue_length", .gauge, "Changes that wait to be committed, or are being committed."
        ) { $0.host.store.figures.waiting },
        ServerMetric(
            "coordinatord_store_queue_age_seconds", .gauge, "How long the first of them has been waiting."
        ) { $0.host.store.figures.longestWait.map { [MetricSample(value: $0)] } ?? [] },
        ServerMetric(
            "coordinatord_store_errors_total", .counter, labels: ["kind"],
            "What the store has refused: it was full, not available, its data damaged, or the outcome is not known."
        ) { figures in
            failures.map { MetricSample($1, value: figures.host.measures[$0]) }
        },
        ServerMetric(
            "coordinatord_store_bytes", .gauge, "Size of the store's file; of a store in memory, about its memory."
        ) { $0.host.store.figures.bytes },
        ServerMetric("coordinatord_store_log_bytes", .gauge, "Size of the file's write-ahead log.") {
            $0.host.store.figures.logBytes
        },
        ServerMetric(
            "coordinatord_store_uncompacted_rows", .gauge,
            "Rows of the journal that are to be compacted next. They are kept in memory, too."
        ) { $0.host.store.figures.uncompactedRows },
        ServerMetric("coordinatord_store_uncompacted_bytes", .gauge, "Bytes of their texts.") {
            $0.host.store.figures.uncompactedBytes
        },
        ServerMetric(
            "coordinatord_backup_timestamp_seconds", .gauge,
            "When `backup` has last copied the store, in seconds since 1970; absent if it never has, and for PostgreSQL."
        ) { $0.host.store.figures.backedUpAt.map { [MetricSample(value: $0.timeIntervalSince1970)] } ?? [] },
    ]

    private static let failures: [(SessionMeasures.StoreFailure, String)] = [
        (.full, "full"), (.unavailable, "unavailable"), (.damaged, "damaged"), (.unknownOutcome, "unknown-outcome"),
    ]
}

/// The process and the build. The names that begin with `process_` are those of Prometheus' own client libraries.
enum ProcessMetrics {
    static let all = [
        ServerMetric(
            "coordinatord_build_info", .gauge, labels: ["version", "program", "program_version", "libmicrohttpd"],
            "Always 1; the labels say what runs."
        ) { figures in
            [
                MetricSample(
                    Release.version, figures.program.name, figures.program.version ?? "", HTTPServer.libraryVersion,
                    value: 1)
            ]
        },
        ServerMetric(
            "coordinatord_allocator_bytes", .gauge, labels: ["kind"],
            """
            What the allocator, jemalloc, says: allocated by the program; in active pages; resident in memory; mapped; \
            retained, which is address space without memory; metadata of its own.
            """
        ) { _ in Allocator.figures.map { MetricSample($0.name, value: $0.bytes) } },
        ServerMetric(
            "coordinatord_app_metrics_dropped_total", .counter,
            "Metrics of the apps that were not made: too many, or a name that is taken."
        ) { $0.metrics.apps.dropped },
        ServerMetric(
            "coordinatord_log_messages_dropped_total", .counter,
            "Messages that are not in the log, because it was not read or could not be written."
        ) { _ in [MetricSample(value: LineOutput.standardError.dropped)] },
        ServerMetric("process_cpu_seconds_total", .counter, "Processor time, in user and system mode.") { _ in
            [MetricSample(value: ProcessFigures.processorTime)]
        },
        ServerMetric("process_resident_memory_bytes", .gauge, "Resident memory.") { _ in ProcessFigures.memory },
        ServerMetric("process_open_fds", .gauge, "Open descriptors.") { _ in ProcessFigures.descriptors },
        ServerMetric("process_max_fds", .gauge, "The limit of descriptors.") { _ in ProcessFigures.descriptorLimit },
        ServerMetric("process_start_time_seconds", .gauge, "When the process began, in seconds since 1970.") { _ in
            ProcessFigures.start.map { [MetricSample(value: $0)] } ?? []
        },
    ]
}

/// What the system says about this process, see proc(5).
private enum ProcessFigures {
    /// In seconds.
    static var processorTime: Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return [usage.ru_utime, usage.ru_stime].reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6 }
    }

    /// Resident bytes.
    static var memory: Int? {
        SystemFile.text("/proc/self/statm").flatMap { text in
            let pages = text.words.dropFirst().first.flatMap { Int($0) }
            return pages.map { $0 * sysconf(CInt(_SC_PAGESIZE)) }
        }
    }

    static var descriptors: Int? {
        guard let directory = opendir("/proc/self/fd") else { return nil }
        defer { closedir(directory) }
        var count = 0
        while readdir(directory) != nil { count += 1 }
        // Without “.”, “..” and the directory itself.
        return max(0, count - 3)
    }

    static var descriptorLimit: Int? {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
        return Int(clamping: limit.rlim_cur)
    }

    /// In seconds since 1970: the machine's start, and the ticks until this process began.
    static let start: Double? = {
        // The program's name, in parentheses, may contain anything, so fields are counted after it.
        let fields = SystemFile.text("/proc/self/stat")?.parts(at: ")").last?.words
        let boot = SystemFile.text("/proc/stat")?.lines.first { $0.begins(with: "btime ") }
        guard let fields, fields.count > 19, let ticks = Double(fields[19]),
            let seconds = boot?.words.last.flatMap({ Double($0) })
        else { return nil }
        return seconds + ticks / Double(sysconf(CInt(_SC_CLK_TCK)))
    }()
}

/// A file of `/proc` or `/sys`.
enum SystemFile {
    static func text(_ path: String) -> String? {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
    }
}

/// Effects, timers and the signals of other systems.
enum SignalMetrics {
    static let all = [
        ServerMetric("coordinatord_effects_running", .gauge, "Effects that this server performs now.") {
            $0.host.effectFigures.running
        },
        ServerMetric(
            "coordinatord_effects_waiting", .gauge,
            "Effects that wait until others have ended, see --effects, or until they are repeated."
        ) { $0.host.effectFigures.waiting },
        ServerMetric(
            "coordinatord_effects_total", .counter, labels: ["outcome"],
            """
            Effects that are over here: ended, with a signal or without one; failed, after the last attempt; discarded, \
            because the effect was cancelled or replaced, or its coordinator had ended, before its outcome was there.
            """
        ) { sample($0, [(.effectEnded, "ended"), (.effectFailed, "failed"), (.effectDiscarded, "discarded")]) },
        ServerMetric(
            "coordinatord_cleanups_total", .counter, labels: ["outcome"],
            "Calls of willBeRemoved that are over: done; failed, after the last attempt."
        ) { sample($0, [(.cleanUpDone, "done"), (.cleanUpFailed, "failed")]) },
        ServerMetric("coordinatord_effect_attempts_total", .counter, "Attempts of effects and of clean-ups.") {
            $0.host.measures.signals[.effectAttempted]
        },
        ServerMetric(
            "coordinatord_effect_retries_total", .counter, "Attempts that failed, and were or will be repeated."
        ) { $0.host.measures.signals[.effectRepeated] },
        ServerMetric("coordinatord_timers_fired_total", .counter, "Timers whose signal was received.") {
            $0.host.measures.signals[.timerFired]
        },
        ServerMetric(
            "coordinatord_timer_lag_seconds", .histogram,
            "Time from when a timer was due until its transition was committed."
        ) { [MetricSample(value: $0.host.measures.signals.timerLags.reading(), perUnit: 1e9)] },
        ServerMetric(
            "coordinatord_signals_total", .counter, labels: ["outcome"],
            """
            Signals of other systems, one for each session: received; replayed, because it had been received under its \
            Idempotency-Key; refused.
            """
        ) { sample($0, [(.signalReceived, "received"), (.signalReplayed, "replayed"), (.signalRefused, "refused")]) },
        ServerMetric(
            "coordinatord_signals_dropped_total", .counter,
            "Effects and timers that were removed because their coordinator failed to receive the signal again and again."
        ) { $0.host.measures.signals[.dropped] },
    ]

    private static func sample(
        _ figures: ServerFigures, _ outcomes: [(SignalMeasures.Happening, String)]
    ) -> [MetricSample] {
        outcomes.map { MetricSample($1, value: figures.host.measures.signals[$0]) }
    }
}
