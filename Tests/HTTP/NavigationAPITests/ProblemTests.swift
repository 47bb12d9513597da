import Coordinators
import Foundation
import JSONCoding
import MicroHTTP
@testable import NavigationAPI
import Sessions
import Sodium
import Synchronization
import Testing
import TestSupport

/// Asks for what the engine must refuse.
private struct WrongCoordinator: Coordinator {
    enum Event: String, NavigationEvent, CaseIterable { case popToNowhere, idle, endless, tooMany, tooLarge, fine }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("wrong")) }

    func handle(_ event: Event, _ navigator: inout Navigator) {
        switch event {
        case .popToNowhere: navigator.popTo("nowhere")
        case .idle: navigator.start(IdleCoordinator())
        case .endless: navigator.start(EndlessCoordinator())
        case .tooMany: for _ in 1...64 { navigator.push(Screen("one")) }
        case .tooLarge: navigator.push(Screen("large", title: String(repeating: "x", count: 70_000)))
        case .fine: navigator.push(Screen("fine"))
        }
    }
}

private struct IdleCoordinator: Coordinator {
    func start(_ navigator: inout Navigator) {}
}

private struct EndlessCoordinator: Coordinator {
    func start(_ navigator: inout Navigator) { navigator.start(EndlessCoordinator()) }
}

/// A store in memory that fails when a test sets an error.
final class FailingStore: SessionStore {
    private let store = MemoryStore()
    /// The error of every commit.
    let failure = Mutex<StoreError?>(nil)
    let readFailure = Mutex<StoreError?>(nil)
    let conditionNow = Mutex(StoreCondition())

    var name: String { store.name }
    var secret: [UInt8] { store.secret }
    var sessionCount: Int { store.sessionCount }
    var condition: StoreCondition { conditionNow.withLock { $0 } }
    var latestTime: Date { store.latestTime }
    func load(_ id: SessionID, token: SHA256Digest?) throws(StoreError) -> LoadedSession? {
        if let error = readFailure.withLock({ $0 }) { throw error }
        return try store.load(id, token: token)
    }
    func forks(of id: SessionID) -> [SessionID] { store.forks(of: id) }
    func sessions(ofUser user: String) -> [SessionID] { store.sessions(ofUser: user) }
    func answer(to key: String, of id: SessionID) -> StoredAnswer? { store.answer(to: key, of: id) }
    func sweep(at now: Date, limit: Int) -> [SessionID] { store.sweep(at: now, limit: limit) }
    func dueTimers(at now: Date, limit: Int) -> [DueTimer] { store.dueTimers(at: now, limit: limit) }
    func postpone(_ timers: [DueTimer], until time: Date?) { store.postpone(timers, until: time) }
    func sessionsWithEffects(after last: SessionID?, limit: Int) -> [SessionID] {
        store.sessionsWithEffects(after: last, limit: limit)
    }
    func history(
        of id: SessionID, from version: Int?, limit: Int, bytes: Int
    ) throws(StoreError) -> [SessionRecord] {
        try store.history(of: id, from: version, limit: limit, bytes: bytes)
    }
    func commit(_ changes: [SessionChange]) -> CommitOutcome {
        failure.withLock { $0 }.map { .failure($0) } ?? store.commit(changes)
    }
}

/// The problems that no other test causes over HTTP. Together, the tests cause each one in `openapi.yaml`.
@Suite struct ProblemTests {
    static let app = App(
        "wrong", root: { WrongCoordinator() }, coordinators: [IdleCoordinator.self, EndlessCoordinator.self])

    @Test(arguments: [
        ("popToNowhere", 500, "impossible-request"), ("idle", 500, "invariant-violated"),
        ("endless", 500, "runaway-transition"), ("tooMany", 409, "stack-limit"), ("tooLarge", 409, "state-limit"),
    ])
    func `what an app must not ask for is refused`(event: String, status: Int, problem: String) async throws {
        let client = try await Client(ProblemTests.app)
        try await client.expect(try await client.post(#"{"type":"\#(event)"}"#), status, problem)
    }

    @Test(arguments: [
        (StoreError.full, "storage-full", "10"), (.unavailable(reason: "x"), "not-applied", "1"),
        (.unknownOutcome(reason: "x"), "unknown", "1"), (.damaged(reason: "x"), "session-damaged", "60"),
    ])
    func `each store failure has its problem`(error: StoreError, problem: String, retryAfter: String) async throws {
        let store = FailingStore()
        let client = try await Client(ProblemTests.app, store: store)
        store.failure.withLock { $0 = error }

        let answer = try await client.post(#"{"type":"fine"}"#)

        try await client.expect(answer, 503, problem)
        #expect(answer.headers["retry-after"] == retryAfter)
        store.failure.withLock { $0 = nil }
        #expect(try await client.post(#"{"type":"fine"}"#).status == 200)
    }

    @Test func `a store that can commit nothing is not ready, and one with a remark is`() async throws {
        let store = FailingStore()
        let client = try await Client(ProblemTests.app, store: store)
        store.conditionNow.withLock { $0 = StoreCondition(remarks: ["page 7 of the database is damaged"]) }

        let ready = try await client.call("GET", "/readyz")
        #expect(ready.status == 200 && ready.text.contains(#""remarks":["page 7 of the database is damaged"]"#))

        store.conditionNow.withLock { $0.failure = "database is locked" }
        try await client.call("GET", "/readyz").expect(503, "store-unavailable")
    }

    @Test func `an expired session is gone`() async throws {
        let client = try await Client(ProblemTests.app) { $0.idleLifetime = 0 }
        try await client.call("GET", client.path).expect(410, "session-expired")
    }

    @Test func `a session of another version of its app is incompatible, if the app refuses it`() async throws {
        let store = MemoryStore()
        let older = try await Client(ProblemTests.app, store: store)
        let newer = try await Client(
            App("wrong", version: 2, root: { CounterCoordinator() }, incompatibleSessions: .refused), store: store)

        try await newer.call("GET", older.path, token: older.token).expect(409, "session-incompatible")
    }

    @Test func `a repeated creation whose answer is not kept any more is refused`() async throws {
        let retention = Retention(answers: 1)
        let client = try await Client(
            ProblemTests.app, store: MemoryStore(retention: retention), retention: retention)
        let key = ["Idempotency-Key": UUID().uuidString]
        let created = try JSON(parsing: Array(try await client.create("{}", key).body))
        let path = try #require(created["session"]?["id"]?.string)
        let event = [
            "Authorization": "Bearer \(created["token"]?.string ?? "")", "Content-Type": "application/json",
            "Idempotency-Key": "another",
        ]
        let answer = try await client.connection.request(
            "POST", "/v1/sessions/\(path)/events", headers: event, body: Data(#"{"type":"fine"}"#.utf8))
        #expect(answer.status == 200)

        try await client.create("{}", key).expect(409, "answer-forgotten")
    }

    @Test(arguments: [
        ("GET /livez HTTP/1.1\r\nHost: a b\r\n\r\n", 400, "malformed-head"),
        ("FETCH /livez HTTP/1.1\r\nHost: x\r\n\r\n", 501, "unknown-method"),
        ("POST /v1/sessions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n", 501, "unknown-coding"),
    ])
    func `a malformed or unknown head is refused`(head: String, status: Int, problem: String) async throws {
        let client = try await Client()
        let connection = try Connection(port: client.server.port)

        try await connection.send(head)
        let answer = try await connection.receive()

        try answer.expect(status, problem)
        #expect(answer.headers["connection"] == "close" && answer.headers["x-request-id"] != nil)
    }

    /// Whatever the head consists of, it is refused as too large if it is over the limit, or just below it.
    @Test(arguments: [
        ("/livez", ["X-Long": 7_000], 200), ("/livez", ["X-Long": 8_100], 431), ("/livez", ["X-Long": 9_000], 431),
        ("/livez", ["Cookie": 3_000], 200), ("/livez", ["Cookie": 4_500], 431),
        ("/v1/\(String(repeating: "x", count: 7_000))", [:], 404),
        ("/v1/\(String(repeating: "x", count: 8_100))", [:], 431),
        ("/livez?\(String(repeating: "a&", count: 50))", [:], 200),
        ("/livez?\(String(repeating: "a&", count: 125))", [:], 431),
    ])
    func `a head that is too large is refused as such`(target: String, sizes: [String: Int], status: Int) async throws {
        let client = try await Client()

        let answer = try await client.connection.request(
            "GET", target, headers: sizes.mapValues { String(repeating: "x", count: $0) })

        #expect(answer.status == status)
        if status == 431 {
            try answer.expect(431, "head-too-large")
            #expect(answer.headers["connection"] == "close")
        }
    }

    @Test func `the server says what each problem means`() async throws {
        let client = try await Client(ProblemTests.app)
        let guide = try await client.call("GET", "/problems")
        #expect(guide.headers["content-type"] == "text/markdown; charset=utf-8")
        let names = guide.text.matches(of: /\n## ([a-z-]+)\n/).map { String($0.1) }

        for name in names {
            let section = try await client.call("GET", "/problems/\(name)")
            #expect(section.status == 200 && section.text.hasPrefix("# \(name)\n\nStatus "))
            #expect(section.text.split(separator: "\n- ").count == 4 && !section.text.contains("\n## "))
        }

        #expect(names.count > 40)
        try await client.call("GET", "/problems/none").expect(404, "unknown-path")
    }

    @Test func `each problem is described, and a test causes each that is described`() throws {
        let guide = try String(contentsOf: repository.appending(path: "docs/problems.md"), encoding: .utf8)
        let described = Set(guide.matches(of: /\n## ([a-z-]+)\n/).map { String($0.1) })
        let openAPI = try String(contentsOf: repository.appending(path: "openapi.yaml"), encoding: .utf8)
        let mentioned = openAPI.matches(of: /urn:coordinatord:problem:([a-z-]+)/).map { String($0.1) }
        let problems = repository.appending(path: "Sources/HTTP/NavigationAPI/Problems")
        let source = try ["Problem.swift", "Problem+SessionError.swift"].map { name in
            try String(contentsOf: problems.appending(path: name), encoding: .utf8)
        }.joined()
        let known = Set(source.matches(of: /\d{3}, "([a-z-]+)"/).map { String($0.1) })
        for status in source.matches(of: /(\d{3}), "[a-z-]+"/).compactMap({ Int($0.1) }) {
            #expect(RequestMeasures.statuses.contains(status), "\(status) would be counted as 0")
        }
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
        let tests = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .map { try String(contentsOf: $0, encoding: .utf8) }.joined()

        #expect(described == known && known.isSuperset(of: mentioned))
        for problem in known {
            #expect(tests.contains(#""\#(problem)""#) || tests.contains(":\(problem)"), "\(problem)")
        }
    }
}
