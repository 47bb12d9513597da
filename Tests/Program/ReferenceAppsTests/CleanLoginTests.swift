import Coordinators
import CoordinatorsTesting
import JSONCoding
import ReferenceApps
import Testing

/// One account; with a `failure`, every check throws it.
struct OneAccount: LoginRepository {
    var failure: LoginError?

    func verify(email: String, password: String, from client: ClientAddress?) throws(LoginError) {
        if let failure { throw failure }
        guard email == "ann@example.com", password == "correct horse" else { throw .refused }
    }
}

@Suite struct CleanLoginTests {
    @Test(arguments: [("", "x"), ("ann@example.com", ""), ("", "")])
    func `without an address or a password nothing happens, and no password is checked`(
        email: String, password: String
    ) async throws {
        // A password check would throw.
        var app = try await CoordinatorTester(CleanLogin.app(OneAccount(failure: .unavailable)))
        let before = app.state

        try await app.send("login", ["email": .string(email), "password": .string(password)])

        #expect(app.state == before)
    }

    @Test func `a wrong password shows an alert, and only the address is kept`() async throws {
        var app = try await CoordinatorTester(CleanLogin.app(OneAccount()))

        try await app.send("login", ["email": "ann@example.com", "password": "not this one"])

        #expect(app.alert == Alert("Error", message: "Fail To Login", buttons: [.ok]))
        #expect(app.state.visible?.screen.params == ["email": "ann@example.com"])
        #expect(!String(decoding: app.state.encoded, as: UTF8.self).contains("not this one"))
        #expect(!app.transition.rotatesToken)
        try await app.send("answer", ["button": "ok"])
        #expect(app.stack == "login")
    }

    @Test func `a relaunch logs out, and rotates the token only after a login`() async throws {
        var app = try await CoordinatorTester(CleanLogin.app(OneAccount()))
        try await app.send("relaunch")
        #expect(!app.transition.rotatesToken)
        try await app.send("login", ["email": "ann@example.com", "password": "correct horse"])

        try await app.send("relaunch")

        #expect(app.stack == "login")
        #expect(app.transition.rotatesToken)
        try await app.send("relaunch")
        #expect(!app.transition.rotatesToken)
    }

    @Test func `the right password logs in, and a logout leads back to the login`() async throws {
        var app = try await CoordinatorTester(CleanLogin.app(OneAccount()))

        try await app.send("login", ["email": "ann@example.com", "password": "correct horse"])

        #expect(app.stack == "main")
        #expect(app.coordinators == ["app", "main"])
        #expect(app.transition.rotatesToken)
        try await app.send("logout")
        #expect(app.transition.rotatesToken)
        #expect(app.stack == "login")
        #expect(app.coordinators == ["app", "login"])
    }

    @Test func `a login says whose session it is, and a logout or a relaunch that it is nobody's`() async throws {
        for end in ["logout", "relaunch"] {
            var app = try await CoordinatorTester(CleanLogin.app(OneAccount()))
            #expect(app.user == nil)

            try await app.send("login", ["email": "ann@example.com", "password": "correct horse"])
            #expect(app.user == "ann@example.com")

            try await app.send(end)
            #expect(app.user == nil && app.transition.userChange == .signOut)
        }
    }

    @Test func `a user sees where they are logged in, and logs out there`() async throws {
        var app = try await CoordinatorTester(CleanLogin.app(OneAccount()))
        try await app.send("login", ["email": "ann@example.com", "password": "correct horse"])
        app.sessions = ["s_1", "s_2"].map {
            UserSession(
                id: $0, app: "clean-login", createdAt: app.now, lastUsedAt: app.now, expiresAt: app.now, devices: ["TV"]
            )
        }

        try await app.send("devices")
        let listed = app.state.visible?.screen.params["sessions"]?.array
        #expect(listed?.map { $0["session"] } == ["s_1", "s_2"] && listed?[0]["devices"] == ["TV"])

        try await app.send("logoutThere", ["session": "s_2"])
        #expect(app.transition.sessionEndings == [SessionEnding(user: "ann@example.com", sessions: .one("s_2"))])
        #expect(app.stack == "main")
        try await app.send("devices")
        try await app.send("logoutElsewhere")
        #expect(app.transition.sessionEndings == [SessionEnding(user: "ann@example.com", sessions: .others)])
    }

    @Test(arguments: [LoginError.busy, .tooManyFailures(retryAfter: 7), .unavailable])
    func `an error of the repository changes nothing`(failure: LoginError) async throws {
        var app = try await CoordinatorTester(CleanLogin.app(OneAccount(failure: failure)))
        let before = app.state

        await #expect(throws: (any Error).self) {
            try await app.send("login", ["email": "ann@example.com", "password": "x"])
        }

        #expect(app.state == before)
    }
}

@Suite struct LocalisedTitleTests {
    @Test func `the login's title is in the user's language, also after a restart of the app`() async throws {
        let app = CleanLogin.app(OneAccount())
        let german = try ClientInfo(["locale": "de-AT", "platform": "kiosk"])
        var tester = try await CoordinatorTester(app, client: german)
        #expect(tester.state.visible?.screen.title == "Anmelden")
        #expect(tester.state.controls.first?.title == "Anmelden")
        let restored = try app.restore(JSON(parsing: tester.state.encoded)).state
        #expect(restored.client == german && restored == tester.state)

        try await tester.send("describeClient", ["locale": "en"])

        #expect(tester.state.visible?.screen.title == "Login" && tester.state.client.locale == "en")
        try await tester.send("describeClient", [:])
        #expect(tester.state.client.values.isEmpty)
    }

    @Test func `what a client says beside the three known members is the app's, as in any payload`() async throws {
        var tester = try await CoordinatorTester(CleanLogin.app(OneAccount()))
        let client: JSON = ["locale": "de", "theme": "dark", "screen": ["width": 1920]]

        try await tester.send("describeClient", client)

        #expect(tester.state.client.values == client.object)
        for wrong in [["locale": 1], "de"] as [JSON] {
            await #expect(throws: CoordinatorTester.Failure.self) { try await tester.send("describeClient", wrong) }
        }
    }
}
