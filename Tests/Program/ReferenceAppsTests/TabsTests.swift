import Coordinators
import CoordinatorsTesting
import ReferenceApps
import Testing

@Suite struct TabsTests {
    @Test func `login, three pages, and logout`() async throws {
        var app = try await CoordinatorTester(Tabs.app)
        #expect(app.stack == "login")
        #expect(app.state.visible?.screen.title == "로그인")

        try await app.send("login")
        #expect(app.stack == "tabs[home*: home | plus: plus | myPage: myPage]")
        #expect(app.events == ["home", "selectTab", "relaunch", "describeClient"])
        try await app.send("home")
        #expect(app.stack == "tabs[home: home | plus*: plus | myPage: myPage]")
        try await app.send("plus")
        #expect(app.stack == "tabs[home: home | plus: plus | myPage*: myPage]")
        try await app.send("selectTab", ["tab": "home"])
        #expect(app.visible == "home")
        try await app.send("selectTab", ["index": 2])
        #expect(app.visible == "myPage")
        await #expect(throws: CoordinatorTester.Failure.self) { try await app.send("selectTab", ["index": 7]) }
        #expect(app.visible == "myPage")
        try await app.send("myPage")
        #expect(app.stack == "login")
        #expect(app.coordinators == ["app", "login"])
    }

    @Test func `a login is remembered across a relaunch, and forgotten when the tabs are left`() async throws {
        var app = try await CoordinatorTester(Tabs.app)
        try await app.send("relaunch")
        #expect(app.stack == "login")

        try await app.send("login")
        try await app.send("relaunch")

        #expect(app.stack == "tabs[home*: home | plus: plus | myPage: myPage]")
        #expect(app.coordinators == ["app", "tab"])
    }

    @Test func `the pages have their titles`() async throws {
        var app = try await CoordinatorTester(Tabs.app)
        try await app.send("login")

        let tabs = try #require(app.state.screens.first?.tabs)

        #expect(tabs.items.map(\.title) == ["Home", "Plus", "MyPage"])
        #expect(tabs.items.map { $0.stack.screens[0].screen.title } == ["Home", "Plus", "MyPage"])
    }

    @Test func `the login hides the navigation bar, the pages show it`() async throws {
        var app = try await CoordinatorTester(Tabs.app)
        #expect(app.state.visible?.screen.hidesNavigationBar == true)

        try await app.send("login")

        #expect(app.state.screens.allSatisfy { !$0.screen.hidesNavigationBar })
    }

    @Test func `the buttons have their labels`() {
        let titles = Tabs.app.coordinators.map { $0.events.map(\.title) }

        #expect(titles == [[], ["로그인"], ["Home", "Push", "MyPage"]])
    }

    @Test func `a thousand rounds leave nothing behind`() async throws {
        var app = try await CoordinatorTester(Tabs.app)
        try await app.send("login")
        let before = try TabsTests.savedWithoutNumbers(app)

        for _ in 0..<1000 {
            for event in ["home", "plus", "myPage", "login"] { try await app.send(event) }
        }

        #expect(app.coordinators == ["app", "tab"])
        #expect(try TabsTests.savedWithoutNumbers(app) == before)
    }

    /// The saved state without its keys and ids, which grow by a digit now and then.
    static func savedWithoutNumbers(_ app: CoordinatorTester) throws -> String {
        String(String(decoding: app.state.encoded, as: UTF8.self).filter { !$0.isNumber })
    }
}
