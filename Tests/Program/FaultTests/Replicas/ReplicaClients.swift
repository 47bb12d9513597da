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
        /// Of answered attempts, except at servers that were kept from working then.
        var times: [Duration] = []

        func percentile(_ share: Double) -> Duration {
            times.isEmpty ? .zero : times.sorted()[min(times.count - 1, Int(Double(times.count) * share))]
        }
    }

    let sessions: [ReplicaHistory]
    private let ports: [Int]
    private let numbers = Atomic(0)
    private let isEnding = Atomic(false)
    private let figures = Mutex(Figures())
    /// The ports of servers that are kept from working, and until when they were.
    private let hindered = Mutex<[Int: ContinuousClock.Instant?]>([:])

    /// - Parameters:
    ///   - count: of sessions.
    ///   - app: in which the event `update` sets the `value` that is shown.
    init(_ count: Int, of app: String = "numbers", ports: [Int]) throws {
        self.ports = ports
        let client = BlockingClient(port: ports[0])
        sessions = try (0..<count).map { _ in
            let reply = client.call("POST", "/v1/sessions", body: #"{"app":"\#(app)"}"#)
            guard let reply, reply.status == 201, let id = reply.member("id"), let token = reply.member("token") else {
                throw TestFailure("no session: \(reply?.text ?? "cut")")
            }
            return ReplicaHistory(id: id, token: token)
        }
    }

    var results: Figures { figures.withLock { $0 } }

    /// Runs clients on threads of their own while the body runs, and until each has finished its last event.
    ///
    /// - Parameter isPinned: whether each client sends all its requests to one server, as many to each.
    func run(_ count: Int = 12, isPinned: Bool = false, _ body: () async throws -> Void) async throws {
        isEnding.store(false, ordering: .relaxed)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<count {
                let ports = isPinned ? [ports[number % ports.count]] : ports
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

    /// Notes that a server is kept from working while the body runs.
    func hindering(_ port: Int, _ body: () async throws -> Void) async throws {
        hindered.withLock { $0[port] = .some(nil) }
        try await body()
        hindered.withLock { $0[port] = .some(.now) }
    }

    private func isHindered(_ port: Int, since start: ContinuousClock.Instant) -> Bool {
        guard let end = hindered.withLock({ $0[port] }) else { return false }
        return end.map { $0 > start } ?? true
    }

    /// Checks all histories. Call when no client runs.
    func check() throws -> [String] {
        var faults = results.faults
        for (index, session) in sessions.enumerated() {
            let client = BlockingClient(port: ports[index % ports.count])
            let reply = client.call("GET", session.path, token: session.token)
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
        if let reply, isAnswered(reply, client, since: start) { note(reply, session, client, since: start) }
    }

    private func post(_ session: ReplicaHistory, _ clients: [BlockingClient]) {
        let value = numbers.add(1, ordering: .relaxed).newValue
        let start = ContinuousClock.now
        while true {
            let attempt = ContinuousClock.now
            let client = clients[Int.random(in: clients.indices)]
            let reply = client.call(
                "POST", "\(session.path)/events", token: session.token, key: "key-\(value)", body: event(value))
            if isAnswered(reply, client, since: attempt) {
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
            let attempt = ContinuousClock.now
            let begun = clients.filter {
                $0.begin(
                    "POST", "\(session.path)/events", token: session.token, key: "key-\(value)", body: event(value))
            }
            for client in begun {
                let reply = client.finish()
                // Read one after the other: a server that is kept from working delays what is read after it.
                let isTimed = !begun.contains { isHindered($0.port, since: attempt) }
                if isAnswered(reply, client, since: attempt, isTimed: isTimed), let reply { answers.append(reply) }
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
        let shown = reply.text.firstMatch(of: /"value":(-?\d+)/).flatMap { Int($0.output.1) }
        guard let version = reply.version, let shown else { return fault("not a state: \(reply.text)") }
        if let value, value != shown { fault("the answer to \(value) shows \(shown)") }
        session.add(
            isEvent: value != nil, version: version, value: shown, since: start, isReplay: reply.isReplay,
            port: client.port)
    }

    /// Whether a request is answered, or a fault; otherwise it may be sent again.
    private func isAnswered(
        _ reply: Reply?, _ client: BlockingClient, since start: ContinuousClock.Instant, isTimed: Bool = true
    ) -> Bool {
        let time = !isTimed || isHindered(client.port, since: start) ? nil : ContinuousClock.now - start
        return figures.withLock { figures in
            switch reply?.status {
            case 200:
                figures.answered += 1
                if let time { figures.times.append(time) }
                return true
            case nil:
                figures.again["cut", default: 0] += 1
            case 503, 429:
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
