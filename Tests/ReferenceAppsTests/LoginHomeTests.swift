import Coordinators
import CoordinatorsTesting
import ReferenceApps
import Testing

@Suite struct LoginHomeTests {
    @Test func `back from home removes the home coordinator`() async throws {
        var app = try await CoordinatorTester(LoginHome.app)
        #expect(app.stack == "login")
        try await app.send("login")
        #expect(app.stack == "login, home")
        #expect(app.coordinators == ["app", "login", "home"])

        try await app.back()

        #expect(app.stack == "login")
        #expect(app.coordinators == ["app", "login"])
    }

    @Test func `a logout finishes the home`() async throws {
        var app = try await CoordinatorTester(LoginHome.app)
        try await app.send("login")

        try await app.send("logout")

        #expect(app.transition.finished == ["home"])
        #expect(app.coordinators == ["app", "login"])
        await #expect(throws: (any Error).self) { try await app.back() }
    }

    @Test func `ten thousand logins and backs leave the session as large as it was`() async throws {
        var app = try await CoordinatorTester(LoginHome.app)
        let before = savedShape(app.state)

        for _ in 0..<10_000 {
            try await app.send("login")
            try await app.back()
            await Task.yield()
        }

        #expect(app.coordinators == ["app", "login"])
        let after = savedShape(app.state)
        #expect(after == before)
    }
}

/// What is saved, without the digits: keys and ids are counted up.
func savedShape(_ state: NavigationState) -> [UInt8] {
    state.encoded.filter { !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
}
