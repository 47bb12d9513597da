import Coordinators
import CoordinatorsTesting
import JSONCoding
import Testing

/// Shows the file that it is sent, with a link.
private struct FileCoordinator: Coordinator {
    static let links: [LinkPattern] = ["/files/{path}"]

    enum Event: NavigationEvent {
        case show(String)
        case count
        static let examples: [Event] = [.show("docs/a.txt"), .show(".."), .count]
    }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("files")) }

    func handle(_ event: Event, _ navigator: inout Navigator) {
        switch event {
        case .show(let path): show(path, &navigator)
        case .count: navigator.push(Screen("file", params: ["path": 7], link: FileCoordinator.links[0]))
        }
    }

    func open(_ link: Link, _ navigator: inout Navigator) -> LinkDecision {
        show(link.string("path") ?? "", &navigator)
        return .taken
    }

    private func show(_ path: String, _ navigator: inout Navigator) {
        navigator.push(Screen("file", params: ["path": .string(path)], link: FileCoordinator.links[0]))
    }
}

@Suite struct LinkTextTests {
    private static let app = App("files", root: { FileCoordinator() })

    private func link(of app: CoordinatorTester) -> String? {
        app.state.visible.flatMap { $0.screen.link?.path($0.screen.params) }
    }

    @Test(arguments: ["docs/a.txt", "/", "a//b", "../a", "%2F", "…"])
    func `a text with slashes is one parameter, there and back`(text: String) async throws {
        var app = try await CoordinatorTester(LinkTextTests.app)
        try await app.send("show", .string(text))
        let path = try #require(link(of: app))

        let opened = try await CoordinatorTester(LinkTextTests.app, link: path)

        #expect(path.split(separator: "/").count == 2)
        #expect(opened.state.visible?.screen == app.state.visible?.screen)
        #expect(app.warnings == [])
    }

    @Test(arguments: ["", ".", "..", "a\0"])
    func `a screen whose text cannot be in a path has no link, and the tester warns`(text: String) async throws {
        var app = try await CoordinatorTester(LinkTextTests.app)

        try await app.send("show", .string(text))

        #expect(app.state.visible?.screen.params["path"] == .string(text))
        #expect(link(of: app) == nil)
        #expect(
            app.warnings == [
                "screen “file” has no link: a text of its parameters cannot be in a path of “/files/{path}”."
            ])
        #expect(try await CoordinatorTester(LinkTextTests.app, restoring: app.saved).state == app.state)
    }

    @Test func `a parameter of another type is still a mistake`() async throws {
        var app = try await CoordinatorTester(LinkTextTests.app)

        let failure = await #expect(throws: CoordinatorTester.Failure.self) { try await app.send("count") }

        guard case .impossibleRequest = failure?.reason else { throw TestError() }
    }
}
