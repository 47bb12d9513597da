import Coordinators
import Foundation
import JSONCoding
import Sessions
import Synchronization
import Testing
import TestSupport

/// A service whose work ends when the test wants it to.
final class Desk: Sendable {
    struct Failure: Error {}

    private struct State {
        var attempts: [(job: Int, id: String)] = []
        var running = 0
        var mostRunning = 0
        var failures = 0
        var isHeld = false
        var waiting: [CheckedContinuation<Void, Never>] = []
        /// The jobs that were cancelled while they were held.
        var cancelled: [Int] = []
    }

    private let state = Mutex(State())

    var attempts: [(job: Int, id: String)] { state.withLock(\.attempts) }
    var mostRunning: Int { state.withLock(\.mostRunning) }
    var running: Int { state.withLock(\.running) }
    var cancelled: [Int] { state.withLock(\.cancelled) }

    /// So many attempts fail from now on.
    func fail(_ count: Int) { state.withLock { $0.failures = count } }

    /// Work does not end, not even when it is cancelled, until `release`.
    func hold() { state.withLock { $0.isHeld = true } }

    func release() {
        let waiting = state.withLock { state in
            state.isHeld = false
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    func work(_ job: Int, id: String) async throws {
        let fails = state.withLock { state in
            state.attempts.append((job, id))
            state.running += 1
            state.mostRunning = max(state.mostRunning, state.running)
            guard state.failures > 0 else { return false }
            state.failures -= 1
            return true
        }
        defer { state.withLock { $0.running -= 1 } }
        if fails { throw Failure() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isHeld = state.withLock { state in
                    if state.isHeld { state.waiting.append(continuation) }
                    return state.isHeld
                }
                if !isHeld { continuation.resume() }
            }
        } onCancel: {
            self.state.withLock { $0.cancelled.append(job) }
        }
    }
}

struct JobsCoordinator: Coordinator {
    var log: [String] = []
    /// How many signals cannot be received.
    var refusals = 0

    enum Event: NavigationEvent {
        case begin(Int), same(Int), cancel(Int), cancelTimer, hire, refuse(Int), note
        case remind(milliseconds: Int), whenIdle(milliseconds: Int)
        static let examples: [Event] = [
            .begin(1), .same(1), .cancel(1), .cancelTimer, .hire, .refuse(1), .note, .remind(milliseconds: 1),
            .whenIdle(milliseconds: 1),
        ]
    }

    enum Signal: NavigationSignal {
        case done(Int), reminded, idle
        case paid(reference: String)
        static let external: [Signal] = [.paid(reference: "r-1")]
    }

    enum Effect: NavigationEffect { case job(Int) }

    static let dependencies: [any Any.Type] = [Desk.self]

    func start(_ navigator: inout Navigator) { navigator.push(Screen("jobs")) }

    mutating func handle(_ event: Event, _ navigator: inout Navigator) {
        switch event {
        case .begin(let job): navigator.perform(Effect.job(job), id: "job\(job)")
        case .same(let job): navigator.perform(Effect.job(job))
        case .cancel(let job): navigator.cancel("job\(job)")
        case .cancelTimer: navigator.cancel("reminded")
        case .hire: navigator.start(HelperCoordinator())
        case .refuse(let count): refusals = count
        case .note: log.append("note")
        case .remind(let delay): navigator.schedule(Signal.reminded, after: .milliseconds(delay))
        case .whenIdle(let delay): navigator.scheduleWhenIdle(Signal.idle, after: .milliseconds(delay))
        }
    }

    mutating func receive(_ signal: Signal, _ navigator: inout Navigator) throws {
        if refusals != 0 {
            // A transition that throws changes nothing, so only the desk can count.
            guard try navigator.resolve(Refusals.self).take(refusals) else { throw Desk.Failure() }
        }
        switch signal {
        case .done(let job): log.append("done \(job)")
        case .reminded: log.append("reminded")
        case .idle: log.append("idle")
        case .paid(let reference): log.append("paid \(reference)")
        }
    }

    func perform(_ effect: Effect, in context: EffectContext) async throws -> Signal? {
        guard case .job(let job) = effect else { return nil }
        try await context.resolve(Desk.self).work(job, id: context.effectID)
        return job == 0 ? nil : .done(job)
    }

    static func retries(_ effect: Effect) -> Int { 2 }

    func render(_ screen: inout Screen, in context: NavigationContext) {
        screen.params["log"] = .array(log.map(JSON.string))
    }
}

/// Lets a signal be received after so many refusals.
final class Refusals: Sendable {
    private let count = Mutex(0)

    func take(_ limit: Int) -> Bool {
        count.withLock { count in
            count += 1
            return count > limit
        }
    }
}

/// A child with an effect of its own.
struct HelperCoordinator: Coordinator {
    enum Event: NavigationEvent {
        case leave
        static let examples: [Event] = [.leave]
    }

    enum Signal: NavigationSignal { case done }
    enum Effect: NavigationEffect { case job }

    func start(_ navigator: inout Navigator) {
        navigator.push(Screen("helper"))
        navigator.perform(Effect.job)
    }

    func handle(_ event: Event, _ navigator: inout Navigator) { navigator.finish() }
    func receive(_ signal: Signal, _ navigator: inout Navigator) { navigator.push(Screen("late")) }

    func perform(_ effect: Effect, in context: EffectContext) async throws -> Signal? {
        try await context.resolve(Desk.self).work(99, id: context.effectID)
        return .done
    }
}

/// A host on a store in memory, with a desk.
struct JobsHost {
    let desk: Desk
    let host: SessionHost
    let store: MemoryStore
    let reports = Reports()

    init(
        _ desk: Desk = Desk(), on store: MemoryStore = MemoryStore(), retention: Retention = Retention(),
        version: Int = 1, showsErrors: Bool = true, clock: WallClock? = nil,
        _ change: (inout SessionSettings) -> Void = { _ in }
    ) {
        var dependencies = Dependencies()
        dependencies.register(Desk.self) { _ in desk }
        dependencies.register(Refusals.self) { _ in Refusals() }
        let app = App(
            "jobs", version: version, root: { JobsCoordinator() }, coordinators: [HelperCoordinator.self],
            dependencies: dependencies,
            onError: { _, _ in showsErrors ? Alert("Sorry", buttons: [AlertButton("ok", title: "OK")]) : nil })
        precondition(app.problems.isEmpty, "\(app.problems)")
        var settings = SessionSettings.unhurried
        settings.retryPause = .milliseconds(5)
        change(&settings)
        self.desk = desk
        self.store = store
        self.host = SessionHost(
            apps: [app], store: store, settings: settings, retention: retention,
            now: clock?.read,
            report: { [reports] in reports.add($0) })
    }

    func session() async throws -> AuthorizedSession {
        let created = try await host.create(SessionRequest(app: "jobs"))
        return try await host.session(created.id, token: created.token.text)
    }

    /// Runs the host's chores meanwhile.
    func running(_ work: () async throws -> Void) async throws {
        let chores = [Task { await host.fireTimers() }, Task { await host.resumeEffects() }]
        defer { for chore in chores { chore.cancel() } }
        try await work()
    }

    /// Waits until the host has fired what is due now, in another session. Counts as one timer.
    func fireTimers() async throws {
        let other = try await session()
        try await other.post("remind", ["milliseconds": 0])
        try await eventually { try other.log == ["reminded"] }
    }
}

/// A clock that somebody sets.
final class WallClock: Sendable {
    private let time = Mutex(Date(timeIntervalSince1970: 1_800_000_000))
    var now: Date { time.withLock { $0 } }
    var read: @Sendable () -> Date { { self.now } }
    func move(by minutes: Double) { time.withLock { $0 += minutes * 60 } }
}

final class Reports: Sendable {
    private let lines = Mutex<[String]>([])
    var all: [String] { lines.withLock { $0 } }
    func add(_ line: String) { lines.withLock { $0.append(line) } }
}

extension AuthorizedSession {
    var log: [String] {
        get throws { try state().navigation.visible?.screen.params["log"]?.array?.compactMap(\.string) ?? [] }
    }

    var pendingIDs: [String] {
        get throws { try state().navigation.pending.map(\.id) }
    }

    func post(_ type: String, _ payload: JSON? = nil) async throws {
        _ = try await apply(PostedEvent(type, payload: payload), if: nil)
    }
}

/// Fetches a text that is larger than a session may be.
private struct ReaderCoordinator: Coordinator {
    var text = ""
    var failures: [String] = []

    enum Event: NavigationEvent, CaseIterable { case fetch }
    enum Signal: NavigationSignal { case fetched(String) }
    enum Effect: NavigationEffect { case fetch }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("reader")) }
    func handle(_ event: Event, _ navigator: inout Navigator) { navigator.perform(Effect.fetch) }
    func perform(_ effect: Effect, in context: EffectContext) -> Signal? {
        .fetched(String(repeating: "x", count: 100_000))
    }
    mutating func receive(_ signal: Signal, _ navigator: inout Navigator) {
        if case .fetched(let text) = signal { self.text = text }
    }
    mutating func effectDidFail(_ effect: Effect, _ error: any Error, _ navigator: inout Navigator) {
        failures.append(error is OutcomeTooLarge ? "too large" : "\(error)")
    }
    func render(_ screen: inout Screen, in context: NavigationContext) {
        screen.params["failures"] = .array(failures.map(JSON.string))
    }
}

@Suite struct EffectTests {
    @Test func `an effect whose result would make its session too large has failed, at once`() async throws {
        var settings = SessionSettings.unhurried
        settings.retryPause = .seconds(3600)
        let app = App("reader", root: { ReaderCoordinator() })
        let host = SessionHost(apps: [app], store: MemoryStore(), settings: settings)
        let created = try await host.create()
        let session = try await host.session(created.id, token: created.token.text)

        try await session.post("fetch")

        try await eventually { try session.pendingIDs == [] }
        #expect(try session.state().navigation.visible?.screen.params["failures"] == ["too large"])
    }

    @Test func `an effect runs outside the turn, and its outcome is a version of its own`() async throws {
        let jobs = JobsHost()
        let session = try await jobs.session()
        jobs.desk.hold()

        try await session.post("begin", 1)
        #expect(try session.pendingIDs == ["job1"])
        try await session.post("note")
        try await eventually { jobs.desk.running == 1 }
        #expect(try session.log == ["note"])
        jobs.desk.release()

        try await eventually { try session.log == ["note", "done 1"] }
        #expect(try session.pendingIDs == [])
        let last = try await session.history(limit: 1).first?.note
        #expect(last?.event == "done" && last?.cause == "effect")
        #expect(try session.state().version == 4)
    }

    @Test func `an attempt that throws is repeated with the same id, and the last one's error becomes an alert`()
        async throws
    {
        let jobs = JobsHost()
        let session = try await jobs.session()
        jobs.desk.fail(2)
        try await session.post("begin", 1)
        try await eventually { try session.log == ["done 1"] }
        #expect(jobs.desk.attempts.count == 3)
        #expect(jobs.host.measures.signals[.effectRepeated] == 2)
        #expect(Set(jobs.desk.attempts.map(\.id)).count == 1)

        jobs.desk.fail(3)
        try await session.post("begin", 2)
        try await eventually { try session.state().navigation.alert?.alert.title == "Sorry" }
        #expect(try session.pendingIDs == [])
        #expect(jobs.desk.attempts.count == 6)
        #expect(jobs.desk.attempts[5].id != jobs.desk.attempts[0].id)
        #expect(jobs.reports.all.contains { $0.contains("perform(job)") })
    }

    @Test func `without an alert for errors, an effect that fails for good is dropped and reported`() async throws {
        let jobs = JobsHost(showsErrors: false)
        let session = try await jobs.session()
        jobs.desk.fail(3)
        try await session.post("begin", 1)
        try await eventually { try session.pendingIDs == [] }
        #expect(try session.log == [])
        #expect(jobs.host.measures.signals[.dropped] == 1)
        #expect(jobs.reports.all.contains { $0.contains("is dropped") })
    }

    @Test func `an effect of the same id replaces the earlier one, whose outcome is discarded`() async throws {
        let jobs = JobsHost()
        let session = try await jobs.session()
        jobs.desk.hold()
        try await session.post("same", 1)
        try await eventually { jobs.desk.running == 1 }
        try await session.post("same", 2)
        try await eventually { jobs.desk.running == 2 }
        try await eventually { jobs.desk.cancelled == [1] }
        jobs.desk.release()

        try await eventually { try session.log == ["done 2"] }
        try await eventually { jobs.desk.running == 0 }
        try await eventually { jobs.host.effectFigures == (0, 0) }
        try await eventually { jobs.host.measures.signals[.effectDiscarded] == 1 }
    }

    @Test(arguments: ["cancel", "relaunch", "end", "leave"])
    func `an effect ends with its coordinator, its session, or when it is cancelled`(_ way: String) async throws {
        let jobs = JobsHost()
        let session = try await jobs.session()
        jobs.desk.hold()
        if way == "leave" { try await session.post("hire") } else { try await session.post("begin", 1) }
        try await eventually { jobs.desk.running == 1 }
        switch way {
        case "cancel": try await session.post("cancel", 1)
        case "leave": try await session.post("leave")
        case "relaunch": try await session.post("relaunch")
        default: try await session.end()
        }
        // The limit does not count it any longer, though it does not mind being cancelled.
        try await eventually { jobs.host.effectFigures == (0, 0) }
        try await eventually { jobs.desk.cancelled.count == 1 }
        jobs.desk.release()
        try await eventually { jobs.desk.running == 0 }
        if way != "end" { #expect(try session.log == []) }
    }

    @Test func `an effect that hangs has failed after its deadline, and holds up nobody`() async throws {
        let deadlines = Deadlines()
        let jobs = JobsHost { $0.observeDeadline = deadlines.observe }
        let session = try await jobs.session()
        jobs.desk.hold()
        try await session.post("begin", 1)
        for attempt in 1...3 {
            try await eventually { jobs.desk.running == attempt }
            try await deadlines.pass(until: attempt, of: jobs.host)
        }
        try await eventually { try session.state().navigation.alert != nil }
        #expect(jobs.desk.attempts.count == 3)
        #expect(jobs.host.lateCalls == 3)
        jobs.desk.release()
        try await eventually { jobs.host.lateCalls == 0 }
    }

    @Test func `so many effects run at a time, so many of one session, and the others wait in order`() async throws {
        let jobs = JobsHost { $0.effectLimit = 10 }
        let (first, second) = (try await jobs.session(), try await jobs.session())
        jobs.desk.hold()
        for job in 1...12 { try await first.post("begin", .integer(job)) }
        for job in 21...24 { try await second.post("begin", .integer(job)) }
        try await eventually { jobs.desk.running == 10 }
        #expect(jobs.host.effectFigures == (10, 6))
        #expect(Set(jobs.desk.attempts.map(\.job)) == Set(1...8).union(21...22))
        jobs.desk.release()
        try await eventually { try first.log.count == 12 }
        try await eventually { try second.log.count == 4 }
        #expect(jobs.desk.mostRunning == 10)
        #expect(Set(try first.log) == Set((1...12).map { "done \($0)" }))
        #expect(jobs.desk.attempts.count == 16)
    }

    @Test func `an effect without a signal is a version all the same, and one of a dry run never begins`() async throws
    {
        let jobs = JobsHost()
        let session = try await jobs.session()
        _ = try await session.preview(PostedEvent("begin", payload: 1))
        try await session.post("begin", 0)
        try await eventually { try session.pendingIDs == [] }
        #expect(try session.state().version == 3)
        #expect(jobs.desk.attempts.map(\.job) == [0])
        let last = try await session.history(limit: 1).first?.note
        #expect(last?.event == "job" && last?.cause == "effect")
    }

    @Test func `a signal that cannot be received is tried again, then its effect is dropped with an alert`()
        async throws
    {
        let jobs = JobsHost()
        let session = try await jobs.session()
        try await session.post("refuse", 3)
        try await session.post("begin", 1)
        try await eventually { try session.log == ["done 1"] }
        #expect(jobs.desk.attempts.count == 1)

        try await session.post("refuse", 100)
        try await session.post("begin", 2)
        try await eventually { try session.state().navigation.alert?.alert.title == "Sorry" }
        #expect(try session.pendingIDs == [])
        #expect(jobs.desk.attempts.count == 2)
    }

    @Test func `after a restart, and only then, what was under way runs again, with the same id`() async throws {
        let store = MemoryStore()
        let before = JobsHost(on: store)
        let session = try await before.session()
        before.desk.hold()
        try await session.post("begin", 1)
        try await eventually { before.desk.running == 1 }

        let after = JobsHost(on: store)
        try await after.running {
            try await eventually { after.desk.attempts.count == 1 }
            try await eventually { try await after.host.sessionForOperator(session.id).log == ["done 1"] }
        }
        #expect(after.desk.attempts[0].id == before.desk.attempts[0].id)
        #expect(after.desk.attempts.count == 1)
        before.desk.release()
    }

    @Test func `a session that was evicted meanwhile gets its outcome`() async throws {
        let jobs = JobsHost { $0.liveLimit = 1 }
        let session = try await jobs.session()
        jobs.desk.hold()
        try await session.post("begin", 1)
        try await eventually { jobs.desk.running == 1 }
        for _ in 0..<5 { _ = try await jobs.session() }
        jobs.desk.release()
        try await eventually { try await jobs.host.sessionForOperator(session.id).log == ["done 1"] }
    }

    @Test func `a fork takes timers along, and no effects`() async throws {
        let clock = WallClock()
        let jobs = JobsHost(clock: clock)
        let session = try await jobs.session()
        jobs.desk.hold()
        try await session.post("begin", 1)
        try await session.post("remind", ["milliseconds": 3_600_000])
        try await session.post("whenIdle", ["milliseconds": 3_600_000])
        clock.move(by: 1)
        let fork = try await jobs.host.fork(session, version: nil)
        let forked = try await jobs.host.session(fork.id, token: fork.token.text)
        #expect(try forked.pendingIDs == ["reminded", "idle"])
        let idle = try #require(try forked.state().navigation.pending.last?.due)
        #expect(idle == clock.now + 3600, "who makes a fork does something")
        #expect(try session.pendingIDs == ["job1", "reminded", "idle"])
        try await eventually { jobs.desk.attempts.count == 1 }
        jobs.desk.release()
    }

    @Test func `an event may wait for the effects that it begins`() async throws {
        let jobs = JobsHost()
        let session = try await jobs.session()
        let before = try session.state()
        jobs.desk.hold()
        let outcome = try await session.apply(PostedEvent("begin", payload: 1), if: nil)
        async let waiting = session.settled(outcome, after: before, within: .seconds(3600)) { false }
        try await eventually { jobs.host.watcherCount == 1 }
        jobs.desk.release()
        let settled = try #require(try await waiting)
        #expect(settled.state.version == 3)
        #expect(settled.state.navigation.pending.isEmpty)
        #expect(settled.transition["event"] == "begin" && settled.transition["cause"] == "event")
        #expect(settled.transition["operations"] == [["op": "update", "key": "k1"]])

        jobs.desk.hold()
        let held = try await session.apply(PostedEvent("begin", payload: 2), if: nil)
        let late = try #require(
            try await session.settled(held, after: settled.state, within: .milliseconds(50)) { false })
        #expect(late.state.version == 4)
        #expect(late.state.navigation.pending.map(\.id) == ["job2"])
        // Later ones and earlier ones are not waited for.
        let own = try await session.apply(PostedEvent("begin", payload: 3), if: nil)
        async let ended = session.settled(own, after: late.state, within: .seconds(3600)) { false }
        try await eventually { jobs.host.watcherCount == 1 }
        try await session.post("begin", 4)
        try await session.post("cancel", 3)
        #expect(try await ended?.state.navigation.pending.map(\.id) == ["job2", "job4"])
        let now = try session.state()
        let note = try await session.apply(PostedEvent("note"), if: nil)
        #expect(try await session.settled(note, after: now, within: .seconds(3600)) { false } == nil)
        jobs.desk.release()
    }
}

@Suite struct TimerTests {
    @Test func `a timer fires once, in a version of its own that does not prolong the session's life`() async throws {
        let clock = WallClock()
        let jobs = JobsHost(clock: clock)
        let session = try await jobs.session()
        try await jobs.running {
            try await session.post("remind", ["milliseconds": 60_000])
            let expiresAt = try session.state().expiresAt
            clock.move(by: 2)
            try await eventually { try session.log == ["reminded"] }
            try await jobs.fireTimers()
            #expect(try session.log == ["reminded"])
            #expect(try session.state().expiresAt == expiresAt)
            try await eventually { jobs.host.measures.signals[.timerFired] == 2 }
        }
        let last = try await session.history(limit: 1).first?.note
        #expect(last?.event == "reminded" && last?.cause == "timer")
    }

    @Test func `timers that fell due while no server ran fire at the start, also of sessions not in memory`()
        async throws
    {
        let store = MemoryStore()
        let before = JobsHost(on: store)
        var ids: [SessionID] = []
        for _ in 0..<50 {
            let session = try await before.session()
            try await session.post("remind", ["milliseconds": 1])
            ids.append(session.id)
        }
        let after = JobsHost(on: store) { $0.liveLimit = 10 }
        try await after.running { try await eventually { after.host.measures.signals[.timerFired] == 50 } }
        for id in ids { #expect(try await after.host.sessionForOperator(id).log == ["reminded"]) }
    }

    @Test func `each accepted event restarts the wait for idleness`() async throws {
        let clock = WallClock()
        let jobs = JobsHost(clock: clock)
        let session = try await jobs.session()
        try await jobs.running {
            try await session.post("whenIdle", ["milliseconds": 180_000])
            for _ in 0..<4 {
                clock.move(by: 1)
                try await session.post("note")
            }
            try await jobs.fireTimers()
            #expect(try session.log == ["note", "note", "note", "note"])
            #expect(try session.state().navigation.pending.first?.due == clock.now + 180)
            clock.move(by: 3)
            try await eventually { try session.log.last == "idle" }
        }
    }

    @Test func `a timer whose signal cannot be received is dropped after some tries, and holds up no other session`()
        async throws
    {
        let jobs = JobsHost(showsErrors: false)
        let (bad, good) = (try await jobs.session(), try await jobs.session())
        try await bad.post("refuse", 100)
        try await jobs.running {
            try await bad.post("remind", ["milliseconds": 1])
            try await good.post("remind", ["milliseconds": 1])
            try await eventually { try good.log == ["reminded"] }
            try await eventually { try bad.pendingIDs == [] }
        }
        #expect(try bad.log == [])
        #expect(jobs.host.measures.signals[.dropped] == 1)
    }

    @Test func `a clock that is set back and forth lets no timer fire early, twice or never`() async throws {
        let clock = WallClock()
        let jobs = JobsHost(clock: clock)
        let session = try await jobs.session()
        try await jobs.running {
            try await session.post("remind", ["milliseconds": 600_000])
            for minutes in [-180, 189.9, -300, 300] as [Double] {
                clock.move(by: minutes)
                try await jobs.fireTimers()
                #expect(try session.log == [])
            }
            clock.move(by: 0.2)
            try await eventually { try session.log == ["reminded"] }
            for minutes in [-240, 480] as [Double] {
                clock.move(by: minutes)
                try await jobs.fireTimers()
            }
            try await eventually { jobs.host.measures.signals[.timerFired] == 7 }
        }
        #expect(try session.log == ["reminded"])
    }

    @Test(arguments: [false, true])
    func `a timer that an older version of the app cannot fire waits for no longer than that runs`(
        isShared: Bool
    ) async throws {
        let (clock, store) = (WallClock(), MemoryStore(isShared: isShared))
        let newer = JobsHost(on: store, version: 2, clock: clock)
        let session = try await newer.session()
        try await session.post("remind", ["milliseconds": 60_000])
        clock.move(by: 2)

        let older = JobsHost(on: store, clock: clock)
        try await older.running { try await older.fireTimers() }

        #expect(store.dueTimers(at: clock.now, limit: 10).map(\.session) == [session.id])
        try await newer.running { try await eventually { try session.log == ["reminded"] } }
    }

    @Test func `a timer beyond the session's expiry never fires`() async throws {
        let clock = WallClock()
        let jobs = JobsHost(clock: clock) { $0.idleLifetime = 60 }
        let session = try await jobs.session()
        try await jobs.running {
            try await session.post("remind", ["milliseconds": 90_000])
            for minutes in [1.2, 1] {
                clock.move(by: minutes)
                try await jobs.fireTimers()
            }
            try await eventually { jobs.host.measures.signals[.timerFired] == 2 }
        }
        #expect(try jobs.store.load(session.id)?.record.version == 2)
    }
}

@Suite struct OutsideSignalTests {
    private func once(_ key: String, _ body: String = "") -> IdempotentRequest {
        IdempotentRequest(key: key, request: Array(body.utf8)) { _ in Array("{}".utf8) }
    }

    private let paid = PostedEvent("paid", payload: ["reference": "r-7"])

    @Test func `a signal is received once under its key`() async throws {
        let jobs = JobsHost()
        let session = try await jobs.session()
        let expiresAt = try session.state().expiresAt
        for round in 1...3 {
            let outcome = try await jobs.host.receive(paid, for: session.id, once: once("a"))
            #expect(outcome.isReplay == (round > 1))
            #expect(outcome.version == 2)
        }
        #expect(try session.log == ["paid r-7"])
        #expect(try session.state().expiresAt == expiresAt)
        await #expect(throws: SessionError.keyReused) {
            _ = try await jobs.host.receive(paid, for: session.id, once: once("a", "other"))
        }
    }

    @Test func `a client and each service have keys of their own`() async throws {
        let jobs = JobsHost()
        let session = try await jobs.session()
        func send(_ service: String) async throws -> Bool {
            let once = IdempotentRequest(key: "a", of: service, request: []) { _ in [] }
            return try await jobs.host.receive(paid, for: session.id, once: once).isReplay
        }
        func post() async throws -> Bool {
            try await session.apply(PostedEvent("note"), once: .make("a")).isReplay
        }

        let first = [try await post(), try await send("payments"), try await send("gates")]
        let again = [try await post(), try await send("payments"), try await send("gates")]

        #expect(first == [false, false, false] && again == [true, true, true])
        #expect(try session.log.filter { $0 == "paid r-7" }.count == 2)
    }

    @Test func `neither services nor clients make a session forget the keys of the others`() async throws {
        let jobs = JobsHost()
        let session = try await jobs.session()
        func send(_ key: String, from service: String) async throws -> Bool {
            let once = IdempotentRequest(key: key, of: service, request: []) { _ in [] }
            return try await jobs.host.receive(paid, for: session.id, once: once).isReplay
        }
        func post(_ key: String, to session: AuthorizedSession) async throws -> Bool {
            try await session.apply(PostedEvent("note"), once: .make(key)).isReplay
        }
        #expect(try await post("tap", to: session) == false)

        for number in 1...300 { #expect(try await send("\(number)", from: "s\(number % 3)") == false) }
        #expect(try await post("tap", to: session))
        for number in 1...300 { #expect(try await post("\(number)", to: session) == false) }
        #expect(try await send("300", from: "s0"))

        let elsewhere = JobsHost(on: jobs.store)
        let host = elsewhere.host
        let last = IdempotentRequest(key: "45", of: "s0", request: []) { _ in [] }
        #expect(try await host.receive(paid, for: session.id, once: last).isReplay)
        // The services together have 256: the 44th signal is forgotten.
        let lost = IdempotentRequest(key: "44", of: "s2", request: []) { _ in [] }
        #expect(try await host.receive(paid, for: session.id, once: lost).isReplay == false)
    }

    @Test func `what is not external, not known, does not fit, or has no session is refused`() async throws {
        let jobs = JobsHost()
        let session = try await jobs.session()
        func refusal(_ signal: PostedEvent, _ id: SessionID) async -> SessionError? {
            do throws(SessionError) {
                _ = try await jobs.host.receive(signal, for: id, once: once("\(signal)"))
                return nil
            } catch {
                return error
            }
        }
        for name in ["done", "reminded", "nothing"] {
            guard case .refused(.unknownSignal, _) = await refusal(PostedEvent(name), session.id) else {
                Issue.record("\(name) is not refused")
                continue
            }
        }
        guard
            case .refused(.invalidEvent(let event), _) = await refusal(
                PostedEvent("paid", payload: ["reference": 1]), session.id)
        else { throw NotApplied() }
        #expect(event.faults.map(\.path) == [["payload", "reference"]])
        #expect(await refusal(paid, SessionID("s_aaaaaaaaaaaaa")!) == .unknownSession)
        try await session.end()
        #expect(await refusal(paid, session.id) == .ended)
    }

    @Test func `hundreds of signals to one session all arrive, while others go on`() async throws {
        let jobs = JobsHost()
        let (session, other) = (try await jobs.session(), try await jobs.session())
        let host = jobs.host
        let signal = paid
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<500 {
                group.addTask {
                    let once = IdempotentRequest(key: "k\(number)", request: []) { _ in [] }
                    while true {
                        do throws(SessionError) {
                            _ = try await host.receive(signal, for: session.id, once: once)
                            return
                        } catch {
                            guard error == .tooManyWaiting else { throw error }
                            try? await Task.sleep(for: .milliseconds(Int.random(in: 1...50)))
                        }
                    }
                }
            }
            for _ in 0..<100 { try await other.post("note") }
            try await group.waitForAll()
        }
        #expect(try session.state().version == 501)
        #expect(try other.log.count == 100)
    }
}
