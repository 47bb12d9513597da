import Coordinators
import JSONCoding
public import Sessions
import TestSupport
import Testing

extension IdempotentRequest {
    /// A request whose answer is the version that it led to.
    static func make(_ key: String, _ request: String = "request") -> IdempotentRequest {
        IdempotentRequest(key: key, request: Array(request.utf8)) { Array("version \($0.state.version)".utf8) }
    }
}

extension Outcome {
    /// The answer under a key: its text, and whether it is a replay.
    var answered: (text: String, isReplay: Bool)? {
        guard case .answered(let answer, _, let replayedAt, _, _) = self else { return nil }
        return (String(decoding: answer.body ?? [], as: UTF8.self), replayedAt != nil)
    }
}

@Suite struct OnceTests {
    let store = MemoryStore()
    let host: SessionHost

    init() {
        host = SessionHostTests.make(store: store)
    }

    func open() async throws -> AuthorizedSession {
        let created = try await host.create()
        return try await host.session(created.id, token: created.token.text)
    }

    @Test func `an event under a key is applied once, and a repeat gets the first answer`() async throws {
        let session = try await open()

        let first = try await session.apply(PostedEvent("pass", payload: 1), once: .make("a"))
        _ = try await session.apply(PostedEvent("pass", payload: 2))
        let again = try await session.apply(PostedEvent("pass", payload: 1), once: .make("a"))

        #expect(first.answered?.text == "version 2" && first.answered?.isReplay == false)
        #expect(again.answered?.text == "version 2" && again.answered?.isReplay == true)
        #expect(SessionHostTests.passed(try session.state()) == [1, 2])
    }

    @Test func `the same key for another request is refused`() async throws {
        let session = try await open()
        _ = try await session.apply(PostedEvent("pass", payload: 1), once: .make("a"))

        await #expect(throws: SessionError.keyReused) {
            try await session.apply(PostedEvent("pass", payload: 2), once: .make("a", "another"))
        }
        #expect(try session.state().version == 2)
    }

    @Test func `a duplicate of an event under way waits for its answer`() async throws {
        let session = try await open()
        let gate = Gate()

        let answers = try await Gate.$current.withValue(gate) {
            let sendings = (0..<5).map { _ in
                Task.immediate { try await session.apply(PostedEvent("wait", payload: 1), once: .make("a")) }
            }
            try await eventually { gate.waitingCount == 1 }
            gate.open()
            var answers: [Bool?] = []
            for sending in sendings { answers.append(try await sending.value.answered?.isReplay) }
            return answers
        }

        #expect(answers == [false, true, true, true, true])
        #expect(SessionHostTests.passed(try session.state()) == [1])
    }

    @Test(arguments: [false, true])
    func `whoever asks for the outcome of an event under way waits for it`(withdrawing: Bool) async throws {
        let session = try await open()
        let gate = Gate()
        let key = RequestKey("a")

        let outcome = try await Gate.$current.withValue(gate) {
            let sending = Task.immediate {
                try await session.apply(PostedEvent("wait", payload: 1), once: .make("a"))
            }
            try await eventually { gate.waitingCount == 1 }
            let asking = Task.immediate {
                withdrawing ? try await session.withdraw(key) : try await session.answer(to: key)
            }
            gate.open()
            _ = try await sending.value
            return try await asking.value
        }

        #expect(outcome?.answered?.text == "version 2" && outcome?.isReplay == true)
        #expect(SessionHostTests.passed(try session.state()) == [1])
    }

    @Test func `an event that waits behind the withdrawal of its key is refused`() async throws {
        let session = try await open()
        let gate = Gate()

        try await Gate.$current.withValue(gate) {
            let first = Task.immediate { try await session.apply(PostedEvent("wait", payload: 1)) }
            try await eventually { gate.waitingCount == 1 }
            let withdrawal = Task.immediate { try await session.withdraw(RequestKey("a")) }
            let second = Task.immediate {
                try await session.apply(PostedEvent("pass", payload: 2), once: .make("a"))
            }
            gate.open()
            _ = try await first.value
            #expect(try await withdrawal.value == nil)
            await #expect(throws: SessionError.keyWithdrawn) { try await second.value }
        }

        #expect(SessionHostTests.passed(try session.state()) == [1])
    }

    @Test func `a withdrawn key stays withdrawn on another server, and makes no version`() async throws {
        let created = try await host.create()
        let here = try await host.session(created.id, token: created.token.text)
        #expect(try await here.withdraw(RequestKey("a")) == nil)

        let there = try await SessionHostTests.make(store: store).session(created.id, token: created.token.text)
        await #expect(throws: SessionError.keyWithdrawn) {
            try await there.apply(PostedEvent("pass", payload: 1), once: .make("a"))
        }

        #expect(try await there.answer(to: RequestKey("a")) == nil)
        #expect(try await there.withdraw(RequestKey("a")) == nil)
        #expect(try there.state().version == 1)
    }

    @Test func `an event that changes nothing is answered again, and a refused one leaves its key free`() async throws {
        let session = try await open()
        let nothing = try await session.apply(PostedEvent("nothing"), once: .make("a"))
        #expect(nothing.answered?.text == "version 1")
        _ = try await session.apply(PostedEvent("pass", payload: 1))
        let again = try await session.apply(PostedEvent("nothing"), once: .make("a"))
        #expect(again.answered?.text == "version 1" && again.answered?.isReplay == true)

        await #expect(throws: SessionError.self) {
            try await session.apply(PostedEvent("unheard of"), once: .make("b"))
        }
        let fitting = try await session.apply(PostedEvent("pass", payload: 2), once: .make("b"))
        #expect(fitting.answered?.isReplay == false)
    }

    @Test func `another server returns the first answer, too`() async throws {
        let created = try await host.create()
        let here = try await host.session(created.id, token: created.token.text)
        _ = try await here.apply(PostedEvent("pass", payload: 1), once: .make("a"))

        let there = try await SessionHostTests.make(store: store).session(created.id, token: created.token.text)
        let again = try await there.apply(PostedEvent("pass", payload: 1), once: .make("a"))

        #expect(again.answered?.text == "version 2" && again.answered?.isReplay == true)
    }

    @Test func `a repeated creation under a key returns the same session and the same token`() async throws {
        let key = IdempotentRequest.make("a key that nobody guesses")

        let creations = try await withThrowingTaskGroup(of: CreatedSession.self) { group in
            for _ in 0..<8 { group.addTask { try await host.create(once: key) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let elsewhere = try await SessionHostTests.make(store: store).create(once: key)
        let other = try await host.create(once: .make("another key"))

        let all = creations + [elsewhere]
        #expect(Set(all.map(\.id)).count == 1 && Set(all.map(\.token.text)).count == 1)
        #expect(all.filter { $0.outcome.answered?.isReplay == false }.count == 1)
        #expect(other.id != elsewhere.id && other.token.text != elsewhere.token.text)
        await #expect(throws: SessionError.keyReused) {
            try await host.create(once: .make("a key that nobody guesses", "another request"))
        }
        let stored = try #require(try store.load(elsewhere.id))
        var dumped = ""
        dump(stored, to: &dumped)
        #expect(!dumped.contains("a key that nobody guesses") && !dumped.contains(elsewhere.token.text))

        try await host.session(elsewhere.id, token: elsewhere.token.text).end()
        await #expect(throws: SessionError.ended) { try await host.create(once: key) }
    }

    @Test func `a condition on the version is checked when the event has its turn`() async throws {
        let session = try await open()
        let gate = Gate()

        try await Gate.$current.withValue(gate) {
            let first = Task.immediate {
                try await session.apply(PostedEvent("wait", payload: 1), if: .oneOf([1]))
            }
            let second = Task.immediate {
                try await session.apply(PostedEvent("pass", payload: 2), if: .oneOf([1]))
            }
            try await eventually { gate.waitingCount == 1 }
            gate.open()
            _ = try await first.value

            let state = try session.state()
            await #expect(throws: SessionError.stale(state)) { try await second.value }
        }

        _ = try await session.apply(PostedEvent("pass", payload: 3), if: .any)
        _ = try await session.apply(PostedEvent("pass", payload: 4), if: .oneOf([3, 9]))
        await #expect(throws: SessionError.self) { try await session.end(if: .oneOf([1])) }
        try await session.end(if: .oneOf([4]))
    }
}

extension VersionTag: ExpressibleByIntegerLiteral {
    public init(integerLiteral version: Int) {
        self.init(version)
    }
}
