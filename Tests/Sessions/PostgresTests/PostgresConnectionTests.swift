import Foundation
import Glibc
import Postgres
import TestSupport
import Testing

extension Duration {
    /// Far longer than a test runs: only what hangs is late.
    static let hours = Duration.seconds(7200)
}

extension ContinuousClock.Instant {
    static func after(_ time: Duration) -> ContinuousClock.Instant { .now + time }
}

extension PostgresConnection {
    /// A connection to the cluster that the tests share.
    static func make(_ user: String = "postgres", password: String? = nil) throws -> PostgresConnection {
        try PostgresConnection.connect(
            // Also if the server stands still for a while.
            PostgresSettings(
                uri: PostgresCluster.shared.uri(user: user) + "?tcp_user_timeout=0", password: { password }),
            within: .hours)
    }

    func rows(_ sql: String, _ values: PostgresValue...) throws -> PostgresRows {
        try run(PostgresStatement(sql, sql), values, until: .after(.hours))
    }

    var processID: Int {
        get throws { try rows("SELECT pg_backend_pid()::bigint").integer(0, 0) ?? 0 }
    }
}

@Suite struct PostgresConnectionTests {
    @Test func `values come back as they were sent`() async throws {
        try await blocking {
            let connection = try PostgresConnection.make()

            let rows = try connection.rows(
                "SELECT $1::bigint, $2::text, $3::text, $4::bytea, ($5::bigint[])::text[], $6::text[], $7::bytea[]",
                .integer(.min), .text("ann ’; \u{1F600}"), .utf8([]), .bytes([0, 255, 7]),
                .integers([1, nil, .max]), .texts(["a", nil, ""]), .byteStrings([[1], [], nil]))

            #expect(rows.count == 1)
            #expect(rows.integer(0, 0) == .min)
            #expect(rows.text(0, 1) == "ann ’; \u{1F600}")
            #expect(rows.utf8(0, 2) == [])
            #expect(rows.bytes(0, 3) == [0, 255, 7])
            #expect(rows.texts(0, 4) == ["1", "\(Int.max)"])
            #expect(rows.texts(0, 5) == ["a", ""])
        }
    }

    @Test func `NULL is nil, as is another type, and what is not there`() async throws {
        try await blocking {
            let connection = try PostgresConnection.make()

            let rows = try connection.rows(
                "SELECT $1::bigint, $2::text, $3::text[], 1::int, 2::bigint", .integer(nil), .text(nil), .texts([]))

            #expect(rows.integer(0, 0) == nil)
            #expect(rows.text(0, 1) == nil)
            #expect(rows.texts(0, 2) == [])
            #expect(rows.integer(0, 3) == nil)
            #expect(rows.text(0, 4) == nil)
            #expect(rows.integer(0, 4) == 2)
            #expect(rows.integer(1, 0) == nil)
            #expect(rows.integer(0, 5) == nil)
            #expect(rows.integer(-1, -1) == nil)
        }
    }

    @Test func `arrays are expanded by the server, NULLs included`() async throws {
        try await blocking {
            let connection = try PostgresConnection.make()

            let rows = try connection.rows(
                "SELECT * FROM unnest($1::text[], $2::bigint[], $3::bytea[])", .utf8s([Array("a".utf8), nil]),
                .integers([nil, 2]), .byteStrings([[9], nil]))

            #expect(rows.count == 2)
            #expect(rows.text(0, 0) == "a" && rows.integer(0, 1) == nil && rows.bytes(0, 2) == [9])
            #expect(rows.text(1, 0) == nil && rows.integer(1, 1) == 2 && rows.bytes(1, 2) == nil)
        }
    }

    @Test func `a large value is sent and received whole`() async throws {
        try await blocking {
            let connection = try PostgresConnection.make()
            let text = [UInt8](repeating: UInt8(ascii: "x"), count: 20_000_000)

            let rows = try connection.rows("SELECT $1::text", .utf8(text))

            #expect(rows.utf8(0, 0) == text)
        }
    }

    @Test func `a refused statement leaves the connection usable, and its error has no values`() async throws {
        try await blocking {
            let connection = try PostgresConnection.make()
            try connection.execute("CREATE TEMP TABLE t (id text PRIMARY KEY)", until: .after(.hours))
            _ = try connection.rows("INSERT INTO t VALUES ($1)", .text("hush"))

            let error = #expect(throws: PostgresError.self) {
                _ = try connection.rows("INSERT INTO t VALUES ($1)", .text("hush"))
            }
            let other = #expect(throws: PostgresError.self) {
                _ = try connection.rows("SELECT $1::text::bigint", .text("hush"))
            }

            #expect(error?.state == "23505" && error?.isCertain == true && "\(error!)".contains("hush") == false)
            #expect(other?.state?.isIn(class: "22") == true && "\(other!)".contains("hush") == false)
            #expect(connection.isUsable)
            #expect(try connection.rows("SELECT 1::bigint").integer(0, 0) == 1)
        }
    }

    @Test func `a statement without an answer ends at its deadline, and its outcome is unknown`() async throws {
        try await blocking {
            let connection = try PostgresConnection.make()
            let id = try connection.processID
            let statement = PostgresStatement("sleep", "SELECT pg_sleep($1::bigint)")
            // From now on it is prepared.
            _ = try connection.run(statement, [.integer(0)], until: .after(.hours))
            let start = ContinuousClock.now

            #expect(throws: PostgresError.deadline) {
                _ = try connection.run(statement, [.integer(7200)], until: .after(.milliseconds(300)))
            }

            #expect(.now - start > .milliseconds(250))
            #expect(!connection.isUsable)
            _ = try PostgresConnection.make().rows("SELECT pg_terminate_backend($1::bigint::int)", .integer(id))
            let error = #expect(throws: PostgresError.self) { _ = try connection.rows("SELECT 1::bigint") }
            #expect(error?.isCertain == true)
        }
    }

    @Test func `a connection that is ended while it is idle fails before anything is sent`() async throws {
        try await blocking {
            let connection = try PostgresConnection.make()
            let other = try PostgresConnection.make()
            let id = try connection.processID
            _ = try other.rows("SELECT pg_terminate_backend($1::bigint::int)", .integer(id))
            try waitUntil {
                let count = try other.rows("SELECT count(*) FROM pg_stat_activity WHERE pid = $1::bigint", .integer(id))
                return count.integer(0, 0) == 0
            }

            let error = #expect(throws: PostgresError.self) { _ = try connection.rows("SELECT 1::bigint") }

            #expect(error?.isCertain == true)
            #expect(!connection.isUsable)
        }
    }

    @Test func `a connection that is ended while it works leaves the outcome unknown`() async throws {
        try await blocking {
            let connection = try PostgresConnection.make()
            let id = try connection.processID
            Thread.detachNewThread {
                guard let other = try? PostgresConnection.make() else { return }
                // Once it works.
                let end = """
                    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                    WHERE pid = $1::bigint AND wait_event = 'PgSleep'
                    """
                try? waitUntil { try other.rows(end, .integer(id)).count > 0 }
            }

            let error = #expect(throws: PostgresError.self) {
                _ = try connection.run(PostgresStatement("sleep", "SELECT pg_sleep(7200)"), until: .after(.hours))
            }

            #expect(error?.isCertain == false)
            #expect(error?.state == "57P01")
            #expect(!connection.isUsable)
        }
    }

    @Test func `a warning is counted`() async throws {
        try await blocking {
            let connection = try PostgresConnection.make()

            let rows = try connection.execute(
                "DO $$ BEGIN RAISE WARNING 'beware'; RAISE NOTICE 'well'; END $$", until: .after(.hours))

            #expect(rows.warnings == 1)
            #expect(try connection.rows("SELECT 1::bigint").warnings == 0)
        }
    }

    @Test func `a server that does not answer is given up in time, and the next one is tried`() async throws {
        try await blocking {
            // It accepts connections, and says nothing.
            let silent = try SilentListener()
            let port = try PostgresCluster.shared.port
            let both = try PostgresSettings(
                uri: "postgresql://postgres@127.0.0.1:\(silent.port),127.0.0.1:\(port)/postgres")

            // The silent one gets half of the time; on a slow machine the other half may not be enough, either.
            var connection: PostgresConnection?
            try waitUntil {
                connection = try? PostgresConnection.connect(both, within: .seconds(1))
                return connection != nil
            }
            #expect(connection?.host == 1)
            let again = try PostgresConnection.connect(both, first: 1, within: .hours)
            #expect(again.host == 1)

            let error = #expect(throws: PostgresError.self) {
                _ = try PostgresConnection.connect(
                    PostgresSettings(uri: "postgresql://postgres@127.0.0.1:\(silent.port)/postgres"),
                    within: .milliseconds(300))
            }
            #expect(error?.isCertain == true)
        }
    }

    @Test func `a server that only reads is refused`() async throws {
        try await blocking {
            let cluster = try PostgresCluster.shared
            let database = try cluster.makeDatabase()
            let name = try #require(database.split(separator: "/").last)
            try cluster.query("ALTER DATABASE \(name) SET default_transaction_read_only = on")

            let error = #expect(throws: PostgresError.self) {
                _ = try PostgresConnection.connect(PostgresSettings(uri: database), within: .hours)
            }
            _ = try PostgresConnection.connect(
                PostgresSettings(uri: database + "?target_session_attrs=any"), within: .hours)

            #expect(error?.description.contains("session is read-only") == true)
        }
    }
}

@Suite struct PostgresSettingsTests {
    @Test(arguments: [
        "postgresql://ann:hush@127.0.0.1/d", "postgresql://ann@127.0.0.1/d?password=hush",
        "postgresql://ann@127.0.0.1/d?sslpassword=hush", "postgresql://ann%3Ahush@127.0.0.1/d",
        "postgresql://ann@127.0.0.1:1,ann:hush@127.0.0.1:2/d", "postgresql://ann@127.0.0.1,ann:hush@h/d",
    ])
    func `a secret in the URI is refused, and not repeated`(uri: String) {
        let error = #expect(throws: PostgresSettingsError.self) { _ = try PostgresSettings(uri: uri) }

        #expect("\(error!)".contains("PGPASSFILE"))
        #expect(!"\(error!)".contains("hush"))
    }

    @Test(arguments: [
        ("sqlite:/tmp", PostgresSettingsError.notURI), ("postgresql://ann:hush@[", .invalid),
        ("postgresql://ann@h/d;password=hush", .invalid), ("postgresql://ann@h/d#hush", .invalid),
        ("postgresql://ann@h/d%3Fpassword=hush", .invalid), ("postgresql://ann@h:hush/d", .invalid),
        ("postgresql://h:0/d", .invalid), ("postgresql://h:65536/d", .invalid),
        ("postgresql://h/d?nonsense=1", .invalid), ("postgresql://a,b/d?hostaddr=127.0.0.1", .invalid),
    ])
    func `what is no URI of a database is refused`(uri: String, error: PostgresSettingsError) {
        #expect(throws: error) { _ = try PostgresSettings(uri: uri) }
    }

    @Test func `settings are shown without a secret`() throws {
        let settings = try PostgresSettings(
            uri: "postgresql://ann@h1:5432,h2:5433/d?sslmode=require", password: { "hush" })
        var dumped = ""
        dump(settings, to: &dumped)

        #expect("\(settings)" == "postgresql://ann@h1:5432,h2:5433/d")
        #expect(!dumped.contains("hush") && !String(reflecting: settings).contains("hush"))
    }

    @Test func `a password opens what needs one, and its absence does not`() async throws {
        try await blocking {
            _ = try PostgresConnection.make("secured", password: "secured")

            for password in [nil, "wrong-hush"] {
                let error = #expect(throws: PostgresError.self) {
                    _ = try PostgresConnection.make("secured", password: password)
                }
                #expect(error?.isCertain == true)
                #expect(!"\(error!)".contains("hush"))
            }
        }
    }

    @Test func `over TLS, only the server with the trusted certificate and the right name is accepted`() async throws {
        try await blocking {
            let cluster = try PostgresCluster(hasTLS: true)
            let other = try PostgresCluster(hasTLS: true)
            func connect(_ host: String, trusting certificate: String?) throws {
                let uri =
                    "postgresql://postgres@\(host):\(cluster.port)/postgres?sslmode=verify-full"
                    + "&sslrootcert=\(certificate ?? "")&tcp_user_timeout=0"
                let connection = try PostgresConnection.connect(PostgresSettings(uri: uri), within: .hours)
                let rows = try connection.rows("SELECT FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl")
                #expect(rows.count == 1)
                // Larger than what TLS sends at once.
                let text = String(repeating: "x", count: 3_000_000)
                #expect(try connection.rows("SELECT $1::text", .text(text)).text(0, 0) == text)
            }

            try connect("localhost", trusting: cluster.certificate)
            #expect(throws: PostgresError.self) { try connect("localhost", trusting: other.certificate) }
            #expect(throws: PostgresError.self) { try connect("127.0.0.1", trusting: cluster.certificate) }
        }
    }
}

/// Accepts connections on 127.0.0.1, and never answers.
final class SilentListener {
    private let listener: Int32
    let port: Int

    init() throws {
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = listener
        port = try withUnsafeMutableBytes(of: &address) { bytes in
            let address = try #require(bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self))
            try #require(bind(listener, address, size) == 0 && getsockname(listener, address, &size) == 0)
            return Int(UInt16(bigEndian: bytes.load(fromByteOffset: 2, as: UInt16.self)))
        }
        try #require(listen(listener, 8) == 0)
    }

    deinit { close(listener) }
}
