import Coordinators
import Foundation
import JSONCoding
import Sessions
import Sodium
import Synchronization
import TestSupport
import Testing

/// Signs users in and out, and ends their sessions.
private struct GuestbookCoordinator: Coordinator {
    enum Event: NavigationEvent {
        case signIn(String)
        case signOut, endAll, endOthers, list, look
        case endOne(String)
        case endOthersAtGate
        static let examples: [Event] = [
            .signIn("ann"), .signOut, .endAll, .endOthers, .list, .look, .endOne("s_"), .endOthersAtGate,
        ]
    }

    func start(_ navigator: inout Navigator) {
        navigator.push(Screen("book", params: ["user": .string(navigator.session.user ?? "")]))
    }

    func handle(_ event: Event, _ navigator: inout Navigator) async throws {
        let user = navigator.session.user ?? "nobody"
        switch event {
        case .signIn(let user): navigator.signIn(user: user)
        case .signOut: navigator.signOut()
        case .endAll: navigator.endSessions(ofUser: user, .all)
        case .endOthers: navigator.endSessions(ofUser: user)
        case .endOne(let id): navigator.endSessions(ofUser: user, .one(id))
        case .list:
            let ids = try await navigator.sessions(ofUser: user).map { JSON.string($0.id) }
            navigator.update("book") { $0.params["sessions"] = .array(ids) }
        case .look: navigator.push(Screen("page"))
        case .endOthersAtGate:
            await Gate.current.wait()
            navigator.endSessions(ofUser: user)
        }
    }
}

@Suite struct UserTests {
    static let app = App("book", root: { GuestbookCoordinator() })
    static let key = "a key of 20 letters."
    let clock = TestClock()
    let store = MemoryStore()
    let host: SessionHost

    init() {
        host = UserTests.host(on: store, clock)
    }

    static func host(on store: any SessionStore, _ clock: TestClock) -> SessionHost {
        SessionHost(apps: [app], store: store, settings: .unhurried, now: clock.read)
    }

    /// A new session, signed in; `nil` for nobody.
    func session(_ user: String?) async throws -> AuthorizedSession {
        let created = try await host.create()
        let session = try await host.session(created.id, token: created.token.text)
        if let user { _ = try await session.apply(PostedEvent("signIn", payload: .string(user))) }
        clock.advance(60)
        return session
    }

    func isOver(_ session: AuthorizedSession) -> Bool {
        do { _ = try session.state() } catch { return error == .ended }
        return false
    }

    @Test func `a user's sessions are listed, those last used first, and nobody else's`() async throws {
        let first = try await session("ann")
        let second = try await session("ann")
        let bobs = try await session("bob"), nobodys = try await session(nil)
        _ = try first.state()

        let sessions = try await host.sessions(ofUser: "ann")

        #expect(sessions.map(\.id) == [first.id.text, second.id.text])
        #expect(sessions.map(\.lastUsedAt.timeIntervalSince1970) == [1_800_000_240, 1_800_000_060])
        #expect(sessions[0].app == "book" && sessions[0].createdAt.timeIntervalSince1970 == 1_800_000_000)
        #expect(try await host.sessions(ofUser: "bob").map(\.id) == [bobs.id.text])
        #expect(try await host.sessions(ofUser: "ann", limit: 1).map(\.id) == [first.id.text])
        #expect(try await host.sessions(ofUser: "carol").isEmpty)
        #expect(!isOver(nobodys))
    }

    @Test func `who is signed in survives a restart, and signing in changes the version once`() async throws {
        let anns = try await session("ann")
        #expect(try anns.state().version == 2)
        let version = try await anns.apply(PostedEvent("signIn", payload: "ann")).state.version
        #expect(try await anns.apply(PostedEvent("signIn", payload: "ann")).state.version == version)
        _ = try await anns.apply(PostedEvent("look"))

        let other = UserTests.host(on: store, clock)

        #expect(try await other.sessions(ofUser: "ann").map(\.id) == [anns.id.text])
        _ = try await anns.apply(PostedEvent("signOut"))
        #expect(try await UserTests.host(on: store, clock).sessions(ofUser: "ann").isEmpty)
        #expect(try await host.sessions(ofUser: "ann").isEmpty)
    }

    @Test func `ended and expired sessions are nobody's any more`() async throws {
        let ended = try await session("ann"), expired = try await session("ann")
        try await ended.end()
        #expect(try await host.sessions(ofUser: "ann").map(\.id) == [expired.id.text])
        clock.advance(48 * 3600)

        #expect(try await host.sessions(ofUser: "ann").isEmpty)
        #expect(try await host.endSessions(ofUser: "ann") == 0)
    }

    @Test func `a dry run signs nobody in and ends nothing`() async throws {
        let anns = try await session("ann"), nobodys = try await session(nil)
        _ = try await nobodys.preview(PostedEvent("signIn", payload: "ann"))
        _ = try await anns.preview(PostedEvent("endAll"))
        #expect(try await host.sessions(ofUser: "ann").map(\.id) == [anns.id.text])
    }

    @Test(arguments: ["", String(repeating: "ä", count: 129)])
    func `a text that can be no user's id is the app's mistake`(user: String) async throws {
        let nobodys = try await session(nil)
        await #expect {
            try await nobodys.apply(PostedEvent("signIn", payload: .string(user)))
        } throws: { error in
            guard case SessionError.refused(.impossibleRequest(_, let request, _), _) = error else { return false }
            return request == "signIn(user:)"
        }
        #expect(try nobodys.state().version == 1)
    }

    @Test func `a fork of a signed-in session is the user's, one from before is not`() async throws {
        let anns = try await session("ann")
        let fork = try await host.fork(anns, version: nil)
        let before = try await host.fork(anns, version: 1)

        #expect(Set(try await host.sessions(ofUser: "ann").map(\.id)) == [anns.id.text, fork.id.text])
        #expect(try await host.endSessions(ofUser: "ann") == 2)
        #expect(try await host.session(before.id, token: before.token.text).state().version == 1)
    }

    @Test func `the operator ends all sessions of a user, in memory or not, and no others`() async throws {
        let anns = [try await session("ann"), try await session("ann"), try await session("ann")]
        let bobs = try await session("bob")
        // This host has none of them in memory.
        let other = UserTests.host(on: store, clock)

        #expect(try await other.endSessions(ofUser: "ann", except: anns[1].id) == 2)

        let third = UserTests.host(on: store, clock)
        #expect(try await third.sessions(ofUser: "ann").map(\.id) == [anns[1].id.text])
        #expect(try await third.sessions(ofUser: "bob").map(\.id) == [bobs.id.text])
        #expect(try await host.endSessions(ofUser: "ann") == 1)
        #expect(isOver(anns[1]) && !isOver(bobs))
    }

    @Test func `a session that changes hands while it waits to be ended is not ended`() async throws {
        let gate = Gate()
        try await Gate.$current.withValue(gate) {
            let session = try await session("ann")
            let running = Task.immediate { try await session.apply(PostedEvent("endOthersAtGate")) }
            try await eventually { gate.waitingCount == 1 }
            let handing = Task.immediate { try await session.apply(PostedEvent("signIn", payload: "bob")) }
            let ending = Task.immediate { try await host.endSessions(ofUser: "ann") }
            gate.open()

            _ = try await (running.value, handing.value)
            #expect(try await ending.value == 0)
            #expect(!isOver(session))
        }
    }

    @Test func `sessions that cannot be restored are ended once by all who end them at the same time`() async throws {
        for _ in 0..<20 { _ = try await session("ann") }
        let without = SessionHost(apps: [SessionHostTests.app], store: store, settings: .unhurried, now: clock.read)

        let ended = try await withThrowingTaskGroup { group in
            for _ in 0..<8 { group.addTask { try await without.endSessions(ofUser: "ann") } }
            return try await group.reduce(0, +)
        }

        #expect(ended == 20)
        #expect(try await UserTests.host(on: store, clock).sessions(ofUser: "ann").isEmpty)
    }

    @Test func `a session that cannot be restored is ended all the same`() async throws {
        let anns = try await session("ann")
        let without = SessionHost(apps: [SessionHostTests.app], store: store, settings: .unhurried, now: clock.read)

        #expect(try await without.sessions(ofUser: "ann").map(\.id) == [anns.id.text])
        #expect(try await without.endSessions(ofUser: "ann") == 1)

        let again = UserTests.host(on: store, clock)
        #expect(try await again.sessions(ofUser: "ann").isEmpty)
    }

    @Test func `an app lists and ends the user's other sessions, one, or all`() async throws {
        let sessions = [try await session("ann"), try await session("ann"), try await session("ann")]
        let bobs = try await session("bob")

        let listed = try await sessions[0].apply(PostedEvent("list")).state.navigation.visible?.screen.params
        #expect(Set(listed?["sessions"]?.array ?? []) == Set(sessions.map { .string($0.id.text) }))

        // Not the user's.
        _ = try await sessions[0].apply(PostedEvent("endOne", payload: .string(bobs.id.text)))
        _ = try await sessions[0].apply(PostedEvent("endOne", payload: "s_0000000000000"))
        #expect(!isOver(bobs))
        _ = try await sessions[0].apply(PostedEvent("endOne", payload: .string(sessions[1].id.text)))
        #expect(isOver(sessions[1]) && !isOver(sessions[0]) && !isOver(sessions[2]))
        _ = try await sessions[0].apply(PostedEvent("endOthers"))
        #expect(isOver(sessions[2]) && !isOver(sessions[0]) && !isOver(bobs))
        #expect(try await sessions[0].apply(PostedEvent("endAll")).state.version == 3)
        #expect(isOver(sessions[0]) && !isOver(bobs))
    }

    @Test func `two sessions may end each other at the same time`() async throws {
        let gate = Gate()
        try await Gate.$current.withValue(gate) {
            let (one, other) = (try await session("ann"), try await session("ann"))
            let ending = [one, other].map { session in
                Task.immediate { try? await session.apply(PostedEvent("endOthersAtGate")) }
            }
            try await eventually { gate.waitingCount == 2 }
            gate.open()

            for task in ending { _ = await task.value }
            #expect(isOver(one) && isOver(other))
        }
    }

    @Test func `if sessions cannot be ended, the event sent again under its key ends them`() async throws {
        let failing = FailingCommits(store)
        let own = try await session("ann"), other = try await session("ann")
        let host = UserTests.host(on: failing, clock)
        let created = try await host.create()
        let session = try await host.session(created.id, token: created.token.text)
        _ = try await session.apply(PostedEvent("signIn", payload: "ann"))
        failing.isAffected.withLock { $0 = { $0.record?.isEnd == true } }
        failing.error.withLock { $0 = .unavailable(reason: "test") }
        let once = IdempotentRequest.make(UserTests.key)

        await #expect {
            try await session.apply(PostedEvent("endOthers"), once: once)
        } throws: { error in
            if case SessionError.unknownOutcome = error { true } else { false }
        }
        failing.error.withLock { $0 = nil }
        let again = try await session.apply(PostedEvent("endOthers"), once: once)

        #expect(again.answered?.isReplay == true)
        let now = UserTests.host(on: store, clock)
        #expect(try await now.sessions(ofUser: "ann").map(\.id) == [session.id.text])
        _ = (own, other)
    }

    @Test func `a store that is full by then notes that sessions have ended`() async throws {
        let full = FailingCommits(store)
        // The event itself has found room.
        full.isAffected.withLock { $0 = { $0.record == nil && !$0.takesAway && $0.answer?.endings.isEmpty == true } }
        full.error.withLock { $0 = .full }
        _ = try await session("ann")
        let host = UserTests.host(on: full, clock)
        let created = try await host.create()
        let session = try await host.session(created.id, token: created.token.text)
        _ = try await session.apply(PostedEvent("signIn", payload: "ann"))
        let once = IdempotentRequest.make(UserTests.key)

        _ = try await session.apply(PostedEvent("endOthers"), once: once)
        let later = try await self.session("ann")
        _ = try await session.apply(PostedEvent("endOthers"), once: once)

        let now = try await UserTests.host(on: store, clock).sessions(ofUser: "ann")
        #expect(Set(now.map(\.id)) == [session.id.text, later.id.text])
    }

    @Test func `what an event ends is kept with its answer, also without its body`() throws {
        let endings = [
            SessionEnding(user: #"a","body":"b"#, sessions: .others), SessionEnding(user: "b", sessions: .all),
            SessionEnding(user: "c", sessions: .one("s_0000000000000")),
        ]
        let answer = StoredAnswer(
            session: try #require(SessionID("s_0000000000000")), key: "k", fingerprint: .init(of: "x"), version: 2,
            body: Array(#"{"a":1}"#.utf8), endings: endings)

        #expect(try StoredAnswer(parsing: answer.encoded) == answer)
        #expect(StoredAnswer.textWithoutBody(answer.encoded) == answer.withoutBody.encoded)
        #expect(try StoredAnswer(parsing: answer.withoutBody.encoded).endings == endings)
    }
}

/// The records of sessions with several tokens, or a user.
@Suite struct IdentityRecordTests {
    static func text(_ members: String) -> [UInt8] {
        Array(
            """
            {"session":"s_0000000000001","app":"a",\(members),"createdAt":1800000000000,"version":7,"time":1800000000000,\
            "keptUntil":1900000000000}
            """.utf8)
    }

    static func token(_ number: String, _ digits: String, _ rest: String = "") -> String {
        #"{"number":\#(number),"token":"\#(String(repeating: digits, count: 32))","createdAt":1800000000000,"#
            + #""usedAt":1800000000000\#(rest)}"#
    }

    @Test func `a record is written as it was read`() throws {
        let list = [
            IdentityRecordTests.token("2", "ab", #","label":"TV","firstVersion":3"#),
            IdentityRecordTests.token("5", "cd"),
        ]
        let text = IdentityRecordTests.text(#""tokens":[\#(list.joined(separator: ","))],"lastToken":9,"user":"ann ✓""#)

        let record = try SessionRecord(parsing: text)

        #expect(record.identity.tokens.map(\.number) == [2, 5] && record.identity.tokens.map(\.label) == ["TV", nil])
        #expect(record.identity.firstVersion == 1 && record.identity.user == "ann ✓")
        let again = try SessionRecord(parsing: record.encoded.text)
        #expect(again.identity == record.identity && again.encoded.text == record.encoded.text)
    }

    @Test(arguments: [
        #""tokens":[]"#, #""tokens":7"#, #""tokens":[{}]"#,
        #""tokens":[\#(token("1", "ab")),\#(token("1", "cd"))]"#,
        #""tokens":[\#(token("1", "ab")),\#(token("2", "ab"))]"#,
        #""tokens":[\#(token("0", "ab"))]"#, #""tokens":[\#(token("1", "zz"))]"#,
        #""tokens":[\#(token("9007199254740993", "ab"))]"#,
        #""tokens":[\#(token("1", "ab", #","firstVersion":8"#))]"#,
        #""tokens":[\#(token("1", "ab", #","firstVersion":0"#))]"#,
        #""tokens":[\#(token("1", "ab", #","label":"""#))]"#,
        #""tokens":[\#((1...9).map { token("\($0)", "a\($0)") }.joined(separator: ","))]"#,
        #""tokens":[\#(token("1", "ab"))],"lastToken":0"#,
        #""token":"\#(String(repeating: "ab", count: 32))","user":"""#,
        #""token":"\#(String(repeating: "ab", count: 32))","user":"\#(String(repeating: "x", count: 257))""#,
    ])
    func `members that no session can have are no record`(members: String) {
        #expect(throws: RecordError.self) { try SessionRecord(parsing: IdentityRecordTests.text(members)) }
    }
}
