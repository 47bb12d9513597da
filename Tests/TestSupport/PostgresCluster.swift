internal import Foundation
internal import Glibc
internal import Synchronization

/// A PostgreSQL server of a test's own, in a temporary directory: it listens on 127.0.0.1 and on a Unix socket, and is
/// stopped and removed with this value, or when the process ends in whatever way. Its calls block; from a task, the
/// asynchronous ones of the same names are made, which block threads of their own.
///
/// Whoever connects as `postgres` is trusted; the role `secured` needs its password, `secured` too, and so does `turning`.
public final class PostgresCluster: Sendable {
    public enum StopMode: String, Sendable {
        /// Disconnects everybody, and writes everything to disk.
        case fast
        /// As a crash of the server: what was not acknowledged may be lost.
        case immediate
    }

    /// The directory of everything; the server's data is in `data`.
    public let directory: String
    /// On 127.0.0.1.
    public let port: Int
    /// Keeps the port for this cluster, also while its server is stopped, see `reservePort`.
    private let reservation: FileHandle
    /// The file with the certificate to trust; `nil` without TLS. The server's name is `localhost`.
    public let certificate: String?
    /// Ends the server when it is closed: the other end is the standard input of a watchdog.
    private let lifeline: FileHandle
    private let databases = Mutex(0)

    private static let sharedCluster = Mutex<PostgresCluster?>(nil)

    /// The one server that all tests of a process use for what does not need to survive a crash: it never flushes.
    public static var shared: PostgresCluster {
        get throws {
            try sharedCluster.withLock { cluster in
                if let cluster { return cluster }
                let started = try PostgresCluster()
                cluster = started
                return started
            }
        }
    }

    /// What `initdb` makes, once for all clusters of a process. It is never started.
    private static let empty = Result {
        let cluster = try PostgresCluster(hasTLS: false)
        try cluster.run(
            "initdb", "--pgdata", cluster.data, "--username", "postgres", "--auth", "trust", "--encoding", "UTF8",
            "--locale", "C", "--no-sync", "--no-instructions")
        return cluster
    }

    /// Makes a cluster, and starts it.
    ///
    /// - Parameters:
    ///   - isDurable: whether it flushes what it commits. A test that kills the server needs that.
    ///   - settings: lines of postgresql.conf.
    public convenience init(isDurable: Bool = false, hasTLS: Bool = false, settings: [String] = []) throws {
        try self.init(hasTLS: hasTLS)
        try PostgresCluster.runTool("/bin/cp", ["--archive", PostgresCluster.empty.get().data, data])
        try """
        local all all trust
        local replication all trust
        host all secured,turning 127.0.0.1/32 scram-sha-256
        host all all 127.0.0.1/32 trust
        host replication all 127.0.0.1/32 trust
        """.write(toFile: data + "/pg_hba.conf", atomically: false, encoding: .utf8)
        var lines = [
            "max_connections = 300", "authentication_timeout = 600s", "wal_level = replica", "max_wal_senders = 10",
            "logging_collector = off", "shared_buffers = 64MB", "max_wal_size = 1GB", "wal_keep_size = 256MB",
            "autovacuum_naptime = 5s",
        ]
        if !isDurable { lines += ["fsync = off", "full_page_writes = off", "synchronous_commit = off"] }
        if hasTLS {
            lines += [
                "ssl = on", "ssl_cert_file = '\(directory)/server.crt'", "ssl_key_file = '\(directory)/server.key'",
            ]
        }
        try append(lines + settings)
        try start()
        try query("CREATE ROLE secured LOGIN PASSWORD 'secured'")
    }

    private init(hasTLS: Bool) throws {
        directory = "/tmp/coordinatord-postgres-\(UUID().uuidString.prefix(8))"
        (port, reservation) = try PostgresCluster.reservePort()
        certificate = hasTLS ? directory + "/server.crt" : nil
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        lifeline = try PostgresCluster.watchdog(of: directory)
        if hasTLS { try makeCertificate() }
        if PostgresCluster.isRoot { try PostgresCluster.runTool("/usr/bin/chown", ["-R", "postgres:", directory]) }
    }

    deinit { try? lifeline.close() }

    var data: String { directory + "/data" }

    /// A new database.
    ///
    /// - Returns: its URI, on 127.0.0.1.
    public func makeDatabase() throws -> String {
        let name = "test\(databases.withLock { count in count += 1; return count })"
        try query("CREATE DATABASE \(name) TEMPLATE template0")
        return uri(name)
    }

    public func uri(_ database: String = "postgres", user: String = "postgres") -> String {
        "postgresql://\(user)@127.0.0.1:\(port)/\(database)"
    }

    /// Runs a command with psql.
    ///
    /// - Parameter database: its name, or a URI.
    /// - Returns: the values, a line for each row, with `|` between them.
    @discardableResult
    public func query(_ sql: String, in database: String = "postgres") throws -> String {
        let name = database.hasPrefix("postgresql://") ? database : uri(database)
        return try run(
            "psql", "--dbname", name, "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set",
            "ON_ERROR_STOP=1", "--command", sql)
    }

    /// Makes the servers that use a store in this database an hour younger than they are, and its batches, too: however
    /// slow the machine is, no server counts as gone, and no batch is deleted.
    public func rejuvenate(_ database: String) throws {
        try query(
            """
            ALTER TABLE batches ALTER COLUMN at SET DEFAULT clock_timestamp() + interval '1 hour';
            CREATE FUNCTION rejuvenate() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
              NEW.seen = NEW.seen + interval '1 hour'; RETURN NEW; END $$;
            CREATE TRIGGER rejuvenate BEFORE INSERT OR UPDATE ON replicas FOR EACH ROW EXECUTE FUNCTION rejuvenate();
            UPDATE replicas SET seen = clock_timestamp()
            """, in: database)
    }

    public func append(_ lines: [String]) throws {
        let file = try FileHandle(forWritingTo: URL(filePath: data + "/postgresql.conf"))
        try file.seekToEnd()
        try file.write(contentsOf: Data(("\n" + lines.joined(separator: "\n") + "\n").utf8))
        try file.close()
    }

    // MARK: - Running

    /// Starts the server, and waits until it accepts connections.
    public func start() throws {
        try waitUntil {
            let logged = serverLog.utf8.count
            do {
                try control(
                    "start", "--wait", "--log", directory + "/log", "--options",
                    "-p \(port) -h 127.0.0.1 -k \(directory)")
                return true
            } catch {
                // What was there before may need a moment to end.
                let reasons = ["is still in use", "already in use", "already exists"]
                let text = String(decoding: serverLog.utf8.dropFirst(logged), as: UTF8.self)
                guard reasons.contains(where: text.contains) else { throw error }
                return false
            }
        }
    }

    private var serverLog: String { (try? String(contentsOfFile: directory + "/log", encoding: .utf8)) ?? "" }

    private func control(_ command: String, _ arguments: String...) throws {
        let limit = ["--timeout", "\(hangLimit)"]
        try run("pg_ctl", [command, "--silent", "--pgdata", data] + limit + arguments)
    }

    public func stop(_ mode: StopMode = .fast) throws {
        try control("stop", "--wait", "--mode", mode.rawValue)
    }

    public func restart(_ mode: StopMode = .fast) throws {
        try stop(mode)
        try start()
    }

    /// Kills all of the server's processes. Returns when they have ended.
    public func kill() throws {
        try setFrozen(true)
        let processes = try processes
        for process in processes { Glibc.kill(process, SIGKILL) }
        try waitUntil { processes.allSatisfy(PostgresCluster.hasEnded) }
    }

    /// Stops all of the server's processes for a while (SIGSTOP), or lets them go on.
    public func setFrozen(_ isFrozen: Bool) throws {
        // First the main process, which then starts no other ones.
        if isFrozen { Glibc.kill(try processID, SIGSTOP) }
        for process in try processes { Glibc.kill(process, isFrozen ? SIGSTOP : SIGCONT) }
    }

    /// The main process and its children.
    private var processes: [pid_t] {
        get throws {
            let id = try processID
            let children = try? PostgresCluster.runTool("/usr/bin/pgrep", ["-P", "\(id)"])
            return [id] + (children ?? "").split(separator: "\n").compactMap { pid_t($0) }
        }
    }

    /// Whether a process, which need not be one of this process' children, has ended.
    private static func hasEnded(_ process: pid_t) -> Bool {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process)/exe")) == nil
    }

    public func reload() throws {
        try control("reload")
    }

    private var processID: pid_t {
        get throws {
            let text = try String(contentsOfFile: data + "/postmaster.pid", encoding: .utf8)
            guard let id = text.split(separator: "\n").first.flatMap({ pid_t($0) }) else {
                throw TestFailure("there is no process in postmaster.pid")
            }
            return id
        }
    }

    // MARK: - Standbys

    /// Makes a standby of this server, and starts it.
    ///
    /// - Parameter isSynchronous: whether this server, from now on, acknowledges a commit only when the standby has it.
    public func makeStandby(isSynchronous: Bool) throws -> PostgresCluster {
        let standby = try PostgresCluster(hasTLS: false)
        let name = "standby\(standby.port)"
        try standby.run(
            "pg_basebackup", "--pgdata", standby.data, "--write-recovery-conf", "--checkpoint", "fast", "--no-sync",
            "--dbname", "host=127.0.0.1 port=\(port) user=postgres application_name=\(name)")
        // After each restart of the primary server, all commits wait until the standby looks again.
        try standby.append(["wal_retrieve_retry_interval = 200ms"])
        try standby.start()
        if isSynchronous {
            try query("ALTER SYSTEM SET synchronous_standby_names = '\(name)'")
            try reload()
        }
        let state = isSynchronous ? "sync" : "async"
        try waitUntil {
            try query(
                "SELECT sync_state FROM pg_stat_replication WHERE application_name = '\(name)' AND state = 'streaming'"
            ).hasPrefix(state)
        }
        if isSynchronous { try waitUntilCommitsWait(for: standby) }
        return standby
    }

    /// Returns when commits wait for a standby, which has everything that was committed before: a standby that is shown
    /// as synchronous may still be behind, and the server may still answer without it.
    private func waitUntilCommitsWait(for standby: PostgresCluster) throws {
        try waitUntil {
            try standby.setFrozen(true)
            let commit = Thread { [self] in _ = try? query("CREATE TABLE waits (); DROP TABLE waits") }
            commit.start()
            var isWaiting = false
            try waitUntil {
                isWaiting = try query("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") != "0"
                return isWaiting || commit.isFinished
            }
            try standby.setFrozen(false)
            try waitUntil { commit.isFinished }
            return isWaiting
        }
    }

    /// Cuts a standby off from its primary server, so that it misses what is committed from now on.
    public func stopFollowing() throws {
        try query("ALTER SYSTEM SET primary_conninfo = ''")
        try reload()
        try waitUntil { try query("SELECT count(*) FROM pg_stat_wal_receiver") == "0" }
    }

    /// Makes a standby the primary server, and waits until it can be written to.
    public func promote() throws {
        try control("promote", "--wait")
    }

    // MARK: - Parts

    private static var isRoot: Bool { geteuid() == 0 }

    private static let programs: String? = {
        let root = "/usr/lib/postgresql"
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
        return versions.compactMap { Int($0) }.max().map { "\(root)/\($0)/bin" }
    }()

    @discardableResult
    private func run(_ program: String, _ arguments: String...) throws -> String { try run(program, arguments) }

    @discardableResult
    private func run(_ program: String, _ arguments: [String]) throws -> String {
        guard let programs = PostgresCluster.programs else { throw TestFailure("install Debian's package postgresql") }
        let command = ["\(programs)/\(program)"] + arguments
        guard PostgresCluster.isRoot else {
            return try PostgresCluster.runTool(command[0], Array(command.dropFirst()), in: directory)
        }
        // PostgreSQL refuses to run as root.
        return try PostgresCluster.runTool(
            "/usr/bin/setpriv", ["--reuid=postgres", "--regid=postgres", "--clear-groups"] + command, in: directory)
    }

    /// Runs a program to its end. `Process` would also wait for the server that pg_ctl leaves behind.
    ///
    /// - Returns: standard output, without the last line break.
    @discardableResult
    private static func runTool(_ path: String, _ arguments: [String], in directory: String = "/") throws -> String {
        let files = (0..<2).map { _ in "/tmp/coordinatord-output-\(UUID().uuidString)" }
        defer { for file in files { unlink(file) } }
        // A server would keep the tests' own sockets open.
        let script = """
            cd "$0"; for path in /proc/self/fd/*; do fd=${path##*/}; [ $fd -le 2 ] || eval "exec $fd>&-"; done; exec "$@"
            """
        let command = ["/bin/bash", "-c", script, directory, path] + arguments
        var copies = command.map { strdup($0) } + [nil]
        defer { for copy in copies { free(copy) } }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        for (index, file) in files.enumerated() {
            posix_spawn_file_actions_addopen(&actions, Int32(index + 1), file, O_WRONLY | O_CREAT, 0o600)
        }
        var process = pid_t()
        guard posix_spawn(&process, command[0], &actions, nil, &copies, environ) == 0 else {
            throw TestFailure("\(path) cannot be run")
        }
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        let texts = files.map { (try? String(contentsOfFile: $0, encoding: .utf8)) ?? "" }
        guard status == 0 else {
            throw TestFailure("\(path) \(arguments.joined(separator: " ")): \(texts[1])")
        }
        return texts[0].trimmingCharacters(in: .newlines)
    }

    /// Starts a shell that waits until its standard input ends, then ends the server and removes the directory.
    private static func watchdog(of directory: String) throws -> FileHandle {
        let process = Process()
        let pipe = Pipe()
        // No other child may hold this end open.
        _ = fcntl(pipe.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = [
            "-c",
            """
            trap '' INT TERM HUP; cat > /dev/null
            id=$(head -1 "$0/data/postmaster.pid" 2> /dev/null) && kill -CONT "$id" && kill -QUIT "$id"
            while [ -e "/proc/$id/exe" ]; do sleep 0.1; done
            rm -rf "$0"
            """, directory,
        ]
        process.standardInput = pipe
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        return pipe.fileHandleForWriting
    }

    private func makeCertificate() throws {
        try PostgresCluster.runTool(
            "/usr/bin/openssl",
            [
                "req", "-new", "-x509", "-days", "2", "-nodes", "-newkey", "rsa:2048", "-subj", "/CN=localhost",
                "-addext",
                "subjectAltName=DNS:localhost", "-out", directory + "/server.crt", "-keyout", directory + "/server.key",
            ])
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: directory + "/server.key")
    }

    /// A port that nothing else takes, also while the server is restarted: it is below those that the system gives out,
    /// and reserved among the tests' processes by a socket that has the same port on another address of this machine.
    private static func reservePort() throws -> (Int, FileHandle) {
        for port in (20_000..<30_000).shuffled() {
            guard let reservation = bound(to: 0x7F00_0002, port) else { continue }
            let file = FileHandle(fileDescriptor: reservation, closeOnDealloc: true)
            guard let probe = bound(to: 0x7F00_0001, port) else { continue }
            close(probe)
            return (port, file)
        }
        throw TestFailure("there is no free port")
    }

    /// - Returns: a socket that no child inherits; `nil` if the port is taken.
    private static func bound(to host: UInt32, _ port: Int) -> Int32? {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        address.sin_addr.s_addr = host.bigEndian
        let isBound = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        if isBound { return socket }
        close(socket)
        return nil
    }
}

// MARK: - From tasks

extension PostgresCluster {
    /// A new database of the one server that all tests of a process use.
    ///
    /// - Returns: its URI, on 127.0.0.1.
    public static func makeDatabase() async throws -> String { try await blocking { try shared.makeDatabase() } }

    public func makeDatabase() async throws -> String { try await blocking { try self.makeDatabase() } }

    @discardableResult
    public func query(_ sql: String, in database: String = "postgres") async throws -> String {
        try await blocking { try self.query(sql, in: database) }
    }

    public func start() async throws { try await blocking { try self.start() } }

    public func stop(_ mode: StopMode = .fast) async throws { try await blocking { try self.stop(mode) } }

    public func restart(_ mode: StopMode = .fast) async throws { try await blocking { try self.restart(mode) } }

    public func setFrozen(_ isFrozen: Bool) async throws { try await blocking { try self.setFrozen(isFrozen) } }

    public func kill() async throws { try await blocking { try self.kill() } }

    public func rejuvenate(_ database: String) async throws { try await blocking { try self.rejuvenate(database) } }

    public func reload() async throws { try await blocking { try self.reload() } }

    public func makeStandby(isSynchronous: Bool) async throws -> PostgresCluster {
        try await blocking { try self.makeStandby(isSynchronous: isSynchronous) }
    }

    public func stopFollowing() async throws { try await blocking { try self.stopFollowing() } }

    public func promote() async throws { try await blocking { try self.promote() } }
}
