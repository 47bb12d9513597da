import Coordinators
import CoordinatorsTesting
import JSONCoding
import Testing

/// The names of coordinators that were removed without having finished.
@Suite struct DismissedTests {
    @Test func `dismissing a flow names all its coordinators, descendants first`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.present("b", .sheet))
        try await app.b(.start("c"))

        try await app.dismiss()

        #expect(app.transition.dismissed == ["c", "b"])
        #expect(app.transition.finished == [])
    }

    @Test func `a coordinator that finishes is not dismissed, but its descendants are`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.start("b"))
        try await app.b(.start("c"))

        try await app.b(.finish)

        #expect(app.transition.finished == ["b"])
        #expect(app.transition.dismissed == ["c"])
    }

    @Test func `endChildren dismisses the children`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.start("b"), .present("c", .sheet))

        try await app.a(.endChildren)

        #expect(app.transition.dismissed.sorted() == ["b", "c"])
    }

    @Test func `a relaunch dismisses all coordinators, the root last`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.start("b"))

        try await app.relaunch()

        #expect(app.transition.dismissed == ["b", "a"])
    }

    @Test func `a coordinator that is asked before leaving is dismissed only after the answer`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.start("b"))
        try await app.b(.protect("b"))

        try await app.back()
        #expect(app.transition.dismissed == [])
        try await app.answer("leave")

        #expect(app.transition.dismissed == ["b"])
    }
}
