import Foundation
import Glibc
import Testing
import TestSupport

/// Several servers on one database: beside the tests of one server, because they mostly wait for it.
@Suite(.serialized, .ownThreads) struct ReplicaTests {
    @Test(.longForm)
    func `whichever server gets an event, it is applied once, and no answer is older than another`() async throws {
        try await Replicas.with(3) { replicas in
            let clients = try ReplicaClients(40, ports: replicas.ports)
            try await clients.run(24) { try await clients.answer(Scale.rounds(2500, long: 100_000)) }
            print("events: \(clients.results.summary)")
            let faults = try clients.check()
            #expect(faults == [])
        }
    }

    @Test func `servers that are killed or frozen lose nothing, and leave the others' sessions alone`() async throws {
        try await Replicas.with(3) { replicas in
            let clients = try ReplicaClients(40, ports: replicas.ports)
            try await clients.run {
                for round in 0..<Scale.rounds(6, long: 500) {
                    let server = replicas.servers[round % 3]
                    try await server.kill()
                    try await server.restart()
                    try await clients.answer(.random(in: 0...200))
                }
                for round in 0..<Scale.rounds(3, long: 200) {
                    let server = replicas.servers[round % 3]
                    let longest = Scale.factor > 1 ? 30_000 : 3000
                    server.signal(SIGSTOP)
                    try await Task.sleep(for: .milliseconds(Int.random(in: 1000...longest)))
                    server.signal(SIGCONT)
                    try await clients.answer(.random(in: 0...200))
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
                        if version == 2 { try await clients.answer(100) }
                        // While one has the new version, the others refuse what it has changed; once all are back, they
                        // refuse everything.
                        let refused = clients.results.again["newer-app"] ?? 0
                        let isLast = server === replicas.servers.last
                        guard version == 1 || !isLast else { continue }
                        try await eventually { clients.results.again["newer-app"] ?? 0 > refused + 20 }
                    }
                }
            }
            print("rolled out: \(clients.results.summary)")
            let faults = try clients.check()
            #expect(faults == [])
            #expect(Set(clients.results.again.keys).isSubset(of: ["newer-app", "cut"] + ReplicaTests.late))
        }
    }

    @Test(.longForm) func `many clients of one session at all servers are all served`() async throws {
        try await Replicas.with(3) { replicas in
            let clients = try ReplicaClients(1, ports: replicas.ports)
            // As many at each server as one session lets wait there.
            try await clients.runPinned(3 * 32, steps: Scale.rounds(12, long: 500))
            print("one session: \(clients.results.summary)")
            let faults = try clients.check()
            #expect(faults == [])
            #expect(Set(clients.results.again.keys).isSubset(of: ReplicaTests.late))
        }
    }

    /// Why servers refuse what they or the database are too slow for. None is a limit on how many wait.
    private static let late = ["store-unavailable", "unknown", "handler-deadline"]

    @Test(.longForm) func `a database that restarts, or whose standby takes over, loses nothing`() async throws {
        try await Replicas.with(3, hasStandby: true) { replicas in
            let clients = try ReplicaClients(40, ports: replicas.ports)
            try await clients.run {
                for round in 0..<Scale.rounds(3, long: 200) {
                    try await blocking { try replicas.primary.restart(round % 2 == 0 ? .immediate : .fast) }
                    try await clients.answer(.random(in: 100...500))
                }
                for _ in 0..<Scale.rounds(2, long: 50) {
                    try await blocking { try replicas.failOver() }
                    try await replicas.waitUntilServing()
                    try await clients.answer(300)
                    try await blocking { try replicas.addStandby(isSynchronous: true) }
                }
            }
            print("restarts and failovers: \(clients.results.summary)")
            let faults = try clients.check()
            #expect(faults == [])
        }
    }

    @Test(.longForm)
    func `after commits were lost with an asynchronous standby, no tag names other content`() async throws {
        try await Replicas.with(3) { replicas in
            for _ in 0..<Scale.rounds(1, long: 20) {
                try await blocking { try replicas.addStandby(isSynchronous: false) }
                let clients = try ReplicaClients(20, ports: replicas.ports)
                try await clients.run { try await clients.answer(300) }
                try await replicas.waitUntilStandbyHasAll()
                // The standby gets nothing of what follows.
                try await blocking { try replicas.standby?.stop() }
                try await clients.run { try await clients.answer(300) }
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

    @Test(arguments: Scale.isLong ? [NetworkLink.Condition.partitioned, .deafServer, .deafClients] : [.deafServer])
    func `a server that does not reach the database says so, and is back when it does`(
        condition: NetworkLink.Condition
    ) async throws {
        try await Replicas.with(3, linked: true) { replicas in
            let clients = try ReplicaClients(20, ports: replicas.ports)
            let cutOff = BlockingClient(port: replicas.ports[0])
            let session = try ReplicaClients(1, ports: replicas.ports).sessions[0]
            try await clients.run(6) {
                for _ in 0..<Scale.rounds(1, long: 20) {
                    try await clients.answer(50)
                    replicas.links[0].set(condition)
                    try await eventually { cutOff.call("GET", "/readyz")?.status != 200 }
                    let reply = cutOff.call(
                        "POST", "\(session.path)/events", token: session.token,
                        body: #"{"type":"update","payload":1}"#)
                    print("\(condition): \(reply?.text ?? "cut")")
                    #expect(reply?.status == 503)
                    replicas.links[0].set(.whole)
                    try await eventually { cutOff.call("GET", "/readyz")?.status == 200 }
                    try await eventually {
                        cutOff.call("GET", session.path, token: session.token)?.status == 200
                    }
                }
            }
            print("\(condition): \(clients.results.summary)")
            let faults = try clients.check()
            #expect(faults == [])
        }
    }

    @Test func `a clock that is set while a server runs moves no timer`() async throws {
        let directory = TemporaryDirectory()
        let clock = try await MovedClock(in: directory.path)
        let server = try await ServerUnderTest(
            Program.oddServer.path, directory: directory.path, store: try await PostgresCluster.makeDatabase(),
            flags: ["--durability", "relaxed"], environment: clock.environment)
        let client = BlockingClient(port: server.port)
        let session = try #require(client.call("POST", "/v1/sessions", body: #"{"app":"marks"}"#))
        let (path, token) = ("/v1/sessions/\(session.member("id") ?? "")", session.member("token"))
        func setTimer(_ mark: Int, _ milliseconds: Int) {
            let event = #"{"type":"time","payload":{"mark":\#(mark),"milliseconds":\#(milliseconds)}}"#
            #expect(client.call("POST", "\(path)/events", token: token, body: event)?.status == 200)
        }
        func log() -> String { client.call("GET", path, token: token)?.text ?? "" }
        setTimer(1, 3_000_000)

        try clock.move(to: 3600)
        try await eventually { client.call("GET", "/readyz")?.status == 503 }
        try clock.move(to: 0)
        try await eventually { client.call("GET", "/readyz")?.status == 200 }
        setTimer(2, 1)
        try await eventually { log().contains(#""T2""#) }

        #expect(!log().contains(#""T1""#))
        try await server.stop()
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
            let rounds = Scale.rounds(100, long: 2000)
            for number in 1...rounds {
                let index = Int.random(in: sessions.indices)
                let other = BlockingClient(port: replicas.ports[(index + 1) % 3])
                try waitUntil { try sessions[index].postAndRemember(number, key: "key-\(number)", other) }
                try waitUntil { watchers[index].last >= sessions[index].count + 1 }
                if number == rounds / 2 {
                    try await replicas.servers[1].kill()
                    try await replicas.servers[1].restart()
                }
            }
            for watcher in watchers { watcher.end() }
            await watched
            #expect(zip(watchers, sessions).allSatisfy { $0.last == $1.count + 1 })
            #expect(watchers.flatMap(\.faults) == [])
        }
    }
}

extension ReplicaClients.Figures {
    fileprivate var summary: String {
        "\(answered) answered, sent again: \(again)"
    }
}
