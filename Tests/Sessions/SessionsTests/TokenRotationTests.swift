import Coordinators
import Sessions
import TestSupport
import Testing

/// Gives the session another token when its user signs in.
private struct DoorCoordinator: Coordinator {
    enum Event: String, NavigationEvent, CaseIterable { case enter, enterTogether, look, wait }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("door")) }

    func handle(_ event: Event, _ navigator: inout Navigator) async {
        switch event {
        case .enter: navigator.rotateToken(endingOthers: true)
        case .enterTogether: navigator.rotateToken()
        case .look: navigator.push(Screen("room"))
        case .wait:
            await Gate.current.wait()
            navigator.rotateToken()
        }
    }
}

@Suite struct TokenRotationTests {
    static let app = App("door", root: { DoorCoordinator() })
    static let key = "a key of 20 letters."
    let store = MemoryStore()
    let host: SessionHost

    init() {
        host = TokenRotationTests.host(on: store)
    }

    static func host(on store: MemoryStore) -> SessionHost {
        SessionHost(apps: [app], store: store, settings: .unhurried, now: TestClock().read)
    }

    func open(_ created: CreatedSession) async throws -> AuthorizedSession {
        try await host.session(created.id, token: created.token.text)
    }

    @Test func `the old token is refused at once, also for a session that was opened with it before`() async throws {
        let created = try await host.create()
        let session = try await open(created)

        let applied = try await session.apply(PostedEvent("enter"))

        #expect(applied.state.version == 2)
        let token = try #require(applied.token).text
        #expect(token != created.token.text)
        #expect(try await host.session(created.id, token: token).state().version == 2)
        await #expect(throws: SessionError.unauthorized) { try await open(created) }
        #expect(throws: SessionError.unauthorized) { try session.state() }
        await #expect(throws: SessionError.unauthorized) { try await session.apply(PostedEvent("look")) }
        await #expect(throws: SessionError.unauthorized) { try await session.preview(PostedEvent("look")) }
        await #expect(throws: SessionError.unauthorized) { try await session.history(limit: 1) }
        await #expect(throws: SessionError.unauthorized) { try await session.end() }
    }

    @Test func `the new token is committed with the event, so another server knows it`() async throws {
        let created = try await host.create()
        let token = try #require(try await open(created).apply(PostedEvent("enter")).token).text

        let other = TokenRotationTests.host(on: store)

        #expect(try await other.session(created.id, token: token).state().version == 2)
        await #expect(throws: SessionError.unauthorized) {
            try await other.session(created.id, token: created.token.text)
        }
    }

    @Test func `an event that waits for its turn with the old token is refused`() async throws {
        let created = try await host.create()
        let session = try await open(created)
        let gate = Gate()

        try await Gate.$current.withValue(gate) {
            let entering = Task.immediate { try await session.apply(PostedEvent("wait")) }
            let waiting = Task.immediate { try await session.apply(PostedEvent("look")) }
            try await eventually { gate.waitingCount == 1 }
            gate.open()

            #expect(try await entering.value.token != nil)
            await #expect(throws: SessionError.unauthorized) { try await waiting.value }
        }
    }

    @Test func `a dry run changes no token`() async throws {
        let created = try await host.create()
        let session = try await open(created)

        #expect(try await session.preview(PostedEvent("enter")).token == nil)
        #expect(try session.state().version == 1)
    }

    @Test func `under a key the new token is returned again, even to a client with only the old one`() async throws {
        let created = try await host.create()
        let session = try await open(created)
        let once = IdempotentRequest.make(TokenRotationTests.key)
        guard
            case .answered(let first, generation: 1, replayedAt: nil, let token?, pairing: nil) =
                try await session.apply(
                    PostedEvent("enter"), once: once)
        else { return #expect(Bool(false), "no token") }

        let again = try await host.session(created.id, token: token.text)
        let outcomes = [
            try await again.apply(PostedEvent("enter"), once: once),
            try await host.answer(to: once, of: created.id, replacedToken: created.token.text),
        ]

        for outcome in outcomes {
            guard case .answered(first, generation: 1, replayedAt: _?, let repeated?, pairing: nil) = outcome else {
                return #expect(Bool(false), "no token")
            }
            #expect(repeated.text == token.text)
        }
        #expect(!String(decoding: first.encoded, as: UTF8.self).contains(token.text))
        #expect(try StoredAnswer(parsing: first.encoded) == first)
    }

    @Test func `the old token gives only that answer, and only while the new token is valid`() async throws {
        let created = try await host.create()
        let once = IdempotentRequest.make(TokenRotationTests.key)
        guard case .answered(_, _, _, let token?, _) = try await open(created).apply(PostedEvent("enter"), once: once)
        else { return #expect(Bool(false), "no token") }
        let session = try await host.session(created.id, token: token.text)
        _ = try await session.apply(PostedEvent("look"), once: .make("another key, as long"))

        func answer(_ once: IdempotentRequest, _ token: String) async throws {
            _ = try await host.answer(to: once, of: created.id, replacedToken: token)
        }

        await #expect(throws: SessionError.unauthorized) {
            try await answer(.make(TokenRotationTests.key, "x"), created.token.text)
        }
        await #expect(throws: SessionError.unauthorized) {
            try await answer(.make("another key, as long"), created.token.text)
        }
        await #expect(throws: SessionError.unauthorized) { try await answer(once, "another") }
        _ = try await session.apply(PostedEvent("enter"))
        await #expect(throws: SessionError.unauthorized) { try await answer(once, created.token.text) }
    }

    @Test func `under a key that might be guessed no token is returned again`() async throws {
        let created = try await host.create()
        let once = IdempotentRequest.make("tap-1")
        guard case .answered(_, _, _, let token?, _) = try await open(created).apply(PostedEvent("enter"), once: once)
        else { return #expect(Bool(false), "no token") }

        await #expect(throws: SessionError.unauthorized) {
            try await host.answer(to: once, of: created.id, replacedToken: created.token.text)
        }
        let again = try await host.session(created.id, token: token.text)
        guard
            case .answered(_, generation: 1, replayedAt: _?, token: nil, pairing: nil) = try await again.apply(
                PostedEvent("enter"), once: once)
        else { return #expect(Bool(false), "returned again") }
    }

    @Test func `a session that was opened with the old token gets no stored answer`() async throws {
        let created = try await host.create()
        let session = try await open(created)
        let kept = IdempotentRequest.make("another key, as long")
        _ = try await session.apply(PostedEvent("look"), once: kept)
        _ = try await session.apply(PostedEvent("enter"))

        await #expect(throws: SessionError.unauthorized) {
            try await session.apply(PostedEvent("look"), once: kept)
        }
    }

    @Test func `a repeated creation does not return a token that was replaced`() async throws {
        let once = IdempotentRequest.make(TokenRotationTests.key)
        let created = try await host.create(once: once)
        _ = try await open(created).apply(PostedEvent("enter"))

        await #expect(throws: SessionError.answerForgotten(nil)) { try await host.create(once: once) }
    }

    @Test func `after the end of the session, the old token gives no answer`() async throws {
        let created = try await host.create()
        let once = IdempotentRequest.make(TokenRotationTests.key)
        guard case .answered(_, _, _, let token?, _) = try await open(created).apply(PostedEvent("enter"), once: once)
        else { return #expect(Bool(false), "no token") }
        try await host.session(created.id, token: token.text).end()

        await #expect(throws: SessionError.unauthorized) {
            try await host.answer(to: once, of: created.id, replacedToken: created.token.text)
        }
    }
}
