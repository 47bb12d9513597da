import Coordinators
import Foundation
import Sessions
import Sodium
import Synchronization
import TestSupport
import Testing

/// A shared store that answers late, sometimes, and refuses commits as if another server held the session.
final class SlowSharedStore: SessionStore {
    private let store = MemoryStore(isShared: true)
    private let isBusy: @Sendable () -> Bool
    private let current = Mutex(1)
    var generation: Int { current.withLock { $0 } }

    /// As if commits had been lost.
    func beginGeneration() { current.withLock { $0 += 1 } }

    init(isBusy: @escaping @Sendable () -> Bool = { false }) {
        self.isBusy = isBusy
    }

    /// Whether the next commit is lost on its way, so that nobody learns what has become of it.
    private let losesNext = Mutex(false)

    func loseNextCommit() { losesNext.withLock { $0 = true } }

    /// What the store has of a session after it has lost its last commits.
    private let lost = Mutex<LoadedSession?>(nil)

    func lose(allAfter loaded: LoadedSession) { lost.withLock { $0 = loaded } }

    let name = "slow"
    let isShared = true
    var secret: [UInt8] { store.secret }
    var sessionCount: Int { store.sessionCount }
    var latestTime: Date { store.latestTime }

    private func pause() async { try? await Task.sleep(for: .microseconds(Int.random(in: 0...500))) }

    func load(_ id: SessionID, token: SHA256Digest?) async throws(StoreError) -> LoadedSession? {
        await pause()
        let kept = lost.withLock { $0 }
        let loaded = kept == nil ? try store.load(id, token: token) : kept
        await pause()
        return loaded.map { loaded in
            LoadedSession(
                record: loaded.record,
                stamp: SessionStamp(
                    version: loaded.stamp.version, commits: loaded.stamp.commits, generation: generation),
                answeredKeys: loaded.answeredKeys)
        }
    }

    func isCurrent(_ stamp: SessionStamp, of id: SessionID) async throws(StoreError) -> Bool {
        await pause()
        let isCurrent = lost.withLock { $0 }.map { $0.stamp == stamp } ?? store.isCurrent(stamp, of: id)
        await pause()
        return isCurrent && stamp.generation == generation
    }

    func commit(_ changes: [SessionChange]) async -> CommitOutcome {
        await pause()
        if losesNext.withLock({ losesNext in
            defer { losesNext = false }
            return losesNext
        }) {
            return .failure(.unknownOutcome(reason: "lost on its way"))
        }
        if isBusy() || changes.contains(where: { $0.expected.generation != generation }) {
            return .success(changes.map(\.id))
        }
        let outcome = store.commit(changes)
        await pause()
        return outcome
    }

    func answer(to key: String, of id: SessionID) async throws(StoreError) -> StoredAnswer? {
        await pause()
        return store.answer(to: key, of: id)
    }

    var pairings: (any PairingStore)? { store.pairings }

    /// Whether somebody has asked what has changed since a position.
    var isFollowed: Bool { followed.withLock { $0 } }
    private let followed = Mutex(false)

    func changes(since position: FeedPosition?) -> StoreChanges {
        if position != nil { followed.withLock { $0 = true } }
        let changes = store.changes(since: position)
        var next = changes.position
        next.lanes[-1] = generation
        let isSame = position?.lanes[-1] == generation
        return StoreChanges(versions: changes.versions, isComplete: changes.isComplete && isSame, position: next)
    }
    func forks(of id: SessionID) -> [SessionID] { store.forks(of: id) }
    func sessions(ofUser user: String) -> [SessionID] { store.sessions(ofUser: user) }
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
}

/// Several servers on one store: none of them may show that there are others.
@Suite struct SeveralServersTests {
    let store = MemoryStore(isShared: true)
    let clock = TestClock()
    let here: SessionHost
    let there: SessionHost

    init() {
        here = SeveralServersTests.host(on: store, clock)
        there = SeveralServersTests.host(on: store, clock)
    }

    static func host(
        on store: any SessionStore, _ clock: TestClock, attemptTime: Duration = .seconds(3600)
    ) -> SessionHost {
        var settings = SessionSettings.unhurried
        settings.attemptTime = attemptTime
        return SessionHost(
            apps: [ForkTests.bound, TokenRotationTests.app], store: store, settings: settings, now: clock.read)
    }

    func open(_ created: CreatedSession, on host: SessionHost) async throws -> AuthorizedSession {
        try await host.session(created.id, token: created.token.text)
    }

    /// For an event, which needs no confirmed session.
    func openForEvent(_ created: CreatedSession, on host: SessionHost) async throws -> AuthorizedSession {
        try await host.session(created.id, token: created.token.text, isConfirmed: false)
    }

    /// A session that both hosts have in memory, at version 1 there and at version 2 here.
    func split() async throws -> CreatedSession {
        let created = try await here.create()
        _ = try await open(created, on: there)
        _ = try await open(created, on: here).apply(PostedEvent("pass", payload: 1))
        return created
    }

    @Test func `the operator sees a session as another server has left it, and its end`() async throws {
        let created = try await split()
        #expect(try await there.sessionForOperator(created.id).state().version == 2)

        try await open(created, on: here).end()

        await #expect(throws: SessionError.self) { try await there.sessionForOperator(created.id).state() }
    }

    @Test func `a creation that meets a conflict each time is given up`() async throws {
        let host = SeveralServersTests.host(on: SlowSharedStore { true }, clock)

        await #expect(throws: SessionError.conflict) { try await host.create() }
    }

    @Test func `a session is read as another server has left it`() async throws {
        let created = try await split()
        #expect(try await open(created, on: there).state().version == 2)
        #expect(SessionHostTests.passed(try await open(created, on: there).state()) == [1])
    }

    @Test func `an event is applied to what another server has left`() async throws {
        let created = try await split()
        let applied = try await openForEvent(created, on: there).apply(PostedEvent("pass", payload: 2))
        #expect(applied.state.version == 3 && SessionHostTests.passed(applied.state) == [1, 2])
    }

    @Test func `an event that changes nothing shows what another server has left`() async throws {
        let created = try await split()
        let applied = try await openForEvent(created, on: there).apply(PostedEvent("nothing"))
        #expect(applied.state.version == 2)
    }

    @Test func `a condition is compared with the version that another server has made`() async throws {
        let created = try await split()
        let session = try await openForEvent(created, on: there)
        await #expect(throws: SessionError.self) {
            try await session.apply(PostedEvent("pass", payload: 9), if: .oneOf([1]))
        }
        _ = try await session.apply(PostedEvent("pass", payload: 2), if: .oneOf([2]))
        #expect(SessionHostTests.passed(try session.state()) == [1, 2])
    }

    @Test func `a refusal shows the state that another server has left`() async throws {
        let created = try await split()
        do {
            _ = try await openForEvent(created, on: there).apply(PostedEvent("unheard of"))
            Issue.record("it is not refused")
        } catch SessionError.refused(_, let state) {
            #expect(state.version == 2)
        }
    }

    @Test func `a session that another server has ended is ended`() async throws {
        let created = try await here.create()
        let stale = try await open(created, on: there)
        try await open(created, on: here).end()

        await #expect(throws: SessionError.ended) { try await stale.apply(PostedEvent("pass", payload: 1)) }
        await #expect(throws: SessionError.ended) { try await open(created, on: there).state() }
        await #expect(throws: SessionError.ended) { try await stale.end() }
    }

    @Test func `a token that another server has replaced gives access to nothing`() async throws {
        let created = try await here.create(SessionRequest(app: "door"))
        let stale = try await open(created, on: there)
        let entered = try await open(created, on: here).apply(PostedEvent("enter"))
        let token = try #require(entered.token).text

        await #expect(throws: SessionError.unauthorized) { try await stale.apply(PostedEvent("look")) }
        await #expect(throws: SessionError.unauthorized) { try await open(created, on: there) }
        let session = try await there.session(created.id, token: token, isConfirmed: false)
        #expect(try await session.apply(PostedEvent("look")).state.version == 3)
    }

    @Test(arguments: [
        PostedEvent("pass", payload: 1), PostedEvent("nothing"),
    ])
    func `one key at all servers at once is applied once`(event: PostedEvent) async throws {
        let store = SlowSharedStore()
        let hosts = (0..<3).map { _ in SeveralServersTests.host(on: store, clock) }
        let created = try await hosts[0].create()
        for round in 1...10 {
            let outcomes = try await withThrowingTaskGroup(of: Outcome.self) { group in
                for host in hosts {
                    group.addTask {
                        try await openForEvent(created, on: host).apply(event, once: .make("key \(round)"))
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(Set(outcomes.map(\.answered?.text)).count == 1)
            #expect(outcomes.count { $0.answered?.isReplay == false } == 1, "round \(round)")
        }
        let state = try await open(created, on: hosts[1]).state()
        #expect(state.version == (event.type == "pass" ? 11 : 1))
    }

    @Test func `one key of a creation at all servers at once creates one session`() async throws {
        let store = SlowSharedStore()
        let hosts = (0..<3).map { _ in SeveralServersTests.host(on: store, clock) }
        let all = try await withThrowingTaskGroup(of: CreatedSession.self) { group in
            for host in hosts { group.addTask { try await host.create(once: .make("a key that is long")) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(all.map(\.id)).count == 1 && Set(all.map(\.token.text)).count == 1)
        #expect(all.count { $0.outcome.answered?.isReplay == false } == 1)
    }

    @Test func `a session that other servers change without end is not applied to, after some time`() async throws {
        let conflicts = Mutex(0)
        let store = SlowSharedStore {
            conflicts.withLock { conflicts in
                conflicts -= 1
                return conflicts >= 0
            }
        }
        let host = SeveralServersTests.host(on: store, clock)
        let created = try await host.create()
        let session = try await open(created, on: host)
        conflicts.withLock { $0 = 6 }
        #expect(try await session.apply(PostedEvent("pass", payload: 1)).state.version == 2)

        let impatient = try await open(created, on: SeveralServersTests.host(on: store, clock, attemptTime: .zero))
        conflicts.withLock { $0 = .max }
        await #expect(throws: SessionError.conflict) { try await impatient.apply(PostedEvent("pass", payload: 2)) }

        conflicts.withLock { $0 = 0 }
        #expect(try await impatient.apply(PostedEvent("pass", payload: 3)).state.version == 3)
    }

    @Test func `a copy of what the store has lost is given up`() async throws {
        let store = SlowSharedStore()
        let host = SeveralServersTests.host(on: store, clock)
        let created = try await host.create()
        let kept = try #require(try await store.load(created.id, token: nil))
        let session = try await open(created, on: host)
        _ = try await session.apply(PostedEvent("pass", payload: 1))
        store.lose(allAfter: kept)

        await #expect(throws: SessionError.conflict) { try await session.apply(PostedEvent("nothing")) }
        #expect(try await open(created, on: host).state().version == 1)
    }

    @Test func `one pairing request at all servers at once gives one token to all`() async throws {
        let store = SlowSharedStore()
        let hosts = (0..<3).map { _ in SeveralServersTests.host(on: store, clock) }
        for round in 0..<10 {
            let created = try await hosts[0].create()
            let code = try await open(created, on: hosts[0]).openPairing(label: "TV").code.text
            let once = IdempotentRequest.make("a key that is long, \(round)")
            let paired = try await withThrowingTaskGroup(of: CreatedSession.self) { group in
                for host in hosts { group.addTask { try await host.pair(code, once: once) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(Set(paired.map(\.token.text)).count == 1 && Set(paired.map(\.outcome.answered?.text)).count == 1)
            #expect(try await open(created, on: hosts[1]).tokens().all.count == 2)
            await #expect(throws: SessionError.unknownCode) { _ = try await hosts[2].pair(code) }
        }
    }

    @Test func `a pairing that was lost on its way succeeds at another server under the same key only`() async throws {
        let store = SlowSharedStore()
        let hosts = (0..<2).map { _ in SeveralServersTests.host(on: store, clock) }
        let created = try await hosts[0].create()
        let code = try await open(created, on: hosts[0]).openPairing(label: "TV").code.text
        let once = IdempotentRequest.make("a key that is long")
        store.loseNextCommit()
        await #expect(throws: SessionError.unknownOutcome(reason: "lost on its way")) {
            _ = try await hosts[0].pair(code, once: once)
        }

        await #expect(throws: SessionError.unknownCode) { _ = try await hosts[1].pair(code) }
        let other = IdempotentRequest.make("another key that is long")
        await #expect(throws: SessionError.unknownCode) { _ = try await hosts[1].pair(code, once: other) }
        let paired = try await hosts[1].pair(code, once: once)
        #expect(try await hosts[0].session(created.id, token: paired.token.text).tokens().all.count == 2)
    }

    @Test func `watchers see what other servers commit, and why there is no more to see`() async throws {
        let created = try await here.create()
        let watch = try await open(created, on: there).watch()
        let following = Task { await there.follow() }
        defer { following.cancel() }
        let session = try await open(created, on: here)
        for version in 2...4 {
            _ = try await session.apply(PostedEvent("pass", payload: .integer(version)))
            try await eventually { try watch.current().update?.state.version == version }
        }
        try await session.end()
        try await eventually { try watch.current().end == .ended }
    }

    @Test func `after commits were lost, a version has another tag, and all who watch are told`() async throws {
        let store = SlowSharedStore()
        let host = SeveralServersTests.host(on: store, clock)
        let created = try await host.create()
        let session = try await open(created, on: host)
        let watch = try await session.watch()
        let following = Task { await host.follow() }
        defer { following.cancel() }
        try await eventually { store.isFollowed }
        let waiting = Task { try await open(created, on: host).state(after: 1, within: .seconds(3600)) }
        try await eventually { host.watcherCount == 2 }

        store.beginGeneration()

        let tag = VersionTag(1, generation: 2)
        try await eventually { try watch.current().update?.state.tag == tag }
        #expect(try await waiting.value.state.tag == tag)
        await #expect(throws: SessionError.self) {
            try await session.apply(PostedEvent("pass", payload: 1), if: .oneOf([1]))
        }
        _ = try await session.apply(PostedEvent("pass", payload: 1), if: .oneOf([tag]))
        #expect(try session.state().tag == VersionTag(2, generation: 2))
    }

    @Test func `who waits at one server for a version is told of another server's`() async throws {
        let created = try await here.create()
        let following = Task { await there.follow() }
        defer { following.cancel() }
        let waiting = Task { [there, created] in
            try await there.session(created.id, token: created.token.text).state(after: 1, within: .seconds(3600))
        }
        try await eventually { there.watcherCount == 1 }
        _ = try await open(created, on: here).apply(PostedEvent("pass", payload: 1))
        #expect(try await waiting.value.state.version == 2)
    }

    @Test func `a session and what is forked from it at another server end together`() async throws {
        let store = SlowSharedStore()
        let (here, there) = (SeveralServersTests.host(on: store, clock), SeveralServersTests.host(on: store, clock))
        for _ in 0..<20 {
            let created = try await here.create()
            let (one, other) = (try await open(created, on: here), try await open(created, on: there))
            async let fork = try? await there.fork(other, version: nil)
            async let end: Void = one.end()
            try await end
            if let fork = await fork {
                await #expect(throws: SessionError.ended) { try await open(fork, on: here).state() }
            }
        }
    }
}
