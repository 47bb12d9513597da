import Coordinators
import Foundation
import JSONCoding
import Synchronization
import TestSupport
import Testing

@testable import Sessions

/// A coordinator that waits at a gate, if an event asks for it.
struct GateCoordinator: Coordinator {
    var passed: [Int] = []

    enum Event: NavigationEvent {
        case pass(Int)
        case wait(Int)
        case nothing
        static let examples: [Event] = [.pass(1), .wait(1), .nothing]
    }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("gate")) }

    mutating func handle(_ event: Event, _ navigator: inout Navigator) async {
        switch event {
        case .pass(let number): passed.append(number)
        case .wait(let number):
            await Gate.current.wait()
            passed.append(number)
        case .nothing: break
        }
    }
}

extension AuthorizedSession {
    func apply(_ event: PostedEvent) async throws -> AppliedEvent {
        guard case .applied(let applied) = try await apply(event, if: nil) else { throw NotApplied() }
        return applied
    }
}

struct NotApplied: Error {}

extension MemoryStore {
    func load(_ id: SessionID) throws(StoreError) -> LoadedSession? { try load(id, token: nil) }
}

extension CreatedSession {
    /// The state of a session that was created without a key.
    var state: SessionState {
        get throws {
            guard case .applied(let applied) = outcome else { throw NotApplied() }
            return applied.state
        }
    }
}

/// A clock that stands still until it is moved.
final class TestClock: Sendable {
    private let now = Mutex(Date(timeIntervalSince1970: 1_800_000_000.75))
    var read: @Sendable () -> Date { { self.now.withLock { $0 } } }
    func advance(_ seconds: TimeInterval) { now.withLock { $0 += seconds } }
}

extension SessionSettings {
    /// With limits that only what hangs exceeds, on however slow a machine.
    static var unhurried: SessionSettings {
        var settings = SessionSettings()
        settings.handlerDeadline = .seconds(3600)
        settings.effectDeadline = .seconds(3600)
        settings.attemptTime = .seconds(3600)
        return settings
    }
}

/// The deadlines of calls that have suspended: they pass when a test says so.
final class Deadlines: Sendable {
    private let pending = Mutex<[@Sendable () -> Void]>([])

    var observe: DeadlineObserver { { pass in self.pending.withLock { $0.append(pass) } } }

    /// Lets the deadlines pass of all calls that are under way.
    private func pass() {
        let passing = pending.withLock { pending in
            defer { pending = [] }
            return pending
        }
        for pass in passing { pass() }
    }

    /// Lets deadlines pass until so many calls are late.
    func pass(until count: Int, of host: SessionHost) async throws {
        try await eventually {
            pass()
            return host.lateCalls == count
        }
    }
}

@Suite struct SessionHostTests {
    /// A new one each time, because calls that block or are late have consequences for all of an app's sessions.
    static var app: App { App("gate", root: { GateCoordinator() }) }

    static func make(
        store: any SessionStore = MemoryStore(), clock: TestClock = TestClock(), settings: SessionSettings = .unhurried
    ) -> SessionHost {
        SessionHost(apps: [app], store: store, settings: settings, now: clock.read)
    }

    static func passed(_ state: SessionState) -> [Int] {
        (state.navigation.coordinators[0].coordinator as? GateCoordinator)?.passed ?? []
    }

    @Test func `versions count the transitions that changed something`() async throws {
        let host = SessionHostTests.make()
        let created = try await host.create()
        let session = try await host.session(created.id, token: created.token.text)
        #expect(try created.state.version == 1)

        #expect(try await session.apply(PostedEvent("pass", payload: 1)).state.version == 2)
        #expect(try await session.apply(PostedEvent("nothing")).state.version == 2)
        #expect(try await session.apply(PostedEvent("pass", payload: 2)).state.version == 3)
        await #expect(throws: SessionError.self) { try await session.apply(PostedEvent("unheard of")) }
        #expect(try session.state().version == 3)
        #expect(SessionHostTests.passed(try session.state()) == [1, 2])
    }

    /// Keeps a link until it is let in, and never opens it then.
    private struct LateCoordinator: Coordinator {
        static let links: [LinkPattern] = ["/late"]
        private var isOpen = false

        enum Event: NavigationEvent, CaseIterable { case letIn, ask, pass }

        func start(_ navigator: inout Navigator) { navigator.push(Screen("late")) }

        mutating func handle(_ event: Event, _ navigator: inout Navigator) {
            switch event {
            case .letIn: isOpen = true
            case .ask: navigator.alert(Alert("Sure?"))
            case .pass: navigator.push(Screen("passed"))
            }
        }

        func open(_ link: Link, _ navigator: inout Navigator) async throws -> LinkDecision {
            guard isOpen else { return .pending }
            await Gate.current.wait()
            return .taken
        }
    }

    @Test(arguments: [false, true])
    func `a kept link that takes too long is dropped, and the session goes on`(waitsForAnswer: Bool) async throws {
        let (gate, deadlines) = (Gate(), Deadlines())
        var settings = SessionSettings.unhurried
        settings.observeDeadline = deadlines.observe
        let app = App(
            "late", root: { LateCoordinator() },
            onError: { error, _ in error is LinkDeadlineExceeded ? Alert("Too late") : nil })
        let host = SessionHost(apps: [app], store: MemoryStore(), settings: settings)
        let created = try await host.create()
        let session = try await host.session(created.id, token: created.token.text)
        let open = PostedEvent("open", payload: ["path": "/late"])
        let answer = PostedEvent("answer", payload: ["button": "ok"])
        let before = waitsForAnswer ? [PostedEvent("letIn"), PostedEvent("ask"), open] : [open]
        for event in before { _ = try await session.apply(event) }

        try await Gate.$current.withValue(gate) {
            let opening = Task.immediate { try await session.apply(waitsForAnswer ? answer : PostedEvent("letIn")) }
            try await eventually { gate.waitingCount == 1 }
            try await deadlines.pass(until: 1, of: host)
            _ = try await opening.value
            gate.open()
        }

        #expect(try session.state().navigation.alert?.alert.title == "Too late")
        _ = try await session.apply(answer)
        #expect(try await session.apply(PostedEvent("pass")).state.navigation.visible?.screen.name == "passed")
    }

    @Test func `only the session's own token opens it`() async throws {
        let host = SessionHostTests.make()
        let one = try await host.create()
        let other = try await host.create()

        for (id, token) in [(one.id, other.token.text), (one.id, ""), (one.id, one.token.text + "x")] {
            await #expect(throws: SessionError.unauthorized) { try await host.session(id, token: token) }
        }
        let unknown = try #require(SessionID("s_0000000000000"))
        await #expect(throws: SessionError.unauthorized) { try await host.session(unknown, token: one.token.text) }
    }

    @Test func `a token is 256 bits, never printed, and only its digest is stored`() async throws {
        let store = MemoryStore()
        let created = try await SessionHostTests.make(store: store).create()

        #expect(created.token.text.count == 43)
        #expect("\(created.token)" == "•••")
        #expect(String(reflecting: created.token) == "•••")
        var dumped = ""
        dump(created, to: &dumped)
        dump(try store.load(created.id), to: &dumped)
        #expect(!dumped.contains(created.token.text))
    }

    @Test func `events of one session wait for each other, in order; reads and other sessions go on`() async throws {
        let host = SessionHostTests.make()
        let gate = Gate()
        let created = try await host.create()
        let session = try await host.session(created.id, token: created.token.text)
        let other = try await host.create()

        try await Gate.$current.withValue(gate) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { _ = try await session.apply(PostedEvent("wait", payload: 0)) }
                try await eventually { gate.waitingCount == 1 }
                for number in 1...5 {
                    let started = Task.immediate {
                        try await session.apply(PostedEvent("pass", payload: .integer(number)))
                    }
                    group.addTask { _ = try await started.value }
                }

                #expect(try session.state().version == 1)
                let elsewhere = try await host.session(other.id, token: other.token.text)
                #expect(try await elsewhere.apply(PostedEvent("pass", payload: 9)).state.version == 2)
                gate.open()
                try await group.waitForAll()
            }
        }

        #expect(SessionHostTests.passed(try session.state()) == [0, 1, 2, 3, 4, 5])
        #expect(try session.state().version == 7)
    }

    @Test func `a bounded number of events waits`() async throws {
        let host = SessionHostTests.make()
        let gate = Gate()
        let created = try await host.create()
        let session = try await host.session(created.id, token: created.token.text)

        try await Gate.$current.withValue(gate) {
            let first = Task.immediate { try await session.apply(PostedEvent("wait", payload: 0)) }
            try await eventually { gate.waitingCount == 1 }
            let waiting = (1...32).map { number in
                Task.immediate { try await session.apply(PostedEvent("pass", payload: .integer(number))) }
            }

            await #expect(throws: SessionError.tooManyWaiting) {
                try await session.apply(PostedEvent("pass", payload: 33))
            }

            gate.open()
            _ = try await first.value
            for task in waiting { _ = try await task.value }
        }
        #expect(SessionHostTests.passed(try session.state()) == Array(0...32))
    }

    @Test func `a handler that exceeds its deadline changes nothing, and frees the session`() async throws {
        let (gate, deadlines) = (Gate(), Deadlines())
        var settings = SessionSettings.unhurried
        settings.observeDeadline = deadlines.observe
        let host = SessionHostTests.make(settings: settings)
        let created = try await host.create()
        let session = try await host.session(created.id, token: created.token.text)

        try await Gate.$current.withValue(gate) { () async throws in
            let waiting = Task.immediate { try await session.apply(PostedEvent("wait", payload: 1)) }
            try await eventually { gate.waitingCount == 1 }
            try await deadlines.pass(until: 1, of: host)
            let slow = SlowTransition(
                app: "gate", coordinator: "gate", call: "handle(wait)", limit: settings.handlerDeadline)
            await #expect(throws: SessionError.deadlineExceeded(slow)) { try await waiting.value }
            #expect(try await session.apply(PostedEvent("pass", payload: 2)).state.version == 2)
            gate.open()
        }

        #expect(try await session.apply(PostedEvent("pass", payload: 3)).state.version == 3)
        #expect(SessionHostTests.passed(try session.state()) == [2, 3])
    }

    @Test func `an ended session is reported as ended to its owner, and as unknown to others`() async throws {
        let clock = TestClock()
        let host = SessionHostTests.make(clock: clock)
        let created = try await host.create()
        let session = try await host.session(created.id, token: created.token.text)

        try await session.end()

        await #expect(throws: SessionError.ended) { try await session.apply(PostedEvent("nothing")) }
        await #expect(throws: SessionError.ended) {
            try await host.session(created.id, token: created.token.text)
        }
        await #expect(throws: SessionError.unauthorized) { try await host.session(created.id, token: "x") }
        clock.advance(24 * 60 * 60 + 1)
        #expect(try await host.sweep() == 1)
        await #expect(throws: SessionError.unauthorized) {
            try await host.session(created.id, token: created.token.text)
        }
    }

    @Test func `a session expires when it is not used, and at the latest after thirty days`() async throws {
        let clock = TestClock()
        let host = SessionHostTests.make(clock: clock)
        let created = try await host.create()
        let session = try await host.session(created.id, token: created.token.text)
        let day: TimeInterval = 24 * 60 * 60
        #expect(try created.state.expiresAt == Date(timeIntervalSince1970: 1_800_000_000 + day))

        for number in 1...32 {
            clock.advance(day - 60)
            guard number < 31 else { break }
            _ = try await session.apply(PostedEvent("pass", payload: .integer(number)))
        }

        #expect(throws: SessionError.expired) { try session.state() }
        #expect(try await host.sweep() == 0, "it is still known as expired")
        clock.advance(2 * day)
        #expect(try await host.sweep() == 1)
    }

    @Test func `an event that changes nothing keeps a session alive, with one version a minute`()
        async throws
    {
        let clock = TestClock()
        let host = SessionHostTests.make(clock: clock)
        let created = try await host.create()
        let session = try await host.session(created.id, token: created.token.text)
        let began = try session.state().expiresAt

        clock.advance(59)
        #expect(try await session.apply(PostedEvent("nothing")).state.expiresAt == began)
        clock.advance(1)
        let used = try await session.apply(PostedEvent("nothing"))

        #expect(used.state.expiresAt == began + 60)
        #expect(used.state.version == 2)
        #expect(used.transition.operations.isEmpty)
        clock.advance(30)
        #expect(try await session.apply(PostedEvent("nothing")).state.version == 2)
    }

    @Test func `a short life is prolonged by every event`() async throws {
        let clock = TestClock()
        var settings = SessionSettings.unhurried
        settings.idleLifetime = 4
        let host = SessionHostTests.make(clock: clock, settings: settings)
        let created = try await host.create()
        let session = try await host.session(created.id, token: created.token.text)

        for _ in 1...10 {
            clock.advance(1)
            _ = try await session.apply(PostedEvent("nothing"))
        }

        clock.advance(5)
        await #expect(throws: SessionError.expired) { try await session.apply(PostedEvent("nothing")) }
    }

    @Test func `a session lives while a client watches it, and not because its operator does`() async throws {
        let clock = TestClock()
        let host = SessionHostTests.make(clock: clock)
        let created = try await host.create()
        let other = try await host.create()
        let watch = try await host.session(created.id, token: created.token.text).watch()
        let operators = try await host.sessionForOperator(other.id).watch()
        let keeping = Task { await host.keepWatchedAlive() }
        defer { keeping.cancel() }
        let hour: TimeInterval = 60 * 60

        // More than a day together.
        for version in 2...3 {
            clock.advance(13 * hour)
            try await eventually { try watch.current().update?.state.version == version }
        }

        #expect(try watch.current().end == nil)
        #expect(try operators.current().end == .expired)
        let history = try await host.session(created.id, token: created.token.text).history(limit: 1)
        #expect(history.first?.note.event == "watch")
    }
}

@Suite struct SharedStoreTests {
    @Test func `another server restores a session as it was, and continues it`() async throws {
        let store = MemoryStore()
        let first = SessionHostTests.make(store: store)
        let created = try await first.create()
        let session = try await first.session(created.id, token: created.token.text)
        let state = try await session.apply(PostedEvent("pass", payload: 1)).state

        let second = SessionHostTests.make(store: store)
        let restored = try await second.session(created.id, token: created.token.text)

        #expect(try restored.state() == state)
        #expect(try await restored.apply(PostedEvent("pass", payload: 2)).state.version == 3)
    }

    @Test func `a server that is behind overwrites nothing, and catches up`() async throws {
        let store = MemoryStore()
        let first = SessionHostTests.make(store: store)
        let second = SessionHostTests.make(store: store)
        let created = try await first.create()
        let here = try await first.session(created.id, token: created.token.text)
        let there = try await second.session(created.id, token: created.token.text)
        _ = try await here.apply(PostedEvent("pass", payload: 1))

        let state = try await there.apply(PostedEvent("pass", payload: 2)).state
        #expect(state.version == 3)
        #expect(SessionHostTests.passed(state) == [1, 2])
    }

    @Test func `ended sessions are remembered up to a limit`() async throws {
        let store = MemoryStore()
        let host = SessionHostTests.make(store: store)
        var ids: [SessionID] = []

        for _ in 0..<MemoryStore.endedLimit + 10 {
            let created = try await host.create()
            ids.append(created.id)
            try await host.session(created.id, token: created.token.text).end()
        }

        #expect(try ids.prefix(10).allSatisfy { try store.load($0) == nil })
        #expect(try ids.dropFirst(10).allSatisfy { try store.load($0) != nil && store.load($0)?.record.isEnd == true })
    }
}
