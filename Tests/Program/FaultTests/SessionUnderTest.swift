import Foundation
import Synchronization
import Testing
import TestSupport

/// A session of `numbers` and everything that was acknowledged to the clients that posted to it.
final class SessionUnderTest: Sendable {
    struct Acknowledged: Sendable {
        let key: String
        let value: Int
        let version: Int
        let body: [UInt8]
    }

    let id: String
    let token: String
    private let acknowledged = Mutex<[Acknowledged]>([])

    init(_ client: BlockingClient) throws {
        let reply = client.call("POST", "/v1/sessions", body: #"{"app":"numbers"}"#)
        guard let reply, reply.status == 201, let id = reply.member("id"), let token = reply.member("token") else {
            throw TestFailure("no session: \(reply?.text ?? "cut")")
        }
        self.id = id
        self.token = token
    }

    var path: String { "/v1/sessions/\(id)" }
    var count: Int { acknowledged.withLock { $0.count } }

    /// Posts an event that changes the session, whatever came before.
    func post(_ value: Int, key: String, _ client: BlockingClient) -> Reply? {
        client.call(
            "POST", "\(path)/events", token: token, key: key, body: #"{"type":"update","payload":\#(value)}"#)
    }

    /// Withdraws a key, until that is answered.
    ///
    /// - Returns: 204, or 200 if its event was carried out.
    func withdraw(_ key: String, _ client: BlockingClient) -> Int {
        while true {
            let reply = client.call("DELETE", "\(path)/outcomes/\(key)", token: token)
            if let status = reply?.status, [200, 204].contains(status) { return status }
            usleep(5_000)
        }
    }

    /// Posts such an event, and remembers the answer.
    ///
    /// - Returns: whether it was acknowledged
    func postAndRemember(_ value: Int, key: String, _ client: BlockingClient) throws -> Bool {
        guard let reply = post(value, key: key, client) else { return false }
        if reply.status == 503 || reply.status == 429 { return false }
        guard reply.status == 200 else { throw TestFailure("\(reply.status) \(reply.text)") }
        let acknowledgement = Acknowledged(
            key: key, value: value, version: try #require(reply.version), body: reply.body)
        acknowledged.withLock { $0.append(acknowledgement) }
        return true
    }

    /// Checks that every acknowledged event is there, none twice, that the versions have no gap, and that repeats get
    /// the first answers. Call when no request is under way.
    func check(_ client: BlockingClient) throws {
        let all = acknowledged.withLock { $0 }
        // The server may be another one by now.
        client.disconnect()
        let state = try #require(client.call("GET", path, token: token))
        #expect(state.version == all.count + 1, "\(id): \(all.count) events were acknowledged")
        let versions = all.map(\.version)
        #expect(versions.sorted() == Array(2..<all.count + 2), "\(id)")

        for one in all.suffix(3) {
            let again = try #require(post(one.value, key: one.key, client))
            #expect(again.isReplay && again.status == 200)
            #expect(again.body == one.body, "\(id) \(one.key)")
        }

        let history = try #require(client.call("GET", "\(path)/history?limit=10", token: token))
        let listed = history.text.matches(of: /"version":(\d+),"time"/).compactMap { Int($0.output.1) }
        #expect(listed == Array((1...all.count + 1).reversed().prefix(10)), "\(id)")
        let newest = history.integer("value")
        let expected = all.max { $0.version < $1.version }?.value
        #expect(newest ?? 0 == expected ?? 0, "\(id)")
    }
}

/// A client that posts one event after the other to sessions, each under a key of its own, and repeats an event until
/// it is answered.
final class Poster: Sendable {
    let client: BlockingClient
    private let number: Int
    private let sessions: [SessionUnderTest]
    private let isBrief: Bool
    private let state = Mutex((count: 0, pending: (session: SessionUnderTest, value: Int)?.none))

    /// - Parameter isBrief: whether every event has a connection of its own
    init(_ number: Int, port: Int, _ sessions: [SessionUnderTest], isBrief: Bool = false) {
        self.number = number
        self.isBrief = isBrief
        self.client = BlockingClient(port: port)
        self.sessions = sessions
    }

    /// Posts until an event is not answered. That event stays pending. One that is refused is posted again.
    func postUntilCut() throws {
        while true {
            if try postNext() { continue }
            if client.wasCut { return }
            usleep(5_000)
        }
    }

    /// Posts until nobody is listening any more.
    ///
    /// - Parameter grace: how long the server waits for a request on a connection that has none. A connection that the
    ///   client has left without one for longer may end.
    /// - Returns: how many connections have ended although a request was sent on them in time.
    func postUntilRefused(grace: Duration) throws -> Int {
        var failures = 0
        while true {
            if try postNext() { continue }
            guard client.wasCut else {
                usleep(5_000)
                continue
            }
            if client.isRefused { return failures }
            if client.idleTime < grace { failures += 1 }
        }
    }

    /// Tries the pending event once more.
    ///
    /// - Returns: whether nothing is pending any more
    func finishPending() throws -> Bool {
        guard state.withLock({ $0.pending != nil }) else { return true }
        return try postNext()
    }

    /// - Returns: whether the event was answered
    func postNext() throws -> Bool {
        let (session, value) = state.withLock { state in
            if let pending = state.pending { return pending }
            state.count += 1
            let next = (sessions[state.count % sessions.count], number * 1_000_000 + state.count)
            state.pending = next
            return next
        }
        let isAnswered = try session.postAndRemember(value, key: "key-\(value)", client)
        if isBrief { client.disconnect() }
        if isAnswered { state.withLock { $0.pending = nil } }
        return isAnswered
    }
}

extension [Poster] {
    /// All of them post at the same time, each on a thread of its own, until no answer comes any more.
    func postUntilCut() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for poster in self { group.addTask { try await blocking { try poster.postUntilCut() } } }
            try await group.waitForAll()
        }
    }

    /// All of them post at the same time until nobody is listening any more.
    ///
    /// - Returns: the sum of what `Poster.postUntilRefused` returns.
    func postUntilRefused(grace: Duration) async throws -> Int {
        try await withThrowingTaskGroup(of: Int.self) { group in
            for poster in self { group.addTask { try await blocking { try poster.postUntilRefused(grace: grace) } } }
            return try await group.reduce(0, +)
        }
    }

    func finishPending() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for poster in self {
                group.addTask {
                    try await blocking {
                        poster.client.disconnect()
                        try waitUntil { try poster.finishPending() }
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
