import Foundation
import Synchronization
import Testing
import TestSupport

/// What happens to a server, and by how much it moves which metrics.
private struct Happening: Sendable {
    let name: String
    /// Done before the first look.
    let preparation: @Sendable (MeteredServer) async throws -> StorageTests.Session?
    let action: @Sendable (MeteredServer, StorageTests.Session?) async throws -> Void
    let expected: [String: Double]

    init(
        _ name: String, app: String? = nil, _ expected: [String: Double],
        preparing: @escaping @Sendable (MeteredServer, StorageTests.Session) async throws -> Void = { _, _ in },
        _ action: @escaping @Sendable (MeteredServer, StorageTests.Session?) async throws -> Void
    ) {
        self.name = name
        self.expected = expected
        self.action = action
        preparation = { server in
            guard let app else { return nil }
            let session = try await server.open(app)
            try await preparing(server, session)
            return session
        }
    }

    private static let events = #"route="/v1/sessions/{id}/events",method="POST""#
    private static let push = #"{"type":"push","payload":1}"#
    private static func outcome(_ event: String, _ outcome: String) -> String {
        #"coordinatord_events_total{app="numbers",event="\#(event)",outcome="\#(outcome)"}"#
    }

    static let all = [
        Happening(
            "a session is created",
            [
                #"coordinatord_http_requests_total{route="/v1/sessions",method="POST",status="201"}"#: 1,
                #"coordinatord_http_request_duration_seconds_count{route="/v1/sessions"}"#: 1,
                "coordinatord_sessions_created_total": 1, "coordinatord_sessions_live": 1,
                "coordinatord_sessions_stored": 1, "coordinatord_coordinators_live": 2,
                "coordinatord_store_commit_changes_sum": 1, "coordinatord_store_commit_duration_seconds_count": 1,
            ]
        ) { server, _ in _ = try await server.open("tabs") },
        Happening(
            "an event is applied", app: "numbers",
            [
                "coordinatord_http_requests_total{\(events),status=\"200\"}": 1, outcome("push", "applied"): 1,
                #"coordinatord_transition_duration_seconds_count{app="numbers",coordinator="number"}"#: 1,
                "coordinatord_store_commit_changes_sum": 1, "coordinatord_sessions_created_total": 0,
                "coordinatord_coordinators_live": 0,
            ]
        ) { server, session in try await server.post(push, try #require(session)) },
        Happening(
            "an event that no coordinator has to handle", app: "numbers",
            [
                outcome("back", "applied"): 1,
                #"coordinatord_transition_duration_seconds_count{app="numbers",coordinator="none"}"#: 1,
            ]
        ) { server, session in
            try await server.post(push, try #require(session))
            try await server.post(#"{"type":"back"}"#, try #require(session))
        },
        Happening(
            "a dry run is no event", app: "numbers",
            [
                outcome("push", "applied"): 0, "coordinatord_store_commit_changes_sum": 0,
                #"coordinatord_transition_duration_seconds_count{app="numbers",coordinator="number"}"#: 1,
            ]
        ) { server, session in try await server.post(push, try #require(session), query: "?dryRun=true") },
        Happening(
            "an event is posted again under its key, then another one", app: "numbers",
            [
                outcome("push", "applied"): 1, outcome("push", "replayed"): 1, outcome("push", "key-reused"): 1,
                "coordinatord_idempotent_replays_total": 1, "coordinatord_idempotency_conflicts_total": 1,
                "coordinatord_store_commit_changes_sum": 1,
            ]
        ) { server, session in
            let (session, key) = (try #require(session), ["Idempotency-Key": "some-key"])
            try await server.post(push, session, key)
            try await server.post(push, session, key)
            try await server.post(#"{"type":"push","payload":2}"#, session, key)
        },
        Happening(
            "events that are not applied", app: "numbers",
            [
                outcome("other", "invalid"): 2, outcome("push", "stale"): 1, outcome("push", "invalid"): 1,
                outcome("back", "refused"): 1, "coordinatord_http_requests_total{\(events),status=\"422\"}": 3,
                "coordinatord_http_requests_total{\(events),status=\"412\"}": 1,
                "coordinatord_http_requests_total{\(events),status=\"409\"}": 1,
                "coordinatord_store_commit_changes_sum": 0,
            ]
        ) { server, session in
            let session = try #require(session)
            try await server.post(#"{"type":"nonsense-1"}"#, session)
            try await server.post(#"{"type":"nonsense-2"}"#, session)
            try await server.post(push, session, ["If-Match": "\"7\""])
            try await server.post(#"{"type":"push","payload":"x"}"#, session)
            try await server.post(#"{"type":"back"}"#, session)
        },
        Happening(
            "a session is forked, and ended", app: "numbers",
            [
                "coordinatord_sessions_forked_total": 1, "coordinatord_sessions_created_total": 0,
                "coordinatord_sessions_ended_total": 1, "coordinatord_sessions_live": 0,
                "coordinatord_coordinators_live": 0, "coordinatord_sessions_stored": 1,
                #"coordinatord_http_requests_total{route="/v1/sessions/{id}",method="DELETE",status="204"}"#: 1,
            ]
        ) { server, session in
            let session = try #require(session)
            _ = try await server.connection.request(
                "POST", "/v1/sessions", headers: session.headers,
                body: Data(#"{"forkOf":"\#(session.id)"}"#.utf8))
            _ = try await server.connection.request("DELETE", session.path, headers: session.headers)
        },
        Happening(
            "requests are refused",
            [
                #"coordinatord_http_refused_requests_total{reason="invalid-target"}"#: 1,
                #"coordinatord_http_requests_total{route="none",method="other",status="400"}"#: 1,
                #"coordinatord_http_requests_total{route="none",method="GET",status="404"}"#: 1,
                #"coordinatord_http_requests_total{route="/livez",method="other",status="405"}"#: 1,
            ]
        ) { server, _ in
            _ = try await server.connection.request("GET", "/a%00b")
            _ = try await server.connection.request("GET", "/metrics")
            _ = try await server.connection.request("PUT", "/livez")
        },
        Happening(
            "a service has no key, a wrong one, and another",
            [
                #"coordinatord_wrong_tokens_total{kind="service"}"#: 2,
                #"coordinatord_wrong_tokens_total{kind="operator"}"#: 0,
            ]
        ) { server, _ in
            let keys = [[:], ["Authorization": "Bearer a-key"], ["Authorization": "Bearer another"]]
            for headers in keys {
                _ = try await server.connection.request("POST", "/v1/users/ann/signals", headers: headers)
            }
        },
        Happening(
            "a stream is opened", app: "numbers",
            [
                "coordinatord_watchers": 1, "coordinatord_http_streams": 1,
                "coordinatord_http_connections_accepted_total": 1,
                #"coordinatord_http_requests_total{route="/v1/sessions/{id}/updates",method="GET",status="200"}"#: 1,
            ]
        ) { server, session in
            let (session, stream) = (try #require(session), try Connection(port: server.port))
            try await stream.send(
                Connection.bytes("GET", "\(session.path)/updates", headers: session.headers))
            #expect(try await stream.receive(bodyless: true).status == 200)
            _ = try await stream.receiveChunk()
            Held.add(stream)
        },
    ]
}

/// Connections that stay open until the look.
private enum Held {
    private static let connections = Mutex<[Connection]>([])
    static func add(_ connection: Connection) { connections.withLock { $0.append(connection) } }
    static func close() { connections.withLock { $0 = [] } }
}

@Suite struct MetricsTests {
    @Test func `metrics move by what happens, and by no more`() async throws {
        // Streams are ended during the first half of the drain.
        let server = try await MeteredServer(["--drain-time", "6s"])
        for happening in Happening.all {
            let session = try await happening.preparation(server)
            let before = try await settled(server)

            try await happening.action(server, session)

            let after = try await settled(server)
            for (metric, change) in happening.expected {
                #expect(after[metric] - before[metric] == change, "\(happening.name): \(metric)")
            }
        }
        Held.close()
        try await server.stop()
    }

    /// The metrics when no request is under way: an answer may arrive before it is counted.
    private func settled(_ server: MeteredServer) async throws -> Scrape {
        try await eventually { try await server.scrape()["coordinatord_http_requests_under_way"] == 0 }
        return try await server.scrape()
    }

    @Test func `the public port has no metrics, and without the flag no other port has`() async throws {
        let server = try await MeteredServer()
        #expect(try await server.connection.request("GET", "/metrics").status == 404)
        try await server.stop()

        let (program, port, _) = try await ServerTests.start()
        #expect(try await Connection(port: port).request("GET", "/metrics").status == 404)
        if isComplete { #expect(try await program.line().hasPrefix("console: ")) }
        program.signal(SIGTERM)
        #expect(try await program.exit().output == "")
    }

    @Test func `the admin port has metrics and health, and nothing else`() async throws {
        let server = try await MeteredServer()
        let connection = try Connection(port: server.admin)

        let metrics = try await connection.request("GET", "/metrics")
        let health = try await [
            connection.request("GET", "/livez"), connection.request("GET", "/readyz"),
            connection.request("GET", "/v1/apps"), connection.request("POST", "/v1/sessions"),
            connection.request("POST", "/metrics"), connection.request("HEAD", "/metrics"),
        ]

        #expect(metrics.status == 200)
        #expect(metrics.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
        #expect(health.map(\.status) == [200, 200, 404, 404, 405, 200])
        try await server.stop()
    }

    @Test func `no session, token or user is in the metrics`() async throws {
        let server = try await MeteredServer(["--development"])
        let session = try await server.open("clean-login")
        try await server.post(
            #"{"type":"submit","payload":{"email":"ann@example.com","password":"secret-word"}}"#, session)
        try await server.post(#"{"type":"\#(session.id)"}"#, session)
        _ = try await server.connection.request("GET", "/\(session.id)?x=ann", headers: ["X-Request-Id": "request-77"])

        let text = try await server.scrape().text

        let token = try #require(session.headers["Authorization"]?.split(separator: " ").last)
        for secret in [session.id, String(token), "ann", "secret-word", "request-77"] {
            #expect(!text.contains(secret), "\(secret)")
        }
        try await server.stop()
    }

    @Test(.enabled(if: isComplete)) func `every described metric is there, once`() async throws {
        let start = Date().timeIntervalSince1970
        let described = try await Program(Program.server, ["describe-metrics"]).exit().output
        let names = described.matches(of: /\n\| `(\w+)` \|/).map { String($0.output.1) }
        let server = try await MeteredServer(["--trace-endpoint", "http://127.0.0.1:1"])
        try await server.post(#"{"type":"push","payload":1}"#, try await server.open())

        let scrape = try await server.scrape()

        #expect(names.count > 40 && Set(names).count == names.count)
        #if JEMALLOC
        let absent: Set = ["coordinatord_backup_timestamp_seconds"]
        #else
        let absent: Set = ["coordinatord_allocator_bytes", "coordinatord_backup_timestamp_seconds"]
        #endif
        #expect(scrape.names == Set(names.filter { !$0.contains("postgres") }).subtracting(absent))
        #expect(scrape.text.matches(of: /# TYPE/).count == scrape.names.count)
        #expect(scrape["process_resident_memory_bytes"] > 1e6 && scrape["process_open_fds"] > 3)
        #if JEMALLOC
        #expect(scrape[#"coordinatord_allocator_bytes{kind="allocated"}"#] > 1e5)
        #endif
        // The kernel rounds the time of its own start.
        let interval = start - 5...Date().timeIntervalSince1970 + 5
        #expect(interval.contains(scrape["process_start_time_seconds"]))
        try await server.stop()
    }

    @Test(.enabled(if: isComplete)) func `the table in docs, metrics is up to date`() async throws {
        let described = try await Program(Program.server, ["describe-metrics"]).exit().output
        let page = try String(contentsOf: repository.appending(path: "docs/metrics.md"), encoding: .utf8)

        #expect(page.contains("<!-- begin -->\n\(described)<!-- end -->"), "run scripts/describe")
    }

    @Test func `sessions leave the memory and come back, and a full store is counted`() async throws {
        let server = try await MeteredServer(["--live-sessions", "1"])
        let first = try await server.open()
        _ = try await server.open()
        #expect(try await server.read(first) == 200)

        let scrape = try await server.scrape()
        #expect(scrape["coordinatord_sessions_evicted_total"] == 2)
        #expect(scrape["coordinatord_sessions_loaded_total"] == 1)
        #expect(scrape["coordinatord_sessions_live"] == 1 && scrape["coordinatord_sessions_stored"] == 2)
        try await server.stop()

        let full = try await MeteredServer(["--store", "memory", "--store-size", "64K"])
        var status = 201
        for _ in 0..<200 where status == 201 {
            status = try await full.connection.request("POST", "/v1/sessions").status
        }
        #expect(status == 503 || status == 507)
        #expect(try await full.scrape()[#"coordinatord_store_errors_total{kind="full"}"#] == 1)
        try await full.stop()
    }

    @Test(arguments: [("sqlite", "192K"), ("memory", "64K")])
    func `a store is not ready while it is full, and the metrics say how full it is`(
        kind: String, size: String
    ) async throws {
        let store = kind == "memory" ? ["--store", "memory"] : []
        let server = try await MeteredServer(store + ["--store-size", size, "--sessions", "3000"])
        var sessions: [StorageTests.Session] = []
        func use(_ scrape: Scrape, of setting: String) -> Double {
            scrape["coordinatord_limit_use{setting=\"\(setting)\"}"]
                / scrape["coordinatord_limit{setting=\"\(setting)\"}"]
        }

        let before = try await server.scrape()
        var answer = try await server.connection.request("POST", "/v1/sessions")
        while answer.status == 201 {
            sessions.append(try StorageTests.Session(answer))
            answer = try await server.connection.request("POST", "/v1/sessions")
        }
        try await eventually { use(try await server.scrape(), of: "store-size") > 0.9 }
        let full = try await server.scrape()
        for session in sessions { try await server.end(session) }
        // Without a commit that succeeds.
        try await eventually { try await server.scrape()["coordinatord_store_ready"] == 1 }

        #expect(before["coordinatord_store_ready"] == 1 && full["coordinatord_store_ready"] == 0)
        #expect(use(before, of: "sessions") == 0 && use(full, of: "sessions") == Double(sessions.count) / 3000)
        #expect(before["coordinatord_limit_use{setting=\"live-sessions\"}"] == 0)
        #expect(full["coordinatord_limit_use{setting=\"live-sessions\"}"] == Double(sessions.count))
        server.program.signal(SIGTERM)
        let log = try await server.program.exit().errors
        if kind == "sqlite" {
            #expect(log.contains("the store or its disk is full"), "\(log)")
            #expect(log.contains("the store has room again"), "\(log)")
        }
    }

    @Test func `the time of the last backup is that of the last one that succeeded`() async throws {
        let storage = try StorageTests()
        let server = try await MeteredServer(storage: storage)
        let path = "\(storage.directory.path)/backup"
        func back(up file: String) async throws -> Int32 {
            try await Program(Program.server, ["backup", file, "--store", storage.store]).exit().code
        }

        func time() async throws -> Double { try await server.scrape()["coordinatord_backup_timestamp_seconds"] }

        let before = try await server.scrape().names.contains("coordinatord_backup_timestamp_seconds")
        let start = Date().timeIntervalSince1970.rounded(.down)
        #expect(try await back(up: path) == 0)
        let first = try await time()
        let end = Date().timeIntervalSince1970
        // As if it had been long ago: the time of a file.
        let old = Date(timeIntervalSince1970: 1_000_000_000)
        try FileManager.default.setAttributes(
            [.modificationDate: old], ofItemAtPath: "\(storage.directory.path)/store/sessions.backup")
        #expect(try await back(up: path) != 0)
        let afterFailure = try await time()
        #expect(try await back(up: path + "2") == 0)

        #expect(!before && start <= first && first <= end)
        #expect(afterFailure == old.timeIntervalSince1970)
        #expect(try await time() >= first)
        try await server.stop()
    }

    @Test func `a head that comes too slowly is cut, and counted once`() async throws {
        let server = try await MeteredServer(["--head-time", "1s"])
        let slow = try Connection(port: server.port)
        try await slow.send("GET /livez HTTP/1.1\r\nHost: ")
        #expect(try await slow.isClosed())

        #expect(try await server.scrape()[#"coordinatord_http_connections_cut_total{reason="slow-head"}"#] == 1)
        try await server.stop()
    }

    @Test func `sessions that a new version of the app changes are counted`() async throws {
        let storage = try StorageTests()
        let old = try await MeteredServer(storage: storage, with: Program.oddServer)
        let session = try await old.open("library")
        #expect(try await old.post(#"{"type":"help"}"#, session) == 200)
        try await old.stop()

        let new = try await MeteredServer(
            storage: storage, with: Program.oddServer, environment: ["ODD_VERSION": "2"])
        #expect(try await new.read(session) == 200)

        let scrape = try await new.scrape()
        #expect(scrape["coordinatord_sessions_reduced_total"] == 1)
        #expect(scrape["coordinatord_sessions_relaunched_total"] == 0)
        try await new.stop()
    }

    @Test func `what an app counts itself stands beside it`() async throws {
        let server = try await MeteredServer(with: Program.oddServer)
        let session = try await server.open("library")
        for _ in 1...3 { #expect(try await server.post(#"{"type":"read"}"#, session) == 200) }

        let scrape = try await server.scrape()
        #expect(scrape[#"library_books_read_total{shelf="main"}"#] == 3)
        #expect(scrape["coordinatord_app_metrics_dropped_total"] == 0)
        try await server.stop()
    }

    @Test(.enabled(if: isComplete)) func `with PostgreSQL there are its metrics, too`() async throws {
        let database = try await blocking { try PostgresCluster.shared.makeDatabase() }
        let server = try await MeteredServer(["--store", database, "--create-store", "--durability", "relaxed"])
        try await server.post(#"{"type":"push","payload":1}"#, try await server.open())

        let scrape = try await server.scrape()
        #expect(scrape["coordinatord_postgres_lanes"] == 2)
        #expect(scrape["coordinatord_postgres_batches_total"] == 2)
        #expect(scrape["coordinatord_store_commit_changes_sum"] == 2)
        #expect(scrape["coordinatord_postgres_feed_lag_seconds"] == 0)
        // Half of a slow question to the database may be in it, until the next one.
        try await eventually { abs(try await server.scrape()["coordinatord_postgres_clock_offset_seconds"]) < 5 }
        try await server.stop()
    }

    @Test(.enabled(if: isComplete)) func `what is unknown while the database is away is not what it was before`()
        async throws
    {
        let cluster = try await blocking { try PostgresCluster(isDurable: true) }
        let database = try await blocking { try cluster.makeDatabase() }
        // Streams are ended during the first half of the drain.
        let server = try await MeteredServer(["--store", database, "--create-store", "--drain-time", "6s"])
        let session = try await server.open()
        let watcher = try Connection(port: server.port)
        // A stream, which waits for as long as the machine needs.
        try await watcher.send(Connection.bytes("GET", "\(session.path)/updates", headers: session.headers))
        #expect(try await watcher.receive(bodyless: true).status == 200)
        func lag() async throws -> Double { try await server.scrape()["coordinatord_postgres_feed_lag_seconds"] }
        try await eventually { try await lag() > 0 }
        try await eventually { try await server.scrape().names.isSuperset(of: unknown) }

        try await blocking { try cluster.stop(.immediate) }
        try await eventually { try await lag() > 2 }
        try await eventually {
            let away = try await server.scrape()
            return away.names.isDisjoint(with: unknown) && away["coordinatord_store_ready"] == 0
        }
        try await blocking { try cluster.start() }
        try await eventually { try await lag() < 1 }
        try await eventually { try await server.scrape().names.isSuperset(of: unknown) }

        withExtendedLifetime(watcher) {}
        try await server.stop()
    }

    private let unknown: Set = ["coordinatord_postgres_clock_offset_seconds", "coordinatord_sessions_stored"]

    @Test func `an admin port in use, or out of range, is a clear error`() async throws {
        let server = try await MeteredServer()

        let taken = try await Program.refused(
            "serve", "--port", "0", "--admin-port", "\(server.admin)", "--store", "memory")
        let wrong = try await Program.refused("serve", "--admin-port", "70000")

        #expect(taken.code == 69)
        #expect(
            taken.errors == """
                Error: 127.0.0.1:\(server.admin) is in use by another process; choose another --admin-port or --admin-host

                """)
        #expect(wrong.code == 64 && wrong.errors.contains("--admin-port: “70000” is not a number from 0 to 65535."))
        try await server.stop()
    }
}
