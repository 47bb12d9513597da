import Coordinators
import Foundation
import Sodium
import TestSupport
import Testing

@testable import Sessions

extension DeviceRole {
    fileprivate static let owner = DeviceRole("owner", gives: ["board", "partner"])
    fileprivate static let helper = DeviceRole("helper", mayEndOthers: false)
    fileprivate static let partner = DeviceRole("partner")
    fileprivate static let board = DeviceRole("board", mayAct: false)
}

private struct DeskCoordinator: Coordinator {
    enum Event: NavigationEvent, CaseIterable {
        case buy, help, inviteHelper, leave, clear, swap

        var roles: [DeviceRole] {
            switch self {
            case .buy, .inviteHelper: [.owner]
            case .help: [.helper]
            case .leave, .clear, .swap: []
            }
        }
    }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("desk")) }

    func render(_ screen: inout Screen, in context: NavigationContext) { screen.title = context.role?.name }

    func handle(_ event: Event, _ navigator: inout Navigator) {
        switch event {
        case .inviteHelper: navigator.requestPairingCode(label: "help", role: .helper)
        case .leave: if let device = navigator.device { navigator.revokeDevice(device.number) }
        case .clear: for device in navigator.devices { navigator.revokeDevice(device.number) }
        case .swap: navigator.rotateToken()
        case .buy, .help:
            navigator.push(
                Screen(
                    "done", params: ["by": .string("\(navigator.device?.number ?? 0) \(navigator.device?.label ?? "")")]
                ))
        }
    }
}

/// What a device may do is its role's: over HTTP, in events, after a restart.
@Suite struct DeviceRoleTests {
    private let clock = TestClock()
    private let store = MemoryStore()
    private let host: SessionHost

    init() { host = DeviceRoleTests.host(on: store, clock) }

    private static func host(
        on store: any SessionStore, _ clock: TestClock, roles: [DeviceRole] = [.owner, .helper, .board, .partner]
    ) -> SessionHost {
        SessionHost(
            apps: [App("desk", root: { DeskCoordinator() }, roles: roles)], store: store, settings: .unhurried,
            now: clock.read)
    }

    private func open(_ created: CreatedSession, on host: SessionHost? = nil) async throws -> AuthorizedSession {
        try await (host ?? self.host).session(created.id, token: created.token.text)
    }

    private func roles(_ created: CreatedSession) async throws -> [String?] {
        try await open(created).devices().map(\.role?.name)
    }

    private func post(_ event: String, _ created: CreatedSession, key: String? = nil) async throws -> Outcome {
        try await open(created).apply(PostedEvent(event), once: key.map { .make($0, event) })
    }

    private func helper(of owner: CreatedSession) async throws -> CreatedSession {
        try await host.pair(try #require(try await post("inviteHelper", owner).pairing).code.text)
    }

    @Test func `a device gets the role that its code gives, or one that it may choose`() async throws {
        let owner = try await host.create()
        #expect(try await roles(owner) == ["owner"])
        let given = try await helper(of: owner)
        #expect(try given.state.navigation.visible?.screen.title == "helper")
        let code = try await open(owner).openPairing(label: nil).code.text
        await #expect(throws: SessionError.unknownRole) { try await host.pair(code, role: "helper") }
        await #expect(throws: SessionError.unknownRole) { try await host.pair(code, role: "nobody") }
        _ = try await host.pair(code, role: "board")
        let same = try await host.pair(try await open(owner).openPairing(label: nil).code.text)
        #expect(try same.state.navigation.visible?.screen.title == "owner")
        let fixed = try await open(owner).openPairing(label: nil, role: "board").code.text
        await #expect(throws: SessionError.unknownRole) { try await host.pair(fixed, role: "owner") }
        _ = try await host.pair(fixed)
        _ = try await host.pair(try await open(given).openPairing(label: nil).code.text)
        #expect(try await roles(owner) == ["owner", "helper", "board", "owner", "board", "helper"])
    }

    @Test func `what a role does not allow is refused`() async throws {
        let owner = try await host.create()
        let (help, board) = (try await helper(of: owner), try await open(owner).openPairing(label: nil, role: "board"))
        let screen = try await host.pair(board.code.text)
        await #expect(throws: SessionError.unknownRole) { try await open(owner).openPairing(label: nil, role: "king") }
        for (role, device) in [("helper", help), ("board", screen)] {
            let session = try await open(device)
            await #expect(throws: SessionError.notForRole(role)) { try await session.end() }
            await #expect(throws: SessionError.notForRole(role)) { try await session.revokeToken(1) }
            await #expect(throws: SessionError.notForRole(role)) {
                try await session.openPairing(label: nil, role: "owner")
            }
        }
        await #expect(throws: SessionError.notForRole("board")) { try await open(screen).openPairing(label: nil) }
        await #expect(throws: SessionError.notForRole("board")) { try await host.fork(open(screen), version: nil) }
        let refusal = await #expect(throws: SessionError.self) { try await post("buy", help) }
        guard case .refused(.notForRole("helper"), let state)? = refusal else { return #expect(Bool(false)) }
        #expect(!state.navigation.acceptedEvents.contains("buy"))
        await #expect(throws: SessionError.notForRole("board")) {
            try await open(screen).withdraw(IdempotentRequest.make("a key of 20 letters.", "buy").key)
        }
        // Each revokes itself.
        try await open(screen).revokeToken(3)
        try await open(help).revokeToken(2)
        try await open(owner).end()
    }

    @Test func `what a board says about itself changes its own drawing alone`() async throws {
        let owner = try await host.create(SessionRequest(client: ClientInfo(locale: "en")))
        let board = try await host.pair(try await open(owner).openPairing(label: nil, role: "board").code.text)
        let event = PostedEvent("describeClient", payload: ["locale": "de"])
        let answer = try await open(board).apply(event, once: .make("a key of 20 letters.", "describe"))
        #expect(answer.version == 3)
        #expect(try await open(board).state().navigation.client.locale == "de")
        let stored = try await open(owner).state()
        #expect(stored.navigation.client.locale == "en" && stored.drawing == 0)
        #expect(try await host.sessionForOperator(owner.id).state().navigation.role?.name == "owner")
    }

    @Test func `a fork has the role of the device that makes it, which may end others`() async throws {
        let owner = try await host.create()
        let code = try await open(owner).openPairing(label: nil, role: "partner").code.text
        let fork = try await host.fork(open(try await host.pair(code)), version: nil)
        #expect(try await roles(fork) == ["partner"])
        #expect(try await open(fork).state().navigation.visible?.screen.title == "partner")
        let other = try await host.pair(try await open(fork).openPairing(label: nil).code.text)
        #expect(try await roles(other) == ["partner", "partner"])
        let help = try await helper(of: owner)
        await #expect(throws: SessionError.notForRole("helper")) { try await host.fork(open(help), version: nil) }
    }

    @Test func `an expired session gives no code, whatever the role`() async throws {
        let session = try await open(try await host.create())
        await #expect(throws: SessionError.unknownRole) { try await session.openPairing(label: nil, role: "nobody") }
        clock.advance(31 * 86_400)
        await #expect(throws: SessionError.expired) { try await session.openPairing(label: nil, role: "nobody") }
    }

    @Test func `who is alone may end the session`() async throws {
        let owner = try await host.create()
        let help = try await helper(of: owner)
        await #expect(throws: SessionError.notForRole("helper")) { try await open(help).end() }
        try await open(owner).revokeToken(1)
        try await open(help).end()
    }

    @Test func `roles outlive a restart and a rotation, and one that is gone may only look`() async throws {
        let owner = try await host.create()
        let help = try await helper(of: owner)
        let swapped = try #require(try await post("swap", help).token)
        let restarted = DeviceRoleTests.host(on: store, clock)
        let session = try await restarted.session(help.id, token: swapped.text)
        #expect(try session.devices().map(\.role?.name) == ["owner", "helper"])
        #expect(
            try await session.apply(PostedEvent("help")).state.navigation.visible?.screen.params == ["by": "2 help"])
        #expect(try await open(owner, on: restarted).state().navigation.visible?.screen.name == "done")

        let later = DeviceRoleTests.host(on: store, clock, roles: [.owner, .board])
        let gone = try await later.session(help.id, token: swapped.text)
        #expect(try gone.state().navigation.acceptedEvents == ["describeClient"])
        await #expect(throws: SessionError.notForRole("helper")) { try await gone.revokeToken(1) }
    }

    @Test func `an event ends its own device, whose answer still comes, and never the last`() async throws {
        let owner = try await host.create()
        let help = try await helper(of: owner)
        let watch = try await open(help).watch()
        let left = try await post("leave", help, key: "a key of 20 letters.")
        #expect(left.version == 3)
        #expect(try await roles(owner) == ["owner"])
        await #expect(throws: SessionError.unauthorized) { try await post("help", help) }
        await #expect(throws: SessionError.unauthorized) { try await post("leave", help, key: "a key of 20 letters.") }
        #expect(try watch.current().end == .tokenRevoked)

        _ = try await helper(of: owner)
        #expect(try await post("clear", owner).version == 5)
        #expect(try await host.sessionForOperator(owner.id).tokens().all.count == 1)
    }
}
