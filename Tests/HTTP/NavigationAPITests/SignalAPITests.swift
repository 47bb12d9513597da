import Coordinators
import Foundation
import JSONCoding
import MicroHTTP
import NavigationAPI
import Sessions
import Synchronization
import TestSupport
import Testing

/// Pays for seats: with work in the background, timers, and signals of other systems.
private struct SeatCoordinator: Coordinator {
    static let name = "seat"

    var log: [String] = []

    enum Event: NavigationEvent {
        case hold, holdTwice, exchange, remind, board, enter(user: String)
        static let examples: [Event] = [.hold, .holdTwice, .exchange, .remind, .board, .enter(user: "ann")]
    }

    enum Signal: NavigationSignal {
        case held, exchanged, reminded, idle
        case paid(reference: String)
        case failing, stalling
        static let external: [Signal] = [.paid(reference: "r-1"), .failing, .stalling]
    }

    enum Effect: NavigationEffect { case hold, confirm, exchange }

    struct Failure: Error {}

    static let dependencies: [any Any.Type] = [Gate.self]

    func start(_ navigator: inout Navigator) { navigator.push(Screen("seat")) }

    func handle(_ event: Event, _ navigator: inout Navigator) {
        switch event {
        case .hold:
            navigator.perform(Effect.hold)
            navigator.push(Screen("waiting"))
        case .holdTwice:
            navigator.perform(Effect.hold, id: "first")
            navigator.perform(Effect.hold, id: "second")
        case .exchange:
            navigator.perform(Effect.exchange)
            navigator.push(Screen("exchanging"))
        case .remind:
            navigator.schedule(Signal.reminded, at: Date(timeIntervalSince1970: 4_102_444_800))
            navigator.scheduleWhenIdle(Signal.idle, after: .seconds(60), id: "quiet")
        case .board: navigator.start(GateCoordinator())
        case .enter(let user): navigator.signIn(user: user)
        }
    }

    func perform(_ effect: Effect, in context: EffectContext) async throws -> Signal? {
        try await context.resolve(Gate.self).wait()
        return effect == .exchange ? .exchanged : .held
    }

    mutating func receive(_ signal: Signal, _ navigator: inout Navigator) async throws {
        switch signal {
        case .held: navigator.push(Screen("held"))
        case .exchanged: navigator.setStack([Screen("exchanged")])
        case .paid(let reference): log.append(reference)
        case .failing: throw Failure()
        case .stalling: try await Task.sleep(for: .seconds(3600))
        case .reminded, .idle: break
        }
    }

    func render(_ screen: inout Screen, in context: NavigationContext) {
        screen.params["log"] = .array(log.map(JSON.string))
    }
}

/// Accepts a signal, but only lives after `board`.
private struct GateCoordinator: Coordinator {
    static let name = "gate"

    enum Event: NavigationEvent, CaseIterable { case leave }
    enum Signal: NavigationSignal {
        case called
        static let external: [Signal] = [.called]
    }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("gate")) }
    func handle(_ event: Event, _ navigator: inout Navigator) { navigator.finish() }
    func receive(_ signal: Signal, _ navigator: inout Navigator) { navigator.alert(Alert("Boarding")) }
}

/// Two services.
private let services = KeyTable(["payments-key": "payments", "gates-key": "gates"])

/// A client of an app with signals, and the services that send them.
private struct Signals {
    static let paid = #"{"type":"paid","payload":{"reference":"r-7"}}"#
    static let operatorToken = "the operator's token of this test"

    let client: Client
    let gate: Gate
    let lines: Lines

    final class Lines: Sendable {
        private let lines = Mutex<[String]>([])
        var all: [String] { lines.withLock { $0 } }
        func add(_ line: String) { lines.withLock { $0.append(line) } }
    }

    init(
        console isDevelopment: Bool? = nil, keys: (any NamedKeys)? = services, retention: Retention = Retention(),
        _ adjust: (inout SessionSettings) -> Void = { _ in }
    ) async throws {
        let (gate, lines) = (Gate(), Lines())
        var dependencies = Dependencies()
        dependencies.register(Gate.self) { _ in gate }
        let app = App(
            "seat", root: { SeatCoordinator() }, coordinators: [GateCoordinator.self], dependencies: dependencies)
        var settings = NavigationHandler.Settings()
        settings.serviceKeys = keys
        settings.reportSignal = { lines.add($0) }
        if let isDevelopment {
            settings.console = ConsoleSettings(
                server: "test/1", isDevelopment: isDevelopment,
                operators: KeyTable([Signals.operatorToken: "bob"]), map: { _ in nil })
        }
        (self.gate, self.lines) = (gate, lines)
        client = try await Client(
            app, handler: settings, store: MemoryStore(retention: retention), retention: retention, adjust)
    }

    /// Sends a signal, by default a payment of the payments service to the client's session.
    func send(
        _ body: String = paid, to path: String? = nil, key: String? = "payments-key", once: String? = "k-1",
        type: String? = "application/json", on connection: Connection? = nil
    ) async throws -> Answer {
        var headers: [String: String] = [:]
        headers["Authorization"] = key.map { "Bearer \($0)" }
        headers["Content-Type"] = type
        headers["Idempotency-Key"] = once
        return try await (connection ?? client.connection).request(
            "POST", path ?? "\(client.path)/signals", headers: headers, body: Data(body.utf8))
    }

    func post(_ type: String, _ headers: [String: String] = [:]) async throws -> JSON {
        let answer = try await client.post(#"{"type":"\#(type)"}"#, headers)
        #expect(answer.status == 200)
        return try JSON(parsing: Array(answer.body))
    }

    func state() async throws -> JSON {
        try JSON(parsing: Array(try await client.call("GET", client.path).body))
    }

    func received() async throws -> [String] {
        try await state()["visible"]?["params"]?["log"]?.array?.compactMap(\.string) ?? []
    }
}

@Suite struct SignalAPITests {
    @Test func `a signal is one version, and its answer has no screens`() async throws {
        let signals = try await Signals()

        let answer = try await signals.send()

        #expect(answer.status == 200)
        #expect(answer.text == #"{"session":{"id":"\#(signals.client.id)","version":2}}"#)
        #expect(answer.headers["etag"] == #""2""# && answer.headers["cache-control"] == "no-store")
        #expect(try await signals.received() == ["r-7"])
        let history = try await signals.client.call("GET", signals.client.path + "/history")
        let last = try JSON(parsing: Array(history.body))["history"]?.array?.first
        #expect(last?["event"] == "paid" && last?["cause"] == "signal")
        #expect(
            signals.lines.all == ["signal from payments to session \(signals.client.id): received, version 2"])
    }

    @Test func `a signal that is sent again under its key counts once`() async throws {
        let signals = try await Signals()
        let first = try await signals.send()
        _ = try await signals.send(once: "k-2")

        let again = try await signals.send(#"{ "payload": {"reference":"r-7"}, "type":"paid"}"#)

        #expect(again.status == 200 && again.body == first.body)
        #expect(again.headers["idempotency-replayed"] == "true" && again.headers["session-version"] == "3")
        #expect(try await signals.received() == ["r-7", "r-7"])
        try await signals.send(#"{"type":"failing"}"#).expect(422, "key-reused")
        #expect(signals.lines.all.last?.hasSuffix("refused: key-reused") == true)
    }

    @Test(.enabled(if: isComplete))
    func `keys of clients, of each service and of the console are apart`() async throws {
        let signals = try await Signals(console: false)
        let event = try await signals.post("remind", ["Idempotency-Key": "k-1"])
        #expect(event["session"]?["version"] == 2)

        var versions: [Int?] = []
        for (key, base) in [
            ("payments-key", "/v1"), ("gates-key", "/v1"), (Signals.operatorToken, "/console/api"),
        ] {
            let answer = try await signals.send(to: "\(base)/sessions/\(signals.client.id)/signals", key: key)
            #expect(answer.status == 200 && answer.headers["idempotency-replayed"] == nil)
            versions.append(try await signals.client.version())
        }
        #expect(versions == [3, 4, 5])
        // What is kept for a service begins with its name and a line break, which no client can send.
        for (key, status) in [("\"payments k-1\"", 200), ("paymentsk-1", 200), ("\"payments\\nk-1\"", 400)] {
            let answer = try await signals.client.post(#"{"type":"remind"}"#, ["Idempotency-Key": key])
            #expect(answer.status == status && answer.headers["idempotency-replayed"] == nil, "\(key)")
        }
    }

    @Test func `only a service's key gives the right to send signals, and to nothing else`() async throws {
        let signals = try await Signals(console: false)
        let client = signals.client
        for path in ["\(client.path)/signals", "/v1/users/ann/signals"] {
            for key in [nil, "", "wrong", client.token, Signals.operatorToken] {
                // Without the right, the request learns nothing of the session, nor what is wrong with the body.
                let answer = try await signals.send("{", to: path, key: key)
                try answer.expect(401, "unauthorized")
                #expect(answer.headers["www-authenticate"] == "Bearer")
            }
        }
        for (method, path) in [("GET", client.path), ("GET", client.path + "/history"), ("DELETE", client.path)] {
            try await client.call(method, path, token: "payments-key").expect(401, "unauthorized")
        }
        #expect(try await client.version() == 1 && signals.lines.all == [])

        let without = try await Signals(keys: nil)
        try await without.send().expect(401, "unauthorized")
    }

    @Test(arguments: [
        ("{", "k", 400, "invalid-json"), ("[]", "k", 400, "invalid-request"), ("{}", "k", 400, "invalid-request"),
        (#"{"type":1}"#, "k", 400, "invalid-request"),
        (#"{"type":"paid","screen":"k1"}"#, "k", 400, "invalid-request"),
        (Signals.paid, "two words", 400, "invalid-request"),
        (#"{"type":"called"}"#, "k", 409, "signal-not-accepted"),
        (#"{"type":"held"}"#, "k", 422, "unknown-signal"), (#"{"type":"hold"}"#, "k", 422, "unknown-signal"),
        (#"{"type":"nothing"}"#, "k", 422, "unknown-signal"),
        (#"{"type":"paid"}"#, "k", 422, "invalid-event"),
        (#"{"type":"paid","payload":{"reference":7}}"#, "k", 422, "invalid-event"),
        (#"{"type":"failing"}"#, "k", 500, "handler-failed"),
        (#"{"type":"stalling"}"#, "k", 504, "handler-deadline"),
    ])
    func `a signal that cannot be received changes nothing`(
        body: String, once: String, status: Int, problem: String
    ) async throws {
        let signals = try await Signals()

        let answer =
            if status == 504 { try await signals.client.late { try await signals.send(body, once: once) } } else {
                try await signals.send(body, once: once)
            }

        try await signals.client.expect(answer, status, problem)
        if problem == "invalid-event" {
            #expect(try JSON(parsing: Array(answer.body))["errors"]?.array?.isEmpty == false)
        }
        // It was not kept under the key.
        #expect(try await signals.send(once: "k").status == 200)
    }

    @Test func `a body that is no JSON, no key, a missing session, and one that is over are refused`() async throws {
        let signals = try await Signals()
        try await signals.send(type: "text/plain").expect(415, "not-json-type")
        try await signals.send(once: nil).expect(400, "invalid-request")
        for id in ["s_aaaaaaaaaaaaa", "x"] {
            try await signals.send(to: "/v1/sessions/\(id)/signals").expect(404, "unknown-session")
        }
        try await signals.send(to: "\(signals.client.path)/signals?dryRun=true").expect(400, "invalid-request")
        try await signals.client.call("GET", "\(signals.client.path)/signals").expect(405, "method-not-allowed")

        #expect(try await signals.client.call("DELETE", signals.client.path).status == 204)
        try await signals.send().expect(410, "session-ended")
    }

    @Test func `signals that wait for their turn are limited`() async throws {
        let signals = try await Signals()
        let port = signals.client.server.port

        try await withThrowingTaskGroup(of: Answer.self) { group in
            for number in 1...3 {
                group.addTask {
                    try await signals.send(
                        #"{"type":"stalling"}"#, once: "\(number)", on: try Connection(port: port))
                }
            }
            // One is being received, one waits, and there is no room for a third.
            let first = try await group.next()
            let refused = try #require(first)
            try refused.expect(429, "too-many-waiting")
            #expect(refused.headers["retry-after"] != nil)

            let passing = signals.client.passDeadlines()
            defer { passing.cancel() }
            while let answer = try await group.next() { try answer.expect(504, "handler-deadline") }
        }
    }

    @Test func `the sessions of a user receive a signal, and the answer says what became of it in each`() async throws {
        let signals = try await Signals()
        let client = signals.client
        _ = try await client.post(#"{"type":"enter","payload":{"user":"ann b@example.com"}}"#)
        let second = try JSON(parsing: Array(try await client.connection.request("POST", "/v1/sessions").body))
        var other = client
        (other.id, other.token) = (second["session"]?["id"]?.string ?? "", second["token"]?.string ?? "")
        _ = try await other.post(#"{"type":"enter","payload":{"user":"ann b@example.com"}}"#)
        _ = try await other.post(#"{"type":"board"}"#)
        _ = try await client.connection.request("POST", "/v1/sessions")
        let path = "/v1/users/ann%20b%40example.com/signals"

        let both = try JSON(parsing: Array(try await signals.send(to: path).body))
        let called = try JSON(parsing: Array(try await signals.send(#"{"type":"called"}"#, to: path, once: "2").body))
        let again = try await signals.send(to: path)
        let nobody = try await signals.send(to: "/v1/users/bob/signals")

        let ids = [client.id, other.id].sorted()
        #expect(both["sessions"]?.array?.compactMap { $0["id"]?.string } == ids)
        #expect(Set(both["sessions"]?.array?.compactMap { $0["version"]?.integer } ?? []) == [3, 4])
        let outcomes = try #require(called["sessions"]?.array)
        let refused = try #require(outcomes.first { $0["id"]?.string == client.id })
        #expect(refused["version"] == nil && refused["problem"]?["status"] == 409)
        #expect(refused["problem"]?["type"] == "urn:coordinatord:problem:signal-not-accepted")
        #expect(outcomes.first { $0["id"]?.string == other.id }?["version"] == 5)
        #expect(try JSON(parsing: Array(again.body)) == both)
        #expect(nobody.status == 200 && nobody.text == #"{"sessions":[]}"#)
        #expect(try await signals.received() == ["r-7"])
        try await signals.send("{}", to: path, once: "3").expect(400, "invalid-request")
    }
}

@Suite struct PendingTests {
    @Test func `a state shows the work under way, and the coordinators' tree also the timers`() async throws {
        let signals = try await Signals()
        let client = signals.client
        let held = try await signals.post("hold")
        let pending = try #require(held["pending"]?.array)
        #expect(pending.count == 1)
        #expect(pending[0]["id"] == "hold" && pending[0]["effect"] == "hold" && pending[0]["coordinator"] == "seat")
        let since = try #require(pending[0]["since"]?.string)
        #expect(since.hasSuffix("Z") && since.count == 20)
        #expect(held["transition"]?["cause"] == "event")
        let reminded = try await signals.post("remind")
        #expect(reminded["pending"]?.array == pending)
        _ = try await signals.post("board")

        let tree = try JSON(parsing: Array(try await client.call("GET", client.path + "/coordinators").body))["tree"]
        let works = try #require(tree?["pending"]?.array)
        #expect(works.count == 3)
        #expect(works[0] == ["id": "hold", "effect": "hold", "since": .string(since)])
        #expect(works[1] == ["id": "reminded", "signal": "reminded", "due": "2100-01-01T00:00:00Z"])
        #expect(works[2]["id"] == "quiet" && works[2]["signal"] == "idle" && works[2]["whenIdle"] == true)
        #expect(works[2]["due"]?.string?.count == 20)
        let child = tree?["children"]?.array?.first
        #expect(child?["name"] == "gate" && child?["pending"] == nil)

        signals.gate.open()
    }

    @Test func `an event that prefers to wait is answered after the work that it began, with all that has changed`()
        async throws
    {
        let signals = try await Signals()
        async let answer = signals.client.post(
            #"{"type":"hold"}"#, ["Prefer": "wait=3600", "Idempotency-Key": "k-1"])
        try await eventually { signals.client.host.watcherCount == 1 }
        signals.gate.open()

        let settled = try await answer
        let body = try JSON(parsing: Array(settled.body))
        #expect(settled.status == 200 && settled.headers["preference-applied"] == "wait=3600")
        #expect(settled.headers["etag"] == #""3""# && body["session"]?["version"] == 3)
        #expect(body["visible"]?["name"] == "held" && body["pending"] == nil)
        let transition = body["transition"]
        #expect(transition?["event"] == "hold" && transition?["cause"] == "event")
        #expect(transition?["operations"]?.array?.compactMap { $0["op"]?.string } == ["push", "push"])

        // The key's answer is that to the event alone.
        let again = try await signals.client.post(
            #"{"type":"hold"}"#, ["Prefer": "wait=3600", "Idempotency-Key": "k-1"])
        #expect(again.headers["idempotency-replayed"] == "true" && again.headers["etag"] == #""2""#)
    }

    @Test func `what came and went while an event was waited for is in no operation`() async throws {
        let signals = try await Signals()
        async let answer = signals.client.post(#"{"type":"exchange"}"#, ["Prefer": "wait=3600"])
        try await eventually { signals.client.host.watcherCount == 1 }
        signals.gate.open()

        let body = try JSON(parsing: Array(try await answer.body))
        #expect(body["visible"]?["name"] == "exchanged" && body["session"]?["version"] == 3)
        #expect(
            body["transition"]?["operations"] == [
                ["op": "pop", "key": "k1", "stack": "main"], ["op": "push", "key": "k3", "stack": "main"],
            ])
    }

    @Test func `an event that cannot be waited for is answered at once, because it is committed`() async throws {
        let signals = try await Signals { $0.watcherLimit = 0 }

        let answer = try await signals.client.post(#"{"type":"hold"}"#, ["Prefer": "wait=3600"])

        let body = try JSON(parsing: Array(answer.body))
        #expect(answer.status == 200 && body["session"]?["version"] == 2 && body["pending"]?.array?.count == 1)
        #expect(body["transition"]?["event"] == "hold")
        signals.gate.open()
    }

    @Test func `the wait ends with its time, and there is none without work`() async throws {
        let signals = try await Signals()
        let start = ContinuousClock.now

        let quick = try await signals.client.post(#"{"type":"remind"}"#, ["Prefer": "wait=3600"])
        #expect(quick.headers["preference-applied"] == "wait=3600")
        let late = try await signals.client.post(#"{"type":"hold"}"#, ["Prefer": "wait=1"])

        let body = try JSON(parsing: Array(late.body))
        #expect(late.headers["preference-applied"] == "wait=1" && ContinuousClock.now - start >= .seconds(1))
        #expect(body["session"]?["version"] == 3 && body["pending"]?.array?.count == 1)
        // What was under way before is not waited for.
        #expect(try await signals.client.post(#"{"type":"remind"}"#, ["Prefer": "wait=3600"]).status == 200)
        let plain = try await signals.client.post(#"{"type":"remind"}"#)
        #expect(plain.headers["preference-applied"] == nil)
        let dry = try await signals.client.connection.request(
            "POST", "\(signals.client.path)/events?dryRun=true",
            headers: [
                "Authorization": "Bearer \(signals.client.token)", "Content-Type": "application/json",
                "Prefer": "wait=3600",
            ], body: Data(#"{"type":"holdTwice"}"#.utf8))
        #expect(dry.status == 200 && dry.headers["preference-applied"] == nil)
        signals.gate.open()
    }
}

@Suite(.enabled(if: isComplete)) struct ConsoleSignalTests {
    @Test(arguments: [true, false])
    func `the console sends signals with the operator's token, or in development the session's own`(
        isDevelopment: Bool
    ) async throws {
        let signals = try await Signals(console: isDevelopment)
        let client = signals.client
        let path = "/console/api/sessions/\(client.id)/signals"
        func send(_ token: String?, _ once: String) async throws -> Answer {
            try await signals.send(to: path, key: token, once: once)
        }
        for token in [nil, "wrong", "payments-key"] {
            try await send(token, "k-1").expect(401, "unauthorized")
        }
        if !isDevelopment { try await send(client.token, "k-1").expect(401, "unauthorized") }
        #expect(try await client.version() == 1)

        let answer = try await send(Signals.operatorToken, "k-1")
        #expect(answer.status == 200 && answer.text == #"{"session":{"id":"\#(client.id)","version":2}}"#)
        #expect(signals.lines.all == ["signal from the console to session \(client.id): received, version 2"])
        #expect(try await send(Signals.operatorToken, "k-1").headers["idempotency-replayed"] == "true")
        try await signals.send(to: path, key: Signals.operatorToken, once: nil).expect(400, "invalid-request")
        if isDevelopment { #expect(try await send(client.token, "k-2").status == 200) }

        // The token of another session gives no right to this one.
        let second = try JSON(parsing: Array(try await client.connection.request("POST", "/v1/sessions").body))
        try await send(second["token"]?.string, "k-3").expect(401, "unauthorized")
        try await signals.send(to: "/console/api/sessions/s_aaaaaaaaaaaaa/signals", key: Signals.operatorToken)
            .expect(404, "unknown-session")
    }
}
