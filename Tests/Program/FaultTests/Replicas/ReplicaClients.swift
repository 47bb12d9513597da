import Foundation
import Synchronization
import TestSupport

/// Clients that post to and read the sessions of several servers, whichever answers. An event is sent again under its
/// key, to any server, until it is answered.
final class ReplicaClients: Sendable {
    struct Figures {
        var faults: [String] = []
        var answered = 0
        /// Requests that were sent again, by the reason.
        var again: [String: Int] = [:]
    }

    let sessions: [ReplicaHistory]
    private let ports: [Int]
    private let numbers = Atomic(0)
    private let isEnding = Atomic(false)
    private let figures = Mutex(Figures())

    /// - Parameters:
    ///   - count: of sessions.
    ///   - app: in which the event `update` sets the `value` that is shown.
    init(_ count: Int, of app: String = "numbers", ports: [Int]) throws {
        self.ports = ports
        let client = BlockingClient(port: ports[0])
        sessions = try (0..<count).map { _ in
            var reply: Reply?
            try waitUntil {
                reply = client.call("POST", "/v1/sessions", body: #"{"app":"\#(app)"}"#)
                return reply?.status == 201
            }
            guard let id = reply?.member("id"), let token = reply?.member("token") else {
                throw TestFailure("no session: \(reply?.text ?? "cut")")
            }
            return ReplicaHistory(id: id, token: token)
        }
    }

    var results: Figures { figures.withLock { $0 } }

    /// Waits until so many more requests have been answered.
    func answer(_ count: Int) async throws {
        let goal = results.answered + count
        try await eventually { results.answered >= goal }
    }

    /// Runs clients on threads of their own, each of which sends all its requests to one server, as many to each.
    ///
    /// - Parameter steps: how many requests each sends.
    func runPinned(_ count: Int, steps: Int) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<count {
                group.addTask { [self] in
                    try await blocking { [self] in
                        let client = BlockingClient(port: ports[number % ports.count])
                        for _ in 0..<steps { step([client]) }
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Runs clients on threads of their own while the body runs, and until each has finished its last event.
    func run(_ count: Int = 12, _ body: () async throws -> Void) async throws {
        isEnding.store(false, ordering: .relaxed)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<count {
                group.addTask { [self] in
                    try await blocking { [self] in
                        let clients = ports.map { BlockingClient(port: $0) }
                        while !isEnding.load(ordering: .relaxed) { step(clients) }
                    }
                }
            }
            do { try await body() } catch {
                isEnding.store(true, ordering: .relaxed)
                throw error
            }
            isEnding.store(true, ordering: .relaxed)
            try await group.waitForAll()
        }
    }

    /// Checks all histories. Call when no client runs.
    func check() throws -> [String] {
        var faults = results.faults
        for (index, session) in sessions.enumerated() {
            let client = BlockingClient(port: ports[index % ports.count])
            var reply: Reply?
            try waitUntil {
                reply = client.call("GET", session.path, token: session.token)
                return reply?.status == 200
            }
            faults += session.check(last: reply?.version ?? 0)
        }
        return faults
    }

    private func step(_ clients: [BlockingClient]) {
        let session = sessions[Int.random(in: sessions.indices)]
        switch Int.random(in: 0..<10) {
        case 0..<2: read(session, clients)
        case 2: postEverywhere(session, clients)
        default: post(session, clients)
        }
    }

    private func read(_ session: ReplicaHistory, _ clients: [BlockingClient]) {
        let start = ContinuousClock.now
        let client = clients[Int.random(in: clients.indices)]
        let reply = client.call("GET", session.path, token: session.token)
        if isAnswered(reply), let reply, reply.status == 200 { note(reply, session, client, since: start) }
    }

    private func post(_ session: ReplicaHistory, _ clients: [BlockingClient]) {
        let value = numbers.add(1, ordering: .relaxed).newValue
        let start = ContinuousClock.now
        while true {
            let client = clients[Int.random(in: clients.indices)]
            let reply = client.call(
                "POST", "\(session.path)/events", token: session.token, key: "key-\(value)", body: event(value))
            if isAnswered(reply) {
                if let reply, reply.status == 200 { note(reply, session, client, value, since: start) }
                return
            }
            usleep(.random(in: 5_000...40_000))
        }
    }

    /// Sends one event to all servers at once, under one key.
    private func postEverywhere(_ session: ReplicaHistory, _ clients: [BlockingClient]) {
        let value = numbers.add(1, ordering: .relaxed).newValue
        let start = ContinuousClock.now
        var answers: [Reply] = []
        while answers.isEmpty {
            let begun = clients.filter {
                $0.begin(
                    "POST", "\(session.path)/events", token: session.token, key: "key-\(value)", body: event(value))
            }
            for client in begun {
                let reply = client.finish()
                if isAnswered(reply), let reply { answers.append(reply) }
            }
            if answers.isEmpty { usleep(.random(in: 5_000...40_000)) }
        }
        note(answers[0], session, clients[0], value, since: start)
        if answers.contains(where: { $0.body != answers[0].body }) { fault("one key has different answers") }
        if answers.count(where: { !$0.isReplay }) > 1 { fault("one key was applied twice") }
    }

    private func event(_ value: Int) -> String { #"{"type":"update","payload":\#(value)}"# }

    private func note(
        _ reply: Reply, _ session: ReplicaHistory, _ client: BlockingClient, _ value: Int? = nil,
        since start: ContinuousClock.Instant
    ) {
        guard let version = reply.version, let shown = reply.integer("value") else {
            return fault("not a state: \(reply.text)")
        }
        if let value, value != shown { fault("the answer to \(value) shows \(shown)") }
        session.add(
            isEvent: value != nil, version: version, value: shown, since: start, isReplay: reply.isReplay,
            port: client.port)
    }

    /// Whether a request is answered, or a fault; otherwise it may be sent again.
    private func isAnswered(_ reply: Reply?) -> Bool {
        figures.withLock { figures in
            switch reply?.status {
            case 200:
                figures.answered += 1
                return true
            case nil:
                figures.again["cut", default: 0] += 1
            case 503, 504, 429:
                let reason = reply?.text.firstMatch(of: /:problem:([a-z-]+)/).map { String($0.output.1) } ?? "503"
                figures.again[reason, default: 0] += 1
            case let status?:
                if figures.faults.count < 20 { figures.faults.append("\(status): \(reply?.text ?? "")") }
                return true
            }
            return false
        }
    }

    private func fault(_ what: String) {
        figures.withLock { if $0.faults.count < 20 { $0.faults.append(what) } }
    }
}
