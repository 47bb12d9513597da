import Foundation
import Synchronization
import TestSupport

/// Several servers on a PostgreSQL cluster of their own.
final class Replicas: Sendable {
    private struct Database {
        var primary: PostgresCluster
        var standby: PostgresCluster?
    }

    let servers: [ServerUnderTest]
    /// Between each server and the database, if that was wanted.
    let links: [NetworkLink]
    private let database: Mutex<Database>
    /// The ports of the primary and the standby as the servers know them: a failover exchanges what is behind them.
    private let doors: [NetworkLink]
    private let directory = TemporaryDirectory()

    var ports: [Int] { servers.map(\.port) }
    var primary: PostgresCluster { database.withLock(\.primary) }
    var standby: PostgresCluster? { database.withLock(\.standby) }

    /// - Parameters:
    ///   - executable: `nil` for `coordinatord`.
    ///   - hasStandby: whether a synchronous standby follows the database.
    ///   - linked: whether each server has a link of its own to the database, see `links`.
    static func with(
        _ count: Int, of executable: String? = nil, hasStandby: Bool = false, linked: Bool = false,
        _ body: (Replicas) async throws -> Void
    ) async throws {
        let replicas = try await Replicas(count, of: executable, hasStandby: hasStandby, linked: linked)
        do { try await body(replicas) } catch {
            await replicas.end()
            throw error
        }
        for server in replicas.servers { try await server.stop() }
        await replicas.end()
    }

    private init(_ count: Int, of executable: String?, hasStandby: Bool, linked: Bool) async throws {
        let primary = try await blocking { try PostgresCluster(isDurable: true) }
        let standby = hasStandby ? try await blocking { try primary.makeStandby(isSynchronous: true) } : nil
        let doors = [try NetworkLink(to: primary.port), try NetworkLink(to: standby?.port ?? 1)]
        let links = linked ? try (0..<count).map { _ in try NetworkLink(to: primary.port) } : []
        var servers: [ServerUnderTest] = []
        for index in 0..<count {
            let ports = linked ? [links[index].port] : doors.map(\.port)
            let hosts = ports.map { "127.0.0.1:\($0)" }.joined(separator: ",")
            servers.append(
                try await ServerUnderTest(
                    executable, directory: "\(directory.path)/\(index)",
                    store: "postgresql://postgres@\(hosts)/postgres"))
        }
        (self.servers, self.links, self.doors) = (servers, links, doors)
        database = Mutex(Database(primary: primary, standby: standby))
    }

    private func end() async {
        for link in doors + links { link.close() }
    }

    func addStandby(isSynchronous: Bool) throws {
        let standby = try primary.makeStandby(isSynchronous: isSynchronous)
        database.withLock { $0.standby = standby }
        doors.first { $0.target != primary.port }?.lead(to: standby.port)
    }

    /// Crashes the primary server, and promotes the standby.
    func failOver(isStandbyStopped: Bool = false) throws {
        guard let standby else { throw TestFailure("there is no standby") }
        try primary.kill()
        if isStandbyStopped { try standby.start() }
        try standby.promote()
        database.withLock { $0 = Database(primary: standby) }
    }

    /// Waits until all servers answer an event.
    func waitUntilServing() async throws {
        for port in ports {
            let client = BlockingClient(port: port)
            try await eventually {
                client.call("POST", "/v1/sessions", body: #"{"app":"numbers"}"#)?.status == 201
            }
        }
    }

    /// Waits until the standby has replayed everything that is committed now. Nobody may write meanwhile.
    func waitUntilStandbyHasAll() async throws {
        let primary = primary
        let end = try await blocking { try primary.query("SELECT pg_current_wal_lsn()") }
        try await eventually {
            try await blocking {
                try primary.query("SELECT count(*) FROM pg_stat_replication WHERE replay_lsn >= '\(end)'") != "0"
            }
        }
    }
}
