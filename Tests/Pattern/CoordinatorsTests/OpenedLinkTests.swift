import Coordinators
@testable import CoordinatorsTesting
import JSONCoding
import Testing

/// Shows the path and the pattern of the link that it has taken.
private struct MirrorCoordinator: Coordinator {
    static let links: [LinkPattern] = [
        "/", "/products/{id:integer}?page={page:integer}", "/orders/{id:integer}/receipt",
        "/products/{text}?ref={ref}",
        "/search/{text}/{isNew:boolean}?q={q}", "/cart",
    ]

    func start(_ navigator: inout Navigator) { navigator.push(Screen("mirror")) }

    func open(_ link: Link, _ navigator: inout Navigator) -> LinkDecision {
        navigator.push(Screen("opened", title: link.path, params: link.params))
        navigator.defaults["fragment"] = link.fragment.map { .string($0) }
        navigator.defaults["pattern"] = .string(link.pattern.text)
        return .taken
    }
}

/// Links as an app receives them: which one is meant, or why none is.
@Suite struct OpenedLinkTests {
    static let app = App(
        "mirror", root: { MirrorCoordinator() },
        origins: ["https://Shop.example.com", "shop://app", "http://localhost:8080"])

    /// The link's own path.
    private static func path(_ link: String) async throws -> String? {
        try await CoordinatorTester(app, link: link).state.visible?.screen.title
    }

    @Test(arguments: [
        ("/products/42/?utm=mail&page=2#reviews", "/products/42?page=2"), ("/products/4%32", "/products/42"),
        ("/products/x?page=y", "/products/x"), ("/search/a/true?q=b+c", "/search/a/true?q=b%20c"),
        ("/search/a+b/true?q=%2B", "/search/a+b/true?q=%2B"),
        ("https://shop.example.com/products/42?page=2", "/products/42?page=2"),
        ("HTTPS://SHOP.EXAMPLE.COM:443/cart/", "/cart"),
        ("https://shop.example.com", "/"), ("https://shop.example.com?x#y", "/"), ("https://shop.example.com#y", "/"),
        ("shop://app/products/42", "/products/42"), ("http://localhost:8080/cart", "/cart"),
    ])
    func `a link is opened by its own path`(link: String, path: String) async throws {
        #expect(try await OpenedLinkTests.path(link) == path)
        #expect(try await OpenedLinkTests.path(path) == path)
    }

    @Test func `whatever is opened, its own path leads to the same pattern and parameters`() async throws {
        let pieces = [
            "/", "/", "products", "search", "42", "x", "true", "?", "&", "=", "page", "ref", "q", "#", "%", "%2F", "+",
            "é", ":", "@", "\0", "\u{301}",
        ]
        let starts = [
            "/products/42", "/products/42?page=", "/products/x?", "/search/a/true?", "https://shop.example.com",
            "shop:", "",
        ]
        var numbers = SplitMix64(seed: 11)
        var opened = 0
        for _ in 0..<5_000 {
            let start = starts.randomElement(using: &numbers) ?? ""
            let tail = (0..<Int.random(in: 0...6, using: &numbers)).compactMap { _ in
                pieces.randomElement(using: &numbers)
            }
            let link = start + tail.joined()
            guard let first = try? await CoordinatorTester(OpenedLinkTests.app, link: link),
                let path = first.state.visible?.screen.title
            else { continue }
            opened += 1
            let again = try await CoordinatorTester(OpenedLinkTests.app, link: path)

            #expect(again.state.visible?.screen == first.state.visible?.screen, "\(link)")
            #expect(again.state.defaults["pattern"] == first.state.defaults["pattern"], "\(link)")
        }
        #expect(opened > 500)
    }

    @Test(arguments: [
        ("/cart#items", "items"), ("/cart/#a%20b%2Fc/d?e#f", "a b/c/d?e#f"), ("/products/42?page=2#%C3%A9", "é"),
        ("https://shop.example.com#top", "top"), ("https://shop.example.com/cart?x=1#top", "top"), ("/cart#", nil),
        ("/cart", nil), ("/cart#%", nil), ("/cart#%00", nil), ("/cart#%FF", nil), ("/cart?x=%23y", nil),
    ])
    func `the fragment is handed over, decoded, and is no part of the path`(link: String, fragment: String?)
        async throws
    {
        let state = try await CoordinatorTester(OpenedLinkTests.app, link: link).state

        #expect(state.visible?.screen.title?.contains("#") == false)
        #expect(state.defaults["fragment"]?.string == fragment)
    }

    static let product = "/products/{id:integer}?page={page:integer}"

    @Test(arguments: [
        ("/nowhere", "No link of the app begins like this one."),
        ("//", "No link of the app begins like this one."),
        ("/%FF", "No link of the app begins like this one."),
        ("/products", "The link begins like “\(product)”, but has too few segments."),
        ("/cart/x", "The link begins like “/cart”, but has too many segments."),
        ("/products/..", "The link begins like “\(product)”, but its segment 2 is not an integer."),
        ("/orders/42/x", "The link begins like “/orders/{id:integer}/receipt”, but its segment 3 differs."),
        (
            "/search/%FF/true",
            "The link begins like “/search/{text}/{isNew:boolean}?q={q}”, but its segment 2 is not valid text."
        ),
        (
            "/search/a/yes",
            "The link begins like “/search/{text}/{isNew:boolean}?q={q}”, but its segment 3 is not true or false."
        ),
        (
            "/search/a/true?q=%00",
            """
            The link's path fits “/search/{text}/{isNew:boolean}?q={q}”, but its query parameter “q” is not valid text.
            """
        ),
        (
            "/products/42?page=x",
            "The link's path fits “\(product)”, but its query parameter “page” is not an integer."
        ),
        ("https://evil.example.com/cart", "The link's origin is none of the app's."),
        ("http://shop.example.com/cart", "The link's origin is none of the app's."),
        ("https://shop.example.com:8443/cart", "The link's origin is none of the app's."),
        ("https://shop.example.com.evil.example/cart", "The link's origin is none of the app's."),
        ("https://shop.example.com:0443/cart", "The link begins neither with “/” nor with an origin of the app."),
        ("https://shop.example.com:/cart", "The link begins neither with “/” nor with an origin of the app."),
        ("https://shop.example.com/cart\n", "The link has control characters."),
        ("/cart\u{7F}", "The link has control characters."),
        ("", "The link begins neither with “/” nor with an origin of the app."),
        ("cart", "The link begins neither with “/” nor with an origin of the app."),
        ("shop:/cart", "The link begins neither with “/” nor with an origin of the app."),
        ("shop:///cart", "The link begins neither with “/” nor with an origin of the app."),
        ("https://ann@shop.example.com/cart", "The link begins neither with “/” nor with an origin of the app."),
        ("https://shop.example.com:x/cart", "The link begins neither with “/” nor with an origin of the app."),
        ("https://shop.example.com\\@evil.example/", "The link begins neither with “/” nor with an origin of the app."),
        (" /cart", "The link begins neither with “/” nor with an origin of the app."),
    ])
    func `a link that is not known is refused with what does not fit`(link: String, reason: String) async throws {
        await #expect(throws: CoordinatorTester.Failure(.unknownLink(reason: reason))) {
            try await CoordinatorTester(OpenedLinkTests.app, link: link)
        }
    }

    @Test(arguments: [
        "", "shop.example.com", "https://", "https:shop.example.com", "https://shop.example.com/", "https://a b",
        "https:", "HTTP:", "https://*.com", "https://*", "https://*example.com", "https://a.*.example.com",
        "*.example.com",
        "https://*.*.example.com", "https://shop.example.com.", "https://shop..example.com", "shop:app", "shop:/", ":",
        "https://b\u{FC}cher.example", "https://shop.example.com:port", "https://shop.example.com:65536",
        "https://shop.example.com?x", "1shop://app",
        "://app", "https://ann@shop.example.com", "https://shop.example.com:+80",
    ])
    func `a faulty origin is a mistake of the app`(origin: String) {
        let app = App("mirror", root: { MirrorCoordinator() }, origins: ["shop+1.a-b://x", origin])

        #expect(
            app.problems == [
                "app “mirror”: “\(origin)” is not an origin: write “https://shop.example.com”, “https://*.example.com” or"
                    + " “shop:”"
            ])
    }

    static let schemes = App(
        "mirror", root: { MirrorCoordinator() },
        origins: ["Shop:", "https://*.Example.com", "https://*.example.org:8443", "item://product"])

    @Test(arguments: [
        ("shop://products/42?page=2", "/products/42?page=2"), ("shop:///products/42", "/products/42"),
        ("shop:/products/42/", "/products/42"), ("SHOP:products/42#x", "/products/42"), ("shop://", "/"),
        ("shop:", "/"), ("shop:?x", "/"), ("shop://search/caf%C3%A9/true", "/search/caf%C3%A9/true"),
        ("https://a.example.com/cart", "/cart"), ("HTTPS://A.B.EXAMPLE.COM:443/cart", "/cart"),
        ("https://example.example.com", "/"), ("https://a.example.org:8443/cart", "/cart"),
        ("item://product/cart", "/cart"),
    ])
    func `a scheme alone takes a path in any form, and a star the hosts below one`(link: String, path: String)
        async throws
    {
        let session = try await CoordinatorTester(OpenedLinkTests.schemes, link: link)

        #expect(session.state.visible?.screen.title == path)
    }

    @Test(arguments: [
        "https://example.com/cart", "https://.example.com/cart", "https://a..example.com/cart",
        "https://aexample.com/cart", "https://a.example.com.evil.example/cart", "https://a.example.com./cart",
        "http://a.example.com/cart", "https://a.example.com:444/cart", "https://a.example.org/cart",
        "https://ann@a.example.com/cart", "https://evil.example\\.example.com/cart", "https://a%2Eexample.com/cart",
        "https://*.example.com/cart", "https://evil.example/.example.com/cart", "https://\u{430}.example.com/cart",
        "item:cart", "item:///cart", "item://cart", "shops://cart", "//shop.example.com/cart", "shop", "shop:////cart",
    ])
    func `a URL that only looks like one of the app's is refused`(link: String) async throws {
        let failure = await #expect(throws: CoordinatorTester.Failure.self) {
            try await CoordinatorTester(OpenedLinkTests.schemes, link: link)
        }

        guard case .unknownLink = failure?.reason else { throw TestError() }
    }

    @Test func `an exact origin counts before a scheme alone`() async throws {
        let app = App("mirror", root: { MirrorCoordinator() }, origins: ["shop:", "shop://app"])

        #expect(try await CoordinatorTester(app, link: "shop://app/cart").state.visible?.screen.title == "/cart")
        #expect(try await CoordinatorTester(app, link: "shop://cart").state.visible?.screen.title == "/cart")
    }
}

/// Takes what its child does not know, unless `/left` is opened; takes `/mine` never.
private struct CatchAllCoordinator: Coordinator {
    static let links: [LinkPattern] = ["/{path...}?ref={ref}", "/{first}/{rest...}", "/mine"]

    func start(_ navigator: inout Navigator) {
        navigator.push(Screen("home"))
        navigator.start(DocsCoordinator())
    }

    func open(_ link: Link, _ navigator: inout Navigator) -> LinkDecision {
        guard link.pattern.isOneOf(CatchAllCoordinator.links[..<2]), link.path != "/left" else { return .passedOn }
        navigator.push(Screen("notFound", title: link.path, params: link.params, link: link.pattern))
        return .taken
    }
}

private struct DocsCoordinator: Coordinator {
    static let links: [LinkPattern] = ["/docs/{path...}", "/docs/index", "/login", "/{id:integer}"]
    var isLoggedIn = false

    enum Event: NavigationEvent, CaseIterable { case login }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("docs")) }

    mutating func handle(_ event: Event, _ navigator: inout Navigator) { isLoggedIn = true }

    func open(_ link: Link, _ navigator: inout Navigator) -> LinkDecision {
        switch link.pattern.text {
        case "/login": return isLoggedIn ? .passedOn : .pending
        case "/docs/{path...}" where link.strings("path") == ["old", "page"], "/{id:integer}": return .passedOn
        case let text where text.hasPrefix("/docs/"):
            navigator.push(Screen("doc", title: text, params: link.params, link: link.pattern))
            return .taken
        default: return .passedOn
        }
    }
}

extension LinkPattern {
    fileprivate func isOneOf(_ patterns: ArraySlice<LinkPattern>) -> Bool { patterns.contains(self) }
}

/// A last segment that stands for all further ones.
@Suite struct CatchAllTests {
    static let app = App("docs", root: { CatchAllCoordinator() }, coordinators: [DocsCoordinator.self])

    @Test(arguments: [
        ("/docs/a/b", "/docs/{path...}"), ("/docs/index", "/docs/index"), ("/docs/index/", "/docs/index"),
    ])
    func `the root's catch-all leaves the others their links, and a longer one comes first`(path: String, title: String)
        async throws
    {
        let session = try await CoordinatorTester(CatchAllTests.app, link: path)

        #expect(session.state.visible?.screen.title == title)
    }

    @Test(
        arguments: [
            ("/nowhere", ["path": ["nowhere"]]), ("/nowhere?ref=a+b", ["path": ["nowhere"], "ref": "a b"]),
            ("/no/where/", ["first": "no", "rest": ["where"]]), ("/docs", ["path": ["docs"]]),
        ] as [(String, JSONObject)])
    func `what nobody knows is left to a catch-all`(path: String, params: JSONObject) async throws {
        let session = try await CoordinatorTester(CatchAllTests.app, link: path)

        #expect(session.visible == "notFound")
        #expect(session.state.visible?.screen.params == params)
        let screen = try #require(session.state.visible?.screen)
        let again = try await CoordinatorTester(CatchAllTests.app, link: try #require(screen.link?.path(screen.params)))
        #expect(again.state == session.state)
    }

    @Test(arguments: ["/mine", "/7", "/docs/old/page"])
    func `what nobody takes is offered again as a catch-all`(path: String) async throws {
        var session = try await CoordinatorTester(CatchAllTests.app)

        try await session.open(path)

        #expect(session.visible == "notFound")
        #expect(session.state.visible?.screen.title == path)
    }

    @Test func `a kept link that nobody takes in the end is offered again as a catch-all, too`() async throws {
        var session = try await CoordinatorTester(CatchAllTests.app, link: "/login")
        #expect(session.visible == "docs")

        try await session.send("login")

        #expect(session.state.visible?.screen.title == "/login")
        #expect(try JSON(parsing: session.state.encoded)["pendingLink"] == nil)
    }

    @Test func `a link that no catch-all takes is refused`() async throws {
        var session = try await CoordinatorTester(CatchAllTests.app)

        await session.expectRefusal(.linkNotTaken) { try await $0.open("/left") }
        await session.expectRefusal(.unknownLink(reason: "No link of the app begins like this one.")) {
            try await $0.open("/")
        }
    }

    @Test func `walks and maps open a catch-all`() async throws {
        let coverage = try await RandomWalk.cover(CatchAllTests.app, seeds: 0..<5, count: 100, atLeast: 0)

        #expect(!coverage.missed.contains("link /{path...}?ref={ref}"))
        #expect(!coverage.missed.contains("screen notFound"))
    }
}
