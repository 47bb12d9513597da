import Foundation
import Glibc
import Synchronization
import TestSupport

/// All clients of the server in `TogetherTests`, each on a thread of its own, until `findings` ends them all.
final class Crowd: Sendable {
    private static let (posters, sessionsPerPoster) = (8, 125)
    /// Some of these sessions are over, and are still read now and then.
    private static let mostWatched = 8000

    private let port: Int
    private let findings: Findings
    private let watched = Mutex<[TrackedSession]>([])
    /// The session that is flooded now.
    private let flooded = Mutex<TrackedSession?>(nil)

    init(port: Int, _ findings: Findings) {
        self.port = port
        self.findings = findings
    }

    func run() async throws {
        let flood = Flood(port: port)
        let work: [@Sendable (BlockingClient) -> Void] =
            Array(repeating: post, count: Crowd.posters) + [read, read, createIdle, remove, floodOne, fail, stall]
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await flood.comeAndGo(threads: 1, pause: 20_000) }
            for one in work { group.addTask { try await blocking { one(BlockingClient(port: self.port)) } } }
            for _ in work { try await group.next() }
            flood.end()
        }
    }

    /// Checks that everything that was acknowledged is there, and that what was over still is. Call when no request is
    /// under way any more.
    ///
    /// - Returns: the ids of the sessions that are damaged
    func check() -> Set<String> {
        let client = BlockingClient(port: port)
        var damaged: Set<String> = []
        for session in watched.withLock({ $0 }) {
            var outcome = TrackedSession.Outcome.open
            while outcome == .open {
                outcome = session.read(client)
                if outcome == .done { outcome = session.finishPending(client) }
                if outcome == .done { outcome = session.read(client) }
                if outcome == .done { outcome = session.postAgain(client) }
                if outcome == .done { outcome = session.readHistory(client) }
                if client.isRefused {
                    findings.fault("the server has ended")
                    return damaged
                }
            }
            if outcome == .damaged { damaged.insert(session.id) }
        }
        return damaged
    }

    private func create(_ client: BlockingClient, _ kind: TrackedSession.Kind = .small) -> TrackedSession? {
        while !findings.hasEnded {
            if let session = TrackedSession(client, kind, findings) { return session }
            Crowd.pause(5)
        }
        return nil
    }

    private func watch(_ session: TrackedSession) {
        watched.withLock { watched in
            watched.append(session)
            guard watched.count > Crowd.mostWatched, let over = watched.firstIndex(where: \.isOver) else { return }
            watched.remove(at: over)
        }
    }

    /// Repeats the work until it is answered.
    private func answered(_ work: () -> TrackedSession.Outcome) -> TrackedSession.Outcome {
        while true {
            let outcome = work()
            if outcome != .open || findings.hasEnded { return outcome }
            Crowd.pause(5)
        }
    }

    /// - Parameter milliseconds: enough that a small machine has time for more than the server
    private static func pause(_ milliseconds: UInt32) { usleep(1000 * milliseconds) }
}

// What each of them does.
extension Crowd {
    /// Posts small events to sessions of its own. A session that is damaged or over is replaced by a new one.
    private func post(_ client: BlockingClient) {
        var sessions: [TrackedSession] = []
        while !findings.hasEnded {
            while sessions.count < Crowd.sessionsPerPoster, let session = create(client) {
                watch(session)
                sessions.append(session)
            }
            for session in sessions where !findings.hasEnded {
                guard answered({ session.post(client) }) == .done else { continue }
                switch Int.random(in: 0..<40) {
                case 0...1: _ = session.postAgain(client)
                case 2...3: _ = session.read(client)
                case 4: _ = session.readHistory(client)
                default: break
                }
            }
            sessions.removeAll { $0.isAside || $0.isOver }
        }
    }

    /// Reads sessions of all kinds, while others post to them, end them, or have ended them long ago.
    private func read(_ client: BlockingClient) {
        while !findings.hasEnded {
            _ = watched.withLock { $0.randomElement() }?.read(client)
            Crowd.pause(2)
        }
    }

    /// Creates sessions that expire, because nobody posts to them.
    private func createIdle(_ client: BlockingClient) {
        while !findings.hasEnded {
            if let session = create(client) { watch(session) }
            Crowd.pause(300)
        }
    }

    /// Ends sessions that nobody has used for a while, while a dozen clients read them.
    private func remove(_ client: BlockingClient) {
        let readers = (0..<12).map { _ in BlockingClient(port: port) }
        var sessions: [TrackedSession] = []
        while !findings.hasEnded {
            while sessions.count < 50, let session = create(client) { sessions.append(session) }
            guard !sessions.isEmpty else { return }
            let session = sessions.removeFirst()
            for reader in readers.dropFirst(6) { _ = reader.begin("GET", session.path, token: session.token) }
            _ = client.begin("DELETE", session.path, token: session.token)
            for reader in readers.prefix(6) { _ = reader.begin("GET", session.path, token: session.token) }
            for reader in readers { judgeRace(reader.finish(), session, reader) }
            var outcome = session.end(client.finish(), client)
            if outcome == .open {
                outcome = answered { session.end(client.call("DELETE", session.path, token: session.token), client) }
            }
            if outcome == .over {
                _ = session.read(readers[0])
                let fork = client.call(
                    "POST", "/v1/sessions", token: session.token, body: #"{"forkOf":"\#(session.id)"}"#)
                if fork?.status == 201 { findings.fault("resurrected: \(session.id) was over, and is forked") }
            }
            watch(session)
            Crowd.pause(30)
        }
    }

    /// - Parameter reply: to a client that reads while the session is being ended
    private func judgeRace(_ reply: Reply?, _ session: TrackedSession, _ client: BlockingClient) {
        switch reply?.status {
        case 200, 410: break
        case 503 where reply?.text.contains("session-damaged") == true: break
        case nil, 503: findings.refusal("a read of \(session.id): \(reply?.text ?? "cut")", client)
        default: findings.fault("\(session.id) is being ended, and answers \(reply?.text ?? "")")
        }
    }

    /// Attacks the disk: posts keyed events to one session, whose answers are large.
    private func floodOne(_ client: BlockingClient) {
        while let session = create(client, .large) {
            watch(session)
            flooded.withLock { $0 = session }
            var outcome = TrackedSession.Outcome.done
            while outcome == .done, !findings.hasEnded {
                outcome = answered { session.post(client) }
                if Int.random(in: 0..<50) == 0 { _ = session.postAgain(client) }
                Crowd.pause(10)
            }
        }
    }

    /// Posts events that fail, each of which is logged.
    private func fail(_ client: BlockingClient) {
        while let session = create(client) {
            var status: Int? = 500
            while status == nil || status == 500 || status == 503, !findings.hasEnded {
                status =
                    client.call("POST", "\(session.path)/events", token: session.token, body: #"{"type":"fail"}"#)?
                    .status
                Crowd.pause(status == 500 ? 5 : 100)
            }
        }
    }

    /// Opens connections that ask for the history and the state of the large session, and read nothing.
    private func stall(_ client: BlockingClient) {
        while !findings.hasEnded {
            let sockets = (0..<20).compactMap { number -> Int32? in
                guard let session = flooded.withLock({ $0 }) else { return nil }
                let path = session.path + (number.isMultiple(of: 2) ? "/history?limit=100" : "")
                let request = "GET \(path) HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(session.token)\r\n\r\n"
                return Faults.SlowReaderTests.ask(Array(request.utf8), at: port)
            }
            for _ in 0..<30 where !findings.hasEnded { Crowd.pause(100) }
            for socket in sockets { close(socket) }
        }
    }
}
