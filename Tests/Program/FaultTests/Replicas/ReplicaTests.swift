import Foundation
import Glibc
import Testing
import TestSupport

/// Several servers on one database: beside the tests of one server, because they mostly wait for it.
@Suite(.serialized, .timeLimit(.minutes(10 * Scale.factor))) struct ReplicaTests {
    @Test func `whichever server gets an event, it is applied once, and no answer is older than another`()
        async throws
    {
        try await Replicas.with(3) { replicas in
            let clients = try ReplicaClients(40, ports: replicas.ports)
            try await clients.run(24) { try await Task.sleep(for: .seconds(Scale.rounds(6, long: 100))) }
            print("events: \(clients.results.summary)")
            let faults = try clients.check()
            #expect(faults == [])
            #expect(clients.results.answered > 1000)
        }
    }

    @Test func `servers that are killed or frozen lose nothing, and leave the others' sessions alone`() async throws {
        try await Replicas.with(3) { replicas in
            let clients = try ReplicaClients(40, ports: replicas.ports)
            try await clients.run {
                for round in 0..<Scale.rounds(12, long: 500) {
                    let server = replicas.servers[round % 3]
                    try await clients.hindering(server.port) {
                        try await server.kill()
                        try await server.restart()
                    }
                    try await Task.sleep(for: .milliseconds(.random(in: 0...300)))
                }
                for round in 0..<Scale.rounds(4, long: 200) {
                    let server = replicas.servers[round % 3]
                    let longest = Scale.factor > 1 ? 30_000 : 3000
                    try await clients.hindering(server.port) {
                        server.signal(SIGSTOP)
                        try await Task.sleep(for: .milliseconds(Int.random(in: 1000...longest)))
                        server.signal(SIGCONT)
                    }
                    try await Task.sleep(for: .milliseconds(.random(in: 0...300)))
                }
            }
            print("kills and stops: \(clients.results.summary)")
            let faults = try clients.check()
            #expect(faults == [])
        }
    }

    @Test func `a new version is rolled out, back and out again under load, and loses no state`() async throws {
        try await Replicas.with(3, of: Program.oddServer.path) { replicas in
            let clients = try ReplicaClients(40, of: "ledger", ports: replicas.ports)
            try await clients.run {
                for version in [2, 1, 2] {
                    for server in replicas.servers {
                        try await server.stop()
                        try await server.restart(environment: ["ODD_VERSION": "\(version)"])
                        try await Task.sleep(for: .milliseconds(300))
                    }
                }
            }
            print("rolled out: \(clients.results.summary)")
            let faults = try clients.check()
            #expect(faults == [])
            #expect(clients.results.again["newer-app"] ?? 0 > 0)
            #expect(Set(clients.results.again.keys).isSubset(of: ["newer-app", "cut"]))
        }
    }

    @Test func `many clients of one session at all servers are all served`() async throws {
        try await Replicas.with(3) { replicas in
            let clients = try ReplicaClients(1, ports: replicas.ports)
            let time = Scale.rounds(4, long: 50)
            // As many at each server as one session lets wait there.
            try await clients.run(3 * 32, isPinned: true) { try await Task.sleep(for: .seconds(time)) }
            print("\(clients.results.answered / time) a second of one session: \(clients.results.summary)")
            let faults = try clients.check()
            #expect(faults == [])
            #expect(clients.results.again == [:])
        }
    }

    @Test func `a database that restarts, or whose standby takes over, loses nothing`() async throws {
        try await Replicas.with(3, hasStandby: true) { replicas in
            let clients = try ReplicaClients(40, ports: replicas.ports)
            let begin = ContinuousClock.now
            try await clients.run {
                for round in 0..<Scale.rounds(3, long: 200) {
                    let before = ContinuousClock.now - begin
                    try await blocking { try replicas.primary.restart(round % 2 == 0 ? .immediate : .fast) }
                    print("restart \(round) from \(before) to \(ContinuousClock.now - begin)")
                    try await Task.sleep(for: .milliseconds(.random(in: 500...1500)))
                }
                for _ in 0..<Scale.rounds(2, long: 50) {
                    let start = ContinuousClock.now
                    try await blocking { try replicas.failOver() }
                    let promoted = ContinuousClock.now
                    try await replicas.waitUntilServing()
                    print(
                        "failover took \(promoted - start), serving again after \(ContinuousClock.now - promoted)")
                    try await Task.sleep(for: .seconds(1))
                    try await blocking { try replicas.addStandby(isSynchronous: true) }
                }
            }
            print("restarts and failovers: \(clients.results.summary)")
            let faults = try clients.check()
            #expect(faults == [])
        }
    }

    @Test func `after commits were lost with an asynchronous standby, no tag names other content`() async throws {
        try await Replicas.with(3) { replicas in
            for _ in 0..<Scale.rounds(1, long: 20) {
                try await blocking { try replicas.addStandby(isSynchronous: false) }
                let clients = try ReplicaClients(20, ports: replicas.ports)
                try await clients.run { try await Task.sleep(for: .seconds(1)) }
                // The standby gets nothing of what follows.
                try await blocking { try replicas.standby?.stop() }
                try await clients.run { try await Task.sleep(for: .seconds(1)) }
                let client = BlockingClient(port: replicas.ports[0])
                let before = clients.sessions.map { client.call("GET", $0.path, token: $0.token) }
                try await blocking { try replicas.failOver(isStandbyStopped: true) }
                try await replicas.waitUntilServing()

                var lost = 0
                for (session, reply) in zip(clients.sessions, before) {
                    for port in replicas.ports {
                        let client = BlockingClient(port: port)
                        let version = try #require(reply?.version)
                        let after = try #require(client.call("GET", session.path, token: session.token))
                        #expect(after.status == 200)
                        if after.version ?? 0 < version { lost += 1 }
                        let tag = reply?.tag
                        let known = client.call(
                            "GET", session.path, token: session.token, condition: tag.map { "If-None-Match: \($0)" }
                        )
                        #expect(known?.status == 200, "\(tag ?? "") is still known")
                        #expect(after.tag != tag)
                        let event = client.call(
                            "POST", "\(session.path)/events", token: session.token,
                            condition: tag.map { "If-Match: \($0)" }, body: #"{"type":"update","payload":-1}"#)
                        #expect(event?.status == 412)
                    }
                }
                #expect(lost > 0, "nothing was lost, so nothing was tested")
                print("\(lost) answers of \(3 * before.count) are older after the loss")
            }
        }
    }

    @Test(arguments: [NetworkLink.Condition.partitioned, .deafServer, .deafClients])
    func `a server that does not reach the database says so, and is back at once`(
        condition: NetworkLink.Condition
    ) async throws {
        try await Replicas.with(3, linked: true) { replicas in
            let clients = try ReplicaClients(20, ports: replicas.ports)
            let cutOff = BlockingClient(port: replicas.ports[0])
            let session = try ReplicaClients(1, ports: replicas.ports).sessions[0]
            try await clients.run(6) {
                for _ in 0..<Scale.rounds(1, long: 20) {
                    try await Task.sleep(for: .milliseconds(500))
                    let start = ContinuousClock.now
                    replicas.links[0].set(condition)
                    while cutOff.call("GET", "/readyz")?.status == 200, .now - start < .seconds(15) {
                        usleep(50_000)
                    }
                    print("\(condition): not ready after \(ContinuousClock.now - start)")
                    let asked = ContinuousClock.now
                    let reply = cutOff.call(
                        "POST", "\(session.path)/events", token: session.token,
                        body: #"{"type":"update","payload":1}"#)
                    print("\(condition): \(reply?.text ?? "cut") after \(ContinuousClock.now - asked)")
                    #expect(reply?.status == 503)
                    let healed = ContinuousClock.now
                    replicas.links[0].set(.whole)
                    while cutOff.call("GET", "/readyz")?.status != 200, .now - healed < .seconds(15) {
                        usleep(50_000)
                    }
                    while cutOff.call("GET", session.path, token: session.token)?.status != 200,
                        .now - healed < .seconds(15)
                    {
                        usleep(50_000)
                    }
                    print("\(condition): back after \(ContinuousClock.now - healed)")
                }
            }
            print("\(condition): \(clients.results.summary)")
            let faults = try clients.check()
            #expect(faults == [])
        }
    }

    @Test func `who watches a session at one server sees what is done at the others`() async throws {
        try await Replicas.with(3) { replicas in
            let client = BlockingClient(port: replicas.ports[0])
            let sessions = try (0..<20).map { _ in try SessionUnderTest(client) }
            let watchers = sessions.enumerated().map { index, session in
                StreamWatcher(port: replicas.ports[index % 3], session)
            }
            async let watched: Void = withTaskGroup { group in
                for watcher in watchers { group.addTask { try? await blocking { watcher.run() } } }
            }
            var times: [Duration] = []
            for number in 1...Scale.rounds(200, long: 2000) {
                let index = Int.random(in: sessions.indices)
                let other = BlockingClient(port: replicas.ports[(index + 1) % 3])
                _ = try sessions[index].postAndRemember(number, key: "key-\(number)", other)
                let start = ContinuousClock.now
                while watchers[index].last < sessions[index].count + 1, .now - start < .seconds(5) { usleep(2_000) }
                times.append(.now - start)
                if number == 100 {
                    try await replicas.servers[1].kill()
                    try await replicas.servers[1].restart()
                }
            }
            for watcher in watchers { watcher.end() }
            await watched
            times.sort()
            print("told after \(times[times.count / 2]) (median), \(times[times.count * 99 / 100]) (p99)")
            #expect(zip(watchers, sessions).allSatisfy { $0.last == $1.count + 1 })
            #expect(watchers.flatMap(\.faults) == [])
        }
    }
}

extension ReplicaClients.Figures {
    fileprivate var summary: String {
        "\(answered) answered, p50 \(percentile(0.5)), p99 \(percentile(0.99)), sent again: \(again)"
    }
}
