import Coordinators
import Foundation
import Sessions
import Sodium
import Synchronization
import TestSupport
import Testing

/// Gives out pairing codes, and greets the devices that use them.
private struct LobbyCoordinator: Coordinator {
    private var devices: [String] = []

    enum Event: NavigationEvent, CaseIterable { case invite, inviteAgain, enter, look }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("lobby")) }

    func handle(_ event: Event, _ navigator: inout Navigator) {
        switch event {
        case .invite: navigator.requestPairingCode(label: "TV")
        case .inviteAgain:
            navigator.push(Screen("invited"))
            navigator.requestPairingCode()
        case .enter:
            navigator.rotateToken(endingOthers: true)
            navigator.requestPairingCode()
        case .look: navigator.push(Screen("room"))
        }
    }

    mutating func deviceDidPair(_ device: PairedDevice, _ navigator: inout Navigator) throws {
        if device.label == "bad" { throw LobbyFailure() }
        devices.append(device.label ?? "none")
        navigator.push(Screen("welcome", params: ["devices": .string(devices.joined(separator: " "))]))
        if device.label == "Ann's" { navigator.signIn(user: "ann") }
    }
}

private struct LobbyFailure: Error {}

/// Codes that the app asks for, and devices that it is told of.
@Suite struct DeviceTests {
    static let key = "a key of 20 letters."
    private static let app = App("lobby", root: { LobbyCoordinator() })
    private static let alertingApp = App(
        "lobby", root: { LobbyCoordinator() }, onError: { _, _ in Alert("That did not work") })
    let clock = TestClock()
    let store = MemoryStore()

    private func host(_ app: App = app, report: @escaping @Sendable (String) -> Void = { _ in }) -> SessionHost {
        SessionHost(
            apps: [app, PairingTests.quietApp], store: store, settings: .unhurried, now: clock.read, report: report)
    }

    private func apply(
        _ event: String, to created: CreatedSession, on host: SessionHost, key: String? = nil
    ) async throws -> Outcome {
        let session = try await host.session(created.id, token: created.token.text)
        return try await session.apply(PostedEvent(event), once: key.map { .make($0, event) })
    }

    @Test func `a device is paired and the app is told in one version, once`() async throws {
        let host = host()
        let phone = try await host.create()
        let code = try #require(try await apply("invite", to: phone, on: host).pairing)
        #expect(code.expiresAt == Date(timeIntervalSince1970: 1_800_000_120))
        let once = IdempotentRequest.make(DeviceTests.key)

        let tv = try await host.pair(code.code.text, label: "another", once: once)
        let again = try await host.pair(code.code.text, label: "another", once: once)

        let session = try await host.session(phone.id, token: phone.token.text)
        #expect(try session.state().version == 2)
        #expect(try session.state().navigation.visible?.screen.params == ["devices": "TV"])
        #expect(again.token.text == tv.token.text)
        let last = try #require(try await session.history(limit: 1).first)
        #expect(last.note.event == "addToken" && last.note.cause == "signal")
        #expect(try session.tokens().all.map(\.label) == [nil, "TV"])
    }

    @Test func `what the app does for a device may sign the user in`() async throws {
        let host = host()
        let phone = try await host.create()
        let session = try await host.session(phone.id, token: phone.token.text)
        let tv = try await host.pair(try await session.openPairing(label: "Ann's").code.text)
        #expect(try session.state().identity.user == "ann" && session.tokens().all.count == 2)
        #expect(try await host.session(tv.id, token: tv.token.text).state().version == 2)
    }

    @Test(arguments: [false, true])
    func `a device is paired, also if the app throws`(showsErrors: Bool) async throws {
        let reports = Mutex<[String]>([])
        let host = host(showsErrors ? DeviceTests.alertingApp : DeviceTests.app) { report in
            reports.withLock { $0.append(report) }
        }
        let phone = try await host.create()
        let session = try await host.session(phone.id, token: phone.token.text)

        let tv = try await host.pair(try await session.openPairing(label: "bad").code.text)

        let state = try await host.session(tv.id, token: tv.token.text).state()
        #expect(state.version == 2 && state.navigation.visible?.screen.name == "lobby")
        #expect(state.navigation.alert?.alert.title == (showsErrors ? "That did not work" : nil))
        #expect(reports.withLock { $0 }.contains { $0.contains("deviceDidPair") })
    }

    @Test func `a code that an event asks for is for one device, and makes no version of its own`() async throws {
        let host = host()
        let phone = try await host.create()

        let outcome = try await apply("invite", to: phone, on: host)

        let code = try #require(outcome.pairing).code.text
        #expect(outcome.version == 1)
        #expect(try await apply("look", to: phone, on: host).pairing == nil)
        #expect(try await host.session(phone.id, token: phone.token.text).preview(PostedEvent("invite")).pairing == nil)
        let other = try #require(try await apply("inviteAgain", to: phone, on: host).pairing).code.text
        #expect(other != code)
        await #expect(throws: SessionError.unknownCode) { try await host.pair(code) }
        _ = try await host.pair(other)
        await #expect(throws: SessionError.unknownCode) { try await host.pair(other) }
    }

    @Test(arguments: ["invite", "inviteAgain"])
    func `a replay gives the same code to the client that asked for it, and to no other device`(
        event: String
    ) async throws {
        let host = host()
        let phone = try await host.create()
        let session = try await host.session(phone.id, token: phone.token.text)
        let tv = try await host.pair(try await session.openPairing(label: nil).code.text)
        let first = try #require(try await apply(event, to: phone, on: host, key: DeviceTests.key).pairing)
        let again = try await apply(event, to: phone, on: host, key: DeviceTests.key)
        #expect(again.pairing?.code.text == first.code.text && again.pairing?.expiresAt == first.expiresAt)
        #expect(again.isReplay)

        let others = try await apply(event, to: tv, on: host, key: DeviceTests.key)
        #expect(others.isReplay && others.pairing == nil)
        _ = try await host.pair(first.code.text)

        let answer = try #require(store.answer(to: SHA256Digest(of: DeviceTests.key).hex, of: phone.id))
        #expect(!String(decoding: answer.encoded, as: UTF8.self).contains(first.code.text))
        #expect(try StoredAnswer(parsing: answer.encoded) == answer && answer.pairing != nil)
        #expect(answer.withoutBody.pairing == answer.pairing)
    }

    @Test func `a replay under a key that might be guessed gives no code`() async throws {
        let host = host()
        let phone = try await host.create()
        #expect(try await apply("invite", to: phone, on: host, key: "short").pairing != nil)
        #expect(try await apply("invite", to: phone, on: host, key: "short").pairing == nil)
    }

    @Test func `a code belongs to the token that replaces the client's`() async throws {
        let host = host()
        let phone = try await host.create()
        let first = try await apply("enter", to: phone, on: host, key: DeviceTests.key)
        let code = try #require(first.pairing).code.text

        let repeated = try await host.answer(
            to: .make(DeviceTests.key, "enter"), of: phone.id, replacedToken: phone.token.text)

        #expect(repeated.pairing?.code.text == code && repeated.token?.text == first.token?.text)
        #expect(try await host.pair(code).id == phone.id)
    }

    @Test func `an event whose code cannot be had changes nothing`() async throws {
        let host = host()
        let phone = try await host.create()
        for _ in 0..<30 { _ = try await apply("invite", to: phone, on: host) }
        await #expect(throws: SessionError.tooManyCodeRequests(rate: 30, retryAfter: 2)) {
            try await apply("inviteAgain", to: phone, on: host)
        }
        clock.advance(60)
        for _ in 0..<7 {
            let code = try #require(try await apply("invite", to: phone, on: host).pairing)
            _ = try await host.pair(code.code.text)
        }
        let session = try await host.session(phone.id, token: phone.token.text)
        let version = try session.state().version
        await #expect(throws: SessionError.tooManyTokens) { try await apply("inviteAgain", to: phone, on: host) }
        #expect(try session.state().version == version)
    }

    @Test func `an app that is not told keeps the version that only adds the token`() async throws {
        let host = host()
        let phone = try await host.create(SessionRequest(app: "quiet"))
        let session = try await host.session(phone.id, token: phone.token.text)
        let before = try session.state().navigation
        _ = try await host.pair(try await session.openPairing(label: "bad").code.text)
        #expect(try session.state().version == 2 && session.state().navigation == before)
        #expect(try await session.history(limit: 1).first?.note.cause == "event")
    }
}

extension PairingTests {
    private struct QuietCoordinator: Coordinator {
        func start(_ navigator: inout Navigator) { navigator.push(Screen("quiet")) }
    }

    static let quietApp = App("quiet", root: { QuietCoordinator() })
}
