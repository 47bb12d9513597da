import Coordinators
import CoordinatorsTesting
import ReferenceApps
import TestSupport
import Testing

/// The same for both apps: children know their parent by its type, or by a protocol.
@Suite struct LoginHomeTests {
    static let apps = ["login-home": LoginHome.app, "login-home-delegate": LoginHomeDelegate.app]

    static func tester(_ name: String) async throws -> CoordinatorTester {
        try await CoordinatorTester(try #require(apps[name]))
    }

    @Test(arguments: apps.keys.sorted())
    func `back from home removes the home coordinator`(name: String) async throws {
        var app = try await LoginHomeTests.tester(name)
        #expect(app.stack == "login")
        try await app.send("login")
        #expect(app.stack == "login, home")
        #expect(app.coordinators == ["app", "login", "home"])
        #expect(app.transition.dismissed == [])

        try await app.back()

        #expect(app.stack == "login")
        #expect(app.coordinators == ["app", "login"])
        #expect(app.transition.dismissed == ["home"])
    }

    @Test(arguments: apps.keys.sorted())
    func `on logout the parent pops the home screen`(name: String) async throws {
        var app = try await LoginHomeTests.tester(name)
        try await app.send("login")
        let home = try #require(app.state.visible?.key)

        try await app.send("logout")

        #expect(app.stack == "login")
        #expect(app.transition.operations == [.pop(key: home)])
        #expect(app.transition.dismissed == ["home"])
        #expect(app.transition.finished == [])
        #expect(app.coordinators == ["app", "login"])
        let before = app.state
        await #expect(throws: CoordinatorTester.Failure(.nothingToGoBack)) { try await app.back() }
        #expect(app.state == before)
    }

    @Test(arguments: apps.keys.sorted())
    func `the buttons have their labels`(name: String) throws {
        let app = try #require(LoginHomeTests.apps[name])

        #expect(app.coordinators.flatMap { $0.events.map(\.title) } == ["로그인", "로그아웃"])
    }

    @Test func `thousands of logins and backs leave the session as large as it was`() async throws {
        var app = try await CoordinatorTester(LoginHome.app)
        let before = savedShape(app.state)

        for _ in 0..<Scale.rounds(1000, long: 10_000) {
            try await app.send("login")
            try await app.back()
            await Task.yield()
        }

        #expect(app.coordinators == ["app", "login"])
        let after = savedShape(app.state)
        #expect(after == before)
    }
}

/// The saved state without digits, because keys and ids count up.
func savedShape(_ state: NavigationState) -> [UInt8] {
    state.encoded.filter { !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
}
