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
        ("/products/x?page=y", "/products/x"), ("/search/a/true?q=b+c", "/search/a/true?q=b%2Bc"),
        ("https://shop.example.com/products/42?page=2", "/products/42?page=2"),
        ("HTTPS://SHOP.EXAMPLE.COM:443/cart/", "/cart"), ("https://shop.example.com:/cart", "/cart"),
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

            #expect(try await CoordinatorTester(OpenedLinkTests.app, link: path).state == first.state, "\(link)")
        }
        #expect(opened > 500)
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
        "https://shop.example.com:port", "https://shop.example.com:65536", "https://shop.example.com?x", "1shop://app",
        "://app", "https://ann@shop.example.com", "https://shop.example.com:+80",
    ])
    func `a faulty origin is a mistake of the app`(origin: String) {
        let app = App("mirror", root: { MirrorCoordinator() }, origins: ["shop+1.a-b://x", origin])

        #expect(
            app.problems == [
                "app “mirror”: “\(origin)” is not an origin: write a scheme and a host, “https://shop.example.com”"
            ])
    }
}
