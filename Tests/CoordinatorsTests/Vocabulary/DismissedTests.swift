import Coordinators
import CoordinatorsTesting
import JSONCoding
import Testing

/// The names of coordinators that are gone without having finished.
@Suite struct DismissedTests {
    @Test func `a dismissed flow names all that were in it, descendants first`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.present("b", .sheet))
        try await app.b(.start("c"))

        try await app.dismiss()

        #expect(app.transition.dismissed == ["c", "b"])
        #expect(app.transition.finished == [])
    }

    @Test func `who finishes is not dismissed, its descendants are`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.start("b"))
        try await app.b(.start("c"))

        try await app.b(.finish)

        #expect(app.transition.finished == ["b"])
        #expect(app.transition.dismissed == ["c"])
    }

    @Test func `children that are ended are dismissed`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.start("b"), .present("c", .sheet))

        try await app.a(.endChildren)

        #expect(app.transition.dismissed.sorted() == ["b", "c"])
    }

    @Test func `a relaunch dismisses all, the root last`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.start("b"))

        try await app.relaunch()

        #expect(app.transition.dismissed == ["b", "a"])
    }

    @Test func `who is asked first is not dismissed yet`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.start("b"))
        try await app.b(.protect("b"))

        try await app.back()
        #expect(app.transition.dismissed == [])
        try await app.answer("leave")

        #expect(app.transition.dismissed == ["b"])
    }
}
