import Coordinators
import CoordinatorsTesting
import JSONCoding
import Testing

/// Shows the file that it is sent, with a link.
private struct FileCoordinator: Coordinator {
    static let links: [LinkPattern] = ["/files/{path}"]

    enum Event: NavigationEvent {
        case show(String)
        static let examples: [Event] = [.show("docs/a.txt"), .show("..")]
    }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("files")) }

    func handle(_ event: Event, _ navigator: inout Navigator) {
        switch event {
        case .show(let path): show(path, &navigator)
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

/// Shows a screen with that link and these parameters.
private struct ShownCoordinator: Coordinator {
    var link = ""
    var params = JSONObject()

    func start(_ navigator: inout Navigator) {
        navigator.push(Screen("shown", params: params, link: LinkPattern(link)))
    }
}

@Suite(.simulatedTime) struct LinkTextTests {
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

    @Test(
        arguments: [
            ("/files/{path}", ["path": 7], "its parameter “path” is not valid text, which “/files/{path}” wants"),
            ("/files/{path}", [:], "its parameters lack “path” of “/files/{path}”"),
            ("/all/{path...}", ["path": []], "its parameters lack “path” of “/all/{path...}”"),
            (
                "/all?id={ids:integer...}", ["ids": [1, "2"]],
                "its parameter “ids” is not a list, each of it an integer, which “/all?id={ids:integer...}” wants"
            ),
            ("/{path", [:], "“/{path” “{path”: braces must enclose the whole segment, once"),
        ] as [(LinkPattern, JSONObject, String)])
    func `a screen whose parameters do not fit its link is shown without one, and the tester warns`(
        link: LinkPattern, params: JSONObject, reason: String
    ) async throws {
        let app = try await CoordinatorTester(App("shown", root: { ShownCoordinator(link: link.text, params: params) }))

        #expect(app.visible == "shown")
        #expect(self.link(of: app) == nil)
        #expect(app.warnings == ["screen “shown” has no link: \(reason)."])
        #expect(try await CoordinatorTester(app.app, restoring: app.saved).state == app.state)
    }
}
