import Coordinators
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Sessions

/// Several devices in one session: pairing codes, tokens, their revocation.
@Suite struct PairingTests {
    static let key = "a key of 20 letters."
    let clock = TestClock()
    let store = MemoryStore()
    let host: SessionHost

    init() {
        host = PairingTests.host(on: store, clock)
    }

    static func host(on store: any SessionStore, _ clock: TestClock) -> SessionHost {
        SessionHost(
            apps: [SessionHostTests.app, TokenRotationTests.app, GreetingCoordinator.app], store: store,
            settings: .unhurried, now: clock.read
        )
    }

    func open(_ created: CreatedSession) async throws -> AuthorizedSession {
        try await host.session(created.id, token: created.token.text)
    }

    /// A session with several devices.
    func devices(_ count: Int, app: String = "gate") async throws -> [CreatedSession] {
        let first = try await host.create(SessionRequest(app: app))
        var devices = [first]
        while devices.count < count {
            devices.append(try await host.pair(try await open(first).openPairing(label: nil).code.text))
        }
        return devices
    }

    @Test func `what the operator looks at is not used by its tokens`() async throws {
        let phone = try await host.create()
        clock.advance(3600)
        _ = try await host.sessionForOperator(phone.id).state()
        let identity = try await host.sessionForOperator(phone.id).state().identity
        #expect(identity.tokens.map(\.usedAt) == [identity.createdAt])
        _ = try await open(phone).state()
        #expect(identity.tokens[0].usedAt > identity.createdAt)
    }

    @Test func `a code gives another device a token of its own for the same session`() async throws {
        let phone = try await host.create()
        let code = try await open(phone).openPairing(label: "TV").code.text

        let tv = try await host.pair(code)

        #expect(tv.id == phone.id && tv.token.text != phone.token.text)
        #expect(try tv.state.version == 2)
        #expect(try await open(tv).apply(PostedEvent("pass", payload: 1)).state.version == 3)
        #expect(try await open(phone).state().version == 3)
        let (tokens, own) = try await open(tv).tokens()
        #expect(tokens.map(\.number) == [1, 2] && tokens.map(\.label) == [nil, "TV"] && own == 2)
    }

    @Test func `a code has 8 characters of Crockford's alphabet, and is accepted as people type it`() async throws {
        let phone = try await host.create()
        for form in 0..<4 {
            let code = try await open(phone).openPairing(label: nil).code.text
            #expect(code.wholeMatch(of: /[0-9A-HJKMNP-TV-Z]{8}/) != nil)
            let typed = [
                code.lowercased(), " \(code.prefix(4)) - \(code.suffix(4))",
                code.replacing("0", with: "O").replacing("1", with: "L"),
                code.replacing("0", with: "o").replacing("1", with: "i") + "--",
            ][form]
            _ = try await host.pair(typed)
        }
        #expect(try await open(phone).tokens().all.count == 5)
    }

    @Test(arguments: ["", "1234567", "123456789", "1234567U", "1234 567", "12345678\t", "１２３４５６７８"])
    func `what can be no code is none`(text: String) async throws {
        #expect(PairingCode(typed: text) == nil)
        await #expect(throws: SessionError.unknownCode) { try await host.pair(text) }
    }

    @Test func `a code works once, for two minutes, and until another one is asked for`() async throws {
        let phone = try await host.create()
        let used = try await open(phone).openPairing(label: nil).code.text
        _ = try await host.pair(used)
        let replaced = try await open(phone).openPairing(label: nil).code.text
        let expired = try await open(phone).openPairing(label: nil)
        #expect(expired.expiresAt == Date(timeIntervalSince1970: 1_800_000_120))
        clock.advance(119.5)

        for code in [used, replaced, expired.code.text] {
            await #expect(throws: SessionError.unknownCode) { try await host.pair(code) }
        }
        let last = try await open(phone).openPairing(label: nil).code.text
        clock.advance(119)
        _ = try await host.pair(last)
    }

    @Test func `of two devices with the same code at the same time, one gets a token`() async throws {
        for _ in 0..<50 {
            let phone = try await host.create()
            let code = try await open(phone).openPairing(label: nil).code.text

            let paired = await withTaskGroup(of: Bool.self) { group in
                for _ in 0..<8 { group.addTask { (try? await host.pair(code)) != nil } }
                return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }

            #expect(paired == 1)
            #expect(try await open(phone).tokens().all.count == 2)
            clock.advance(60)
        }
    }

    @Test func `a code is worthless once the token that asked for it is`() async throws {
        let devices = try await devices(2, app: "door")
        let revoked = try await open(devices[1]).openPairing(label: nil).code.text
        try await open(devices[0]).revokeToken(2)
        await #expect(throws: SessionError.unknownCode) { try await host.pair(revoked) }

        let replaced = try await open(devices[0]).openPairing(label: nil).code.text
        let entered = try await open(devices[0]).apply(PostedEvent("enter"))
        await #expect(throws: SessionError.unknownCode) { try await host.pair(replaced) }

        let session = try await host.session(devices[0].id, token: try #require(entered.token).text)
        let ended = try await session.openPairing(label: nil).code.text
        try await session.end()
        await #expect(throws: SessionError.unknownCode) { try await host.pair(ended) }
    }

    @Test func `a device's label is that of its code, or else the one that it names itself`() async throws {
        let phone = try await host.create()
        let named = try await open(phone).openPairing(label: "Kitchen").code.text
        _ = try await host.pair(named, label: "TV")
        let unnamed = try await open(phone).openPairing(label: nil).code.text
        _ = try await host.pair(unnamed, label: "TV")

        #expect(try await open(phone).tokens().all.map(\.label) == [nil, "Kitchen", "TV"])
    }

    @Test func `a ninth token is refused, and its code can be used after another one was revoked`() async throws {
        let devices = try await devices(7)
        let code = try await open(devices[0]).openPairing(label: nil).code.text
        let last = try await open(devices[1]).openPairing(label: nil).code.text
        _ = try await host.pair(last)

        await #expect(throws: SessionError.tooManyTokens) { try await host.pair(code) }
        await #expect(throws: SessionError.tooManyTokens) { try await open(devices[0]).openPairing(label: nil) }
        try await open(devices[0]).revokeToken(3)
        let ninth = try await host.pair(code)

        #expect(try await open(ninth).tokens().own == 9)
        #expect(try await open(ninth).tokens().all.map(\.number) == [1, 2, 4, 5, 6, 7, 8, 9])
    }

    @Test func `a code that was used in vain can be used again`() async throws {
        let failing = FailingCommits(store)
        let host = PairingTests.host(on: failing, clock)
        let phone = try await host.create()
        let code = try await host.session(phone.id, token: phone.token.text).openPairing(label: nil).code.text

        failing.error.withLock { $0 = .unavailable(reason: "test") }
        await #expect(throws: SessionError.notApplied(reason: "test")) { try await host.pair(code) }
        failing.error.withLock { $0 = nil }
        let tv = try await host.pair(code)

        #expect(try await host.session(tv.id, token: tv.token.text).tokens().all.count == 2)
    }

    @Test func `a code that may have been used cannot be used again`() async throws {
        let failing = FailingCommits(store)
        let host = PairingTests.host(on: failing, clock)
        let phone = try await host.create()
        let code = try await host.session(phone.id, token: phone.token.text).openPairing(label: nil).code.text

        failing.error.withLock { $0 = .unknownOutcome(reason: "test") }
        await #expect(throws: SessionError.unknownOutcome(reason: "test")) { try await host.pair(code) }
        failing.error.withLock { $0 = nil }

        await #expect(throws: SessionError.unknownCode) { try await host.pair(code) }
    }
}

// Guessing.
extension PairingTests {
    @Test func `after 70 wrong codes in a minute no code is looked at, not even the right one`() async throws {
        let phone = try await host.create()
        let code = try await open(phone).openPairing(label: nil).code.text
        let wrong = code == "00000000" ? "00000001" : "00000000"

        for _ in 0..<70 { await #expect(throws: SessionError.unknownCode) { try await host.pair(wrong) } }

        await #expect(throws: SessionError.tooManyTries(retryAfter: 1)) { try await host.pair(code) }
        await #expect(throws: SessionError.tooManyTries(retryAfter: 1)) { try await host.pair(wrong) }
        clock.advance(1)
        _ = try await host.pair(code)
    }

    @Test func `in an hour no more than 4,200 wrong codes are looked at`() async throws {
        var tries = 0
        for _ in 0..<14_400 {
            do {
                _ = try await host.pair("00000000")
            } catch SessionError.unknownCode {
                tries += 1
            } catch {}
            clock.advance(0.25)
        }
        // And the burst of the first minute.
        #expect((4_200...4_270).contains(tries))
    }

    @Test func `right codes are not counted as guesses`() async throws {
        for _ in 0..<100 {
            let phone = try await host.create()
            _ = try await host.pair(try await open(phone).openPairing(label: nil).code.text)
        }
        await #expect(throws: SessionError.unknownCode) { try await host.pair("00000000") }
    }

    @Test func `a session asks for no more than 30 codes in a minute, whatever its other devices do`() async throws {
        let (phone, other) = (try await host.create(), try await host.create())
        let tablet = try await open(try await host.pair(try await open(phone).openPairing(label: nil).code.text))
        for _ in 1..<30 { _ = try await tablet.openPairing(label: nil) }

        await #expect(throws: SessionError.tooManyCodeRequests(rate: 30, retryAfter: 2)) {
            try await open(phone).openPairing(label: nil)
        }
        _ = try await open(other).openPairing(label: nil)
        clock.advance(2)
        _ = try await open(phone).openPairing(label: nil)
    }

    @Test func `only 256 codes are open at a time`() async throws {
        var phones: [CreatedSession] = []
        for _ in 0...256 { phones.append(try await host.create()) }
        for phone in phones.prefix(256) { _ = try await open(phone).openPairing(label: nil) }

        await #expect(throws: SessionError.tooManyCodes) { try await open(phones[256]).openPairing(label: nil) }
        // A device's next code takes the place of its earlier one.
        let code = try await open(phones[0]).openPairing(label: nil).code.text
        await #expect(throws: SessionError.tooManyCodes) { try await open(phones[256]).openPairing(label: nil) }
        _ = try await host.pair(code)
        _ = try await open(phones[256]).openPairing(label: nil)
        await #expect(throws: SessionError.tooManyCodes) { try await open(phones[0]).openPairing(label: nil) }
        clock.advance(121)
        _ = try await open(phones[0]).openPairing(label: nil)
    }

    @Test func `a code is not shown in descriptions`() async throws {
        let pairing = try await open(try await host.create()).openPairing(label: nil)
        let text = "\(pairing) \(String(reflecting: pairing))"
        #expect(!text.contains(pairing.code.text))
    }
}

// Tokens.
extension PairingTests {
    @Test func `a revoked token is refused like a wrong one, also for what was opened with it`() async throws {
        let devices = try await devices(3)
        let tv = try await open(devices[1])

        let state = try await open(devices[0]).revokeToken(2)

        #expect(state.version == 4)
        await #expect(throws: SessionError.unauthorized) { try await open(devices[1]) }
        #expect(throws: SessionError.unauthorized) { try tv.state() }
        #expect(throws: SessionError.unauthorized) { try tv.tokens() }
        await #expect(throws: SessionError.unauthorized) { try await tv.apply(PostedEvent("pass", payload: 1)) }
        await #expect(throws: SessionError.unauthorized) { try await tv.openPairing(label: nil) }
        await #expect(throws: SessionError.unauthorized) { try await tv.revokeToken(1) }
        await #expect(throws: SessionError.unauthorized) { try await tv.end() }
        #expect(try await open(devices[2]).state().version == 4)
        await #expect(throws: SessionError.unknownToken) { try await open(devices[0]).revokeToken(2) }
    }

    @Test func `an event of a token that is being revoked is applied before, or refused`() async throws {
        let devices = try await devices(2)
        let gate = Gate()

        try await Gate.$current.withValue(gate) {
            let running = Task.immediate { try await open(devices[1]).apply(PostedEvent("wait", payload: 1)) }
            try await eventually { gate.waitingCount == 1 }
            let session = try await open(devices[0])
            let tv = try await open(devices[1])
            let revoking = Task.immediate { try await session.revokeToken(2) }
            let waiting = Task.immediate { try await tv.apply(PostedEvent("pass", payload: 2)) }
            gate.open()

            #expect(try await running.value.state.version == 3)
            #expect(try await revoking.value.version == 4)
            await #expect(throws: SessionError.unauthorized) { try await waiting.value }
        }
        #expect(SessionHostTests.passed(try await open(devices[0]).state()) == [1])
    }

    @Test func `a client may revoke its own token, but not the only one`() async throws {
        let devices = try await devices(2)

        try await open(devices[0]).revokeToken(1)

        await #expect(throws: SessionError.unauthorized) { try await open(devices[0]) }
        await #expect(throws: SessionError.lastToken) { try await open(devices[1]).revokeToken(2) }
        #expect(try await open(devices[1]).state().version == 3)
    }

    @Test func `a token is revoked only on the version that the client has, if it says so`() async throws {
        let devices = try await devices(2)
        await #expect(throws: SessionError.self) {
            try await open(devices[0]).revokeToken(2, if: .oneOf([1]))
        }
        #expect(try await open(devices[0]).revokeToken(2, if: .oneOf([2])).version == 3)
    }

    @Test func `tokens survive a restart and an eviction, with their labels, times and numbers`() async throws {
        let phone = try await host.create()
        clock.advance(1000)
        let tv = try await host.pair(try await open(phone).openPairing(label: "TV").code.text)
        let tablet = try await host.pair(try await open(phone).openPairing(label: "Tablet").code.text)
        try await open(phone).revokeToken(3)

        let other = PairingTests.host(on: store, clock)
        let session = try await other.session(tv.id, token: tv.token.text)

        #expect(try session.tokens().all == (try await open(phone).tokens().all))
        #expect(try session.tokens().all.map(\.createdAt.timeIntervalSince1970) == [1_800_000_000, 1_800_001_000])
        #expect(try await other.session(phone.id, token: phone.token.text).tokens().own == 1)
        await #expect(throws: SessionError.unauthorized) {
            try await other.session(tablet.id, token: tablet.token.text)
        }
        let next = try await other.pair(try await session.openPairing(label: nil).code.text)
        #expect(try await other.session(next.id, token: next.token.text).tokens().own == 4)
    }

    @Test func `the last use of each token is known to the minute, and kept with the next version`() async throws {
        let devices = try await devices(2)
        func uses(_ host: SessionHost) async throws -> [TimeInterval] {
            try await host.session(devices[0].id, token: devices[0].token.text).tokens().all
                .map { $0.usedAt.timeIntervalSince1970 - 1_800_000_000 }
        }
        clock.advance(600)
        _ = try await open(devices[1]).state()
        clock.advance(30)
        _ = try await open(devices[1]).state()

        #expect(try await uses(host) == [630, 600])
        _ = try await open(devices[1]).apply(PostedEvent("pass", payload: 1))
        #expect(try await uses(PairingTests.host(on: store, clock)) == [630, 600])
        clock.advance(30)
        _ = try await open(devices[1]).apply(PostedEvent("pass", payload: 2))
        #expect(try await uses(PairingTests.host(on: store, clock)) == [630, 660])
    }

    @Test func `the last use of a session's only token is the session's`() async throws {
        let phone = try await host.create()
        clock.advance(500)
        _ = try await open(phone).apply(PostedEvent("pass", payload: 1))

        let other = PairingTests.host(on: store, clock)
        clock.advance(20)
        let token = try await other.session(phone.id, token: phone.token.text).tokens().all[0]

        #expect(token.createdAt.timeIntervalSince1970 == 1_800_000_000)
        #expect(token.usedAt.timeIntervalSince1970 == 1_800_000_500)
    }

    @Test func `a token gives access from the version on that it was made in`() async throws {
        let phone = try await host.create()
        let kept = IdempotentRequest.make(PairingTests.key)
        _ = try await open(phone).apply(PostedEvent("pass", payload: 1), once: kept)
        let tv = try await open(try await host.pair(try await open(phone).openPairing(label: nil).code.text))
        _ = try await tv.apply(PostedEvent("pass", payload: 2))

        #expect(try await tv.history(limit: 10).map(\.version) == [4, 3])
        #expect(try await open(phone).history(limit: 10).map(\.version) == [4, 3, 2, 1])
        await #expect(throws: SessionError.unknownVersion) { try await tv.past(2) }
        await #expect(throws: SessionError.unknownVersion) { try await host.fork(tv, version: 2) }
        await #expect(throws: SessionError.self) { try await tv.apply(PostedEvent("pass", payload: 1), once: kept) }
        #expect(try await tv.past(3).version == 3)
    }

    @Test func `a fork has one token of its own`() async throws {
        let devices = try await devices(3)
        let fork = try await host.fork(try await open(devices[1]), version: nil)

        let (tokens, own) = try await open(fork).tokens()
        #expect(tokens.count == 1 && own == 1)
        for device in devices {
            await #expect(throws: SessionError.unauthorized) {
                try await host.session(fork.id, token: device.token.text)
            }
        }
    }

    @Test func `the history names what happened to the tokens`() async throws {
        let devices = try await devices(2)
        try await open(devices[0]).revokeToken(2)
        #expect(
            try await open(devices[0]).history(limit: 10).map(\.note.event) == ["revokeToken", "addToken", nil])
    }

    @Test func `who waits for a change learns of a new token and of a revoked one`() async throws {
        let devices = try await devices(2)
        let phone = try await open(devices[0]), tv = try await open(devices[1])
        let waiting = Task.immediate { try await phone.state(after: 2, within: .seconds(3600)) }
        let revoked = Task.immediate { try await tv.state(after: 2, within: .seconds(3600)) }

        try await phone.revokeToken(2)

        let (state, transition) = try await waiting.value
        #expect(state.version == 3 && transition?.event == "revokeToken")
        await #expect(throws: SessionError.tokenRevoked) { try await revoked.value }
    }

    @Test func `replacing a token revokes the others`() async throws {
        let devices = try await devices(3, app: "door")
        let entered = try await open(devices[1]).apply(PostedEvent("enter"))

        let session = try await host.session(devices[0].id, token: try #require(entered.token).text)
        let (tokens, own) = try session.tokens()
        #expect(tokens.map(\.number) == [2] && own == 2 && tokens[0].firstVersion == 4)
        for device in devices {
            await #expect(throws: SessionError.unauthorized) { try await open(device) }
        }
    }

    @Test func `if the app wants it, the others stay, without access to the past`() async throws {
        let devices = try await devices(3, app: "door")
        let entered = try await open(devices[1]).apply(PostedEvent("enterTogether"))

        let first = try await open(devices[0])
        #expect(try first.tokens().all.map(\.firstVersion) == [4, 4, 4])
        #expect(try await first.history(limit: 10).map(\.version) == [4])
        #expect(try await open(devices[2]).tokens().own == 3)
        await #expect(throws: SessionError.unauthorized) { try await open(devices[1]) }
        #expect(
            try await host.session(first.id, token: try #require(entered.token).text).tokens().own == 2)
    }
}

// Once.
extension PairingTests {
    @Test func `under a key the same request gets the same token again`() async throws {
        let phone = try await host.create()
        let code = try await open(phone).openPairing(label: nil).code.text
        let once = IdempotentRequest.make(PairingTests.key)

        let first = try await host.pair(code, once: once)
        clock.advance(300)
        let again = try await host.pair(code, once: once)

        #expect(first.token.text == again.token.text && first.id == again.id)
        #expect(again.outcome.answered?.isReplay == true && first.outcome.answered?.isReplay == false)
        #expect(again.outcome.answered?.text == first.outcome.answered?.text)
        #expect(try await open(phone).tokens().all.count == 2)
        await #expect(throws: SessionError.keyReused) {
            try await host.pair(code, once: .make(PairingTests.key, "another request"))
        }
        await #expect(throws: SessionError.unknownCode) {
            try await host.pair(code, once: .make("another key, as long"))
        }
        await #expect(throws: SessionError.unknownCode) { try await host.pair(code) }
        clock.advance(301)
        await #expect(throws: SessionError.unknownCode) { try await host.pair(code, once: once) }
    }

    @Test func `a request is answered again even while too many wrong codes are sent`() async throws {
        let phone = try await host.create()
        let code = try await open(phone).openPairing(label: nil).code.text
        let once = IdempotentRequest.make(PairingTests.key)
        let first = try await host.pair(code, once: once)
        for _ in 0..<70 { await #expect(throws: SessionError.unknownCode) { try await host.pair(code) } }
        await #expect(throws: SessionError.tooManyTries(retryAfter: 1)) { try await host.pair(code) }

        #expect(try await host.pair(code, once: once).token.text == first.token.text)
    }

    @Test func `a request that is sent again while it is carried out gets the same token`() async throws {
        let phone = try await host.create()
        let code = try await open(phone).openPairing(label: nil).code.text
        let once = IdempotentRequest.make(PairingTests.key)

        let tokens = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<8 { group.addTask { try await host.pair(code, once: once).token.text } }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }

        #expect(tokens.count == 1)
        #expect(try await open(phone).tokens().all.count == 2)
    }

    @Test func `a token that was revoked is not returned again`() async throws {
        let phone = try await host.create()
        let code = try await open(phone).openPairing(label: nil).code.text
        let once = IdempotentRequest.make(PairingTests.key)
        _ = try await host.pair(code, once: once)
        try await open(phone).revokeToken(2)

        await #expect(throws: SessionError.answerForgotten(nil)) { try await host.pair(code, once: once) }
    }

    @Test func `a repeated creation does not return a token that was revoked`() async throws {
        let once = IdempotentRequest.make(PairingTests.key)
        let phone = try await host.create(once: once)
        let tv = try await host.pair(try await open(phone).openPairing(label: nil).code.text)
        #expect(try await host.create(once: once).token.text == phone.token.text)
        try await open(tv).revokeToken(1)

        await #expect(throws: SessionError.answerForgotten(nil)) { try await host.create(once: once) }
    }

    @Test func `a replaced token is returned again to its own client alone`() async throws {
        let devices = try await devices(2, app: "door")
        let once = IdempotentRequest.make(PairingTests.key)
        guard
            case .answered(_, _, _, let token?, _) = try await open(devices[0]).apply(
                PostedEvent("enterTogether"), once: once)
        else { return #expect(Bool(false), "no token") }

        let own = try await host.session(devices[0].id, token: token.text)
        guard case .answered(_, _, _, let again?, _) = try await own.apply(PostedEvent("enterTogether"), once: once)
        else {
            return #expect(Bool(false), "no token")
        }
        guard
            case .answered(_, generation: 1, replayedAt: _?, token: nil, pairing: nil) = try await open(devices[1])
                .apply(
                    PostedEvent("enterTogether"), once: once)
        else { return #expect(Bool(false), "another client's token") }
        #expect(again.text == token.text)
    }

    /// A phone in German, and a TV in English.
    private func pair() async throws -> (phone: CreatedSession, tv: CreatedSession) {
        let phone = try await host.create(SessionRequest(app: "greeting", client: try ClientInfo(["locale": "de"])))
        let code = try await open(phone).openPairing(label: nil).code.text
        return (phone, try await host.pair(code, client: try ClientInfo(["locale": "en"])))
    }

    private func title(_ device: CreatedSession) async throws -> String? {
        try await open(device).state().navigation.visible?.screen.title
    }

    @Test func `each device sees the state in its own language, whoever has acted`() async throws {
        let (phone, tv) = try await pair()
        guard case .applied(let first) = tv.outcome else { return #expect(Bool(false), "no state") }
        #expect(first.state.navigation.visible?.screen.title == "Hello")

        for actor in [tv, phone, phone, tv] {
            let applied = try await open(actor).apply(PostedEvent("greet"))
            #expect(try await title(phone) == "Hallo")
            #expect(try await title(tv) == "Hello")
            #expect(
                applied.state.navigation.visible?.screen.title
                    == (actor.token.text == tv.token.text ? "Hello" : "Hallo"))
            #expect(applied.transition.operations == [], "nothing that the device sees has changed")
        }
        #expect(try await greeted(phone) == ["en", "de", "de", "en"])
        let past = try await open(phone).past(3)
        #expect(past.version == 3 && past.navigation.visible?.screen.title == "Hallo")
        let once = try await open(tv).state()
        #expect(try await open(tv).state() === once, "drawn once")
    }

    @Test func `each kind of device counts as much memory as the state takes`() async throws {
        let phone = try await host.create(SessionRequest(app: "greeting", client: try ClientInfo(["locale": "de"])))
        var sizes = [try await open(phone).live.footprint]
        for locale in ["en", "en", "fr"] {
            let code = try await open(phone).openPairing(label: nil).code.text
            _ = try await host.pair(code, client: try ClientInfo(["locale": .string(locale)]))
            sizes.append(try await open(phone).live.footprint)
        }
        #expect(sizes[1] > sizes[0] && sizes[3] - sizes[2] > (sizes[1] - sizes[0]) / 2)
        #expect(sizes[2] - sizes[1] < (sizes[1] - sizes[0]) / 2, "it sees what the second one sees")
    }

    @Test func `an event that changes nothing makes no version, whoever posts it`() async throws {
        let (phone, tv) = try await pair()
        for device in [tv, phone, tv] {
            let applied = try await open(device).apply(PostedEvent("wait"))
            #expect(applied.state.version == 2)
            let title = try await title(device)
            #expect(applied.state.navigation.visible?.screen.title == title)
        }
    }

    @Test func `a watcher gets what has changed for it`() async throws {
        let (phone, tv) = try await pair()
        let watches = [try await open(phone).watch(), try await open(tv).watch()]
        func seen() throws -> [(title: String?, operations: [Coordinators.Operation]?)] {
            try watches.map {
                let update = try $0.current().update
                return (update?.state.navigation.visible?.screen.title, update?.transition?.operations)
            }
        }

        _ = try await open(tv).apply(PostedEvent("count"))
        #expect(try seen().map(\.title) == ["Hallo", "Hello"])
        #expect(try seen().map(\.operations) == [[.update(key: "k1")], [.update(key: "k1")]])
        _ = try await open(phone).apply(PostedEvent("show"))
        #expect(try seen().map(\.title) == ["Mehr", "More"])
        #expect(try seen().map(\.operations) == [[.push(key: "k2")], [.push(key: "k2")]])
        let (first, second) = (try watches[1].current().update, try watches[1].current().update)
        #expect(first === second, "drawn once")
        for watch in watches { watch.cancel() }
    }

    @Test func `what is offered in the poster's own drawing is accepted, and nothing else`() async throws {
        let (phone, tv) = try await pair()
        _ = try await open(tv).apply(PostedEvent("count"))
        #expect(try await open(phone).state().navigation.acceptedEvents.contains("helpInGerman"))
        _ = try await open(phone).apply(PostedEvent("helpInGerman"))
        do {
            _ = try await open(tv).apply(PostedEvent("helpInGerman"))
            #expect(Bool(false), "it is accepted")
        } catch {
            guard case .refused(.eventNotAccepted, let state) = error as? SessionError else { throw error }
            #expect(state.navigation.visible?.screen.title == "Hello")
        }
    }

    @Test func `a session that is drawn for its second device is restored as it is, and a fork of it, too`()
        async throws
    {
        let phone = try await host.create(SessionRequest(app: "greeting", client: try ClientInfo(["locale": "de"])))
        let code = try await open(phone).openPairing(label: nil).code.text
        let tv = try await host.pair(code, client: try ClientInfo(["locale": "en"]))
        // Of several records of one device, the later ones leave out what the client says about itself.
        for _ in 0..<3 { _ = try await open(tv).apply(PostedEvent("greet")) }
        let fork = try await host.fork(try await open(tv), version: nil)
        for _ in 0..<2 { _ = try await open(fork).apply(PostedEvent("greet")) }

        for id in [phone.id, fork.id] {
            let record = try #require(try store.load(id)).record
            #expect(host.restorePlan(for: record) == .restored)
        }
    }

    @Test func `a fork is drawn for the device that asks for it`() async throws {
        let phone = try await host.create(SessionRequest(app: "greeting", client: try ClientInfo(["locale": "de"])))
        let code = try await open(phone).openPairing(label: nil).code.text
        let tv = try await host.pair(code, client: try ClientInfo(["locale": "en"]))
        _ = try await open(tv).apply(PostedEvent("greet"))

        let fork = try await host.fork(try await open(phone), version: nil)

        let state = try await open(fork).state().navigation
        #expect(state.visible?.screen.title == "Hallo" && state.client.locale == "de")
        #expect(try await title(phone) == "Hallo")
        #expect(try await title(tv) == "Hello")
    }

    @Test func `what a device says about itself is kept with its token, also by the store`() async throws {
        let phone = try await host.create(SessionRequest(app: "greeting", client: try ClientInfo(["locale": "de"])))
        let tv = try await host.pair(try await open(phone).openPairing(label: nil).code.text)
        _ = try await open(tv).apply(PostedEvent("describeClient", payload: ["locale": "fr"]))
        _ = try await open(phone).apply(PostedEvent("greet"))

        let again = PairingTests.host(on: store, clock)
        _ = try await again.session(tv.id, token: tv.token.text).apply(PostedEvent("greet"))
        let state = try await again.session(tv.id, token: tv.token.text).state()
        #expect(state.navigation.client.locale == "fr")
        // It says the same as the phone, and is drawn for as soon as it says something else.
        _ = try await again.session(tv.id, token: tv.token.text).apply(
            PostedEvent("describeClient", payload: ["locale": "de"]))
        _ = try await again.session(phone.id, token: phone.token.text).apply(PostedEvent("greet"))
        _ = try await again.session(tv.id, token: tv.token.text).apply(
            PostedEvent("describeClient", payload: ["locale": "fr"]))
        #expect(try await again.session(tv.id, token: tv.token.text).state().navigation.client.locale == "fr")
        #expect((state.navigation.coordinators[0].coordinator as? GreetingCoordinator)?.greeted == ["de", "fr"])
        try await again.session(tv.id, token: tv.token.text).revokeToken(1)
        _ = try await again.session(tv.id, token: tv.token.text).apply(PostedEvent("greet"))
        #expect(try await again.session(tv.id, token: tv.token.text).state().navigation.client.locale == "fr")
    }

    func greeted(_ created: CreatedSession) async throws -> [String] {
        let coordinator = try await open(created).state().navigation.coordinators[0].coordinator
        return (coordinator as? GreetingCoordinator)?.greeted ?? []
    }
}

/// Greets in the language of the device that acts.
struct GreetingCoordinator: Coordinator {
    var greeted: [String] = []
    var count = 0

    static let app = App("greeting", root: { GreetingCoordinator() })

    enum Event: NavigationEvent, CaseIterable { case greet, wait, count, show, helpInGerman }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("greeting")) }

    mutating func handle(_ event: Event, _ navigator: inout Navigator) {
        switch event {
        case .greet: greeted.append(navigator.client.language ?? "")
        case .wait, .helpInGerman: break
        case .count: count += 1
        case .show: navigator.push(Screen("more"))
        }
    }

    func render(_ screen: inout Screen, in context: NavigationContext) {
        let isGerman = context.client.language == "de"
        screen.title = screen.name == "more" ? (isGerman ? "Mehr" : "More") : isGerman ? "Hallo" : "Hello"
        screen.params["count"] = .number(Double(count))
    }

    func isEnabled(_ event: Event, in context: NavigationContext) -> Bool {
        event != .helpInGerman || context.client.language == "de"
    }
}
