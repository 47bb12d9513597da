import Coordinators
import CoordinatorsTesting
import Foundation
import JSONCoding
import ReferenceApps
import Testing

/// States of each app that an earlier build has saved.
@Suite struct EarlierSessionsTests {
    static let directory = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Fixtures/apps")

    static func saved(_ app: String) throws -> JSON {
        try JSON(parsing: Array(Data(contentsOf: directory.appending(path: "\(app).json"))))
    }

    @Test(arguments: ["tabs", "login-home", "list-detail", "main", "clean-login"])
    func `a session that an earlier build has saved is restored as it was`(name: String) throws {
        let app = try #require(RandomWalkTests.apps.first { $0.name == name })
        let saved = try EarlierSessionsTests.saved(name)

        let state = try app.restore(saved).state

        #expect(try JSON(parsing: state.encoded) == saved)
    }

    @Test func `a cart that an earlier version has saved in the tab bar becomes shared`() throws {
        let app = try #require(RandomWalkTests.apps.first { $0.name == "shop" })
        let saved = try EarlierSessionsTests.saved("shop")

        let restoration = try app.restore(saved)

        #expect(restoration.version == 1 && restoration.losses == [])
        let state = try JSON(parsing: restoration.state.encoded)
        #expect(state["shared"] == ["cart": ["items": [1]], "membership": ["isSignedIn": false]])
        #expect(restoration.state.screens.last?.screen.params == ["items": [1]])
        #expect(restoration.state.visible?.screen.title == "Product 1")
    }

    @Test func `an editor that was open in an earlier build saves its title`() async throws {
        let state = try ListDetail.app.restore(try EarlierSessionsTests.saved("list-detail")).state
        let save = PostedEvent("save", payload: ["title": "Newer"])

        let result = try await ListDetail.app.apply(save, to: state, at: CoordinatorTester.someTime)

        #expect(result.state.visible?.screen.title == "Newer")
    }
}
