import Coordinators
@testable import CoordinatorsTesting
import JSONCoding
import Testing

@Suite struct LinkTests {
    static let everyType: LinkPattern = "/a/{s}/{i:integer}/{n:number}/{b:boolean}"

    static let withQuery: LinkPattern = "/a/{id:integer}?ref={from}&page={page:integer}"

    static let withLists: LinkPattern = "/s?tag={tags...}&id={ids:integer...}"

    static let lenient: LinkPattern = "/s?page={page:integer?}&id={ids:integer...?}&q={q?}"

    static let fitting: [(LinkPattern, String, JSONObject)] = [
        ("/", "/", [:]),
        ("/home", "/home", [:]),
        ("/products/{id:integer}", "/products/42", ["id": 42]),
        ("/products/{id:integer}", "/products/-9223372036854775808", ["id": .integer(.min)]),
        ("/search/{text}", "/search/caf%C3%A9%20%F0%9F%98%80", ["text": "café 😀"]),
        ("/search/{text}", "/search/%25%32F", ["text": "%2F"]),
        ("/search/{text:string}", "/search/-._~!$&'()*+,;=:@", ["text": "-._~!$&'()*+,;=:@"]),
        ("/search/{text}", "/search/...", ["text": "..."]),
        ("/größe/{n:number}", "/gr%C3%B6%C3%9fe/1.5", ["n": 1.5]),
        ("/x/{n:number}", "/x/42", ["n": 42]),
        ("/x/{n:number}", "/x/42.0", ["n": .number(42)]),
        ("/x/{n:number}", "/x/-1e-07", ["n": -1e-07]),
        ("/x/{n:number}", "/x/1e+20", ["n": 1e+20]),
        ("/{a:boolean}/{b:boolean}", "/true/false", ["a": true, "b": false]),
        (everyType, "/a/7/7/7.5/true", ["s": "7", "i": 7, "n": 7.5, "b": true]),
        ("/home", "/home/", [:]),
        ("/{t}", "/a/#b/c?d", ["t": "a"]),
        ("/home", "/home?x=1&y", [:]),
        (withQuery, "/a/7", ["id": 7]),
        (withQuery, "/a/7/?#", ["id": 7]),
        (withQuery, "/a/7?ref=mail&page=2#top", ["id": 7, "from": "mail", "page": 2]),
        (withQuery, "/a/7?page=2&x=%ZZ&&ref=mail", ["id": 7, "from": "mail", "page": 2]),
        (withQuery, "/a/7?ref=a&ref=b&page=1&page=x", ["id": 7, "from": "a", "page": 1]),
        (withQuery, "/a/7?ref=", ["id": 7, "from": ""]),
        (withQuery, "/a/7?ref", ["id": 7, "from": ""]),
        (withQuery, "/a/7?Ref=a&refs=b&re=c", ["id": 7]),
        (withQuery, "/a/7?r%65f=a=b/c?d+e%20%2526", ["id": 7, "from": "a=b/c?d e %26"]),
        (withQuery, "/a/7?ref=1+%2B+1", ["id": 7, "from": "1 + 1"]),
        ("/?n={n:number}&b={b:boolean}", "/?b=true&n=1e%2B20", ["n": 1e+20, "b": true]),
        ("/?K={text}", "/?\u{212A}=1", [:]),
        ("/?a.b-c_d~e={x}", "/?a.b-c_d~e=1", ["x": "1"]),
        ("/docs/{path...}", "/docs/a", ["path": ["a"]]),
        ("/docs/{path...}", "/docs/a/b%2Fc/1+1/?a#b", ["path": ["a", "b/c", "1+1"]]),
        ("/{ids:integer...}?ref={from}", "/2/-1?ref=a", ["ids": [2, -1], "from": "a"]),
        (withLists, "/s", [:]),
        (withLists, "/s?tag=b&x=1&id=2&tag=a+b&id=1&tag=b", ["tags": ["b", "a b", "b"], "ids": [2, 1]]),
        (withLists, "/s?tag&tag=", ["tags": ["", ""]]),
        (lenient, "/s?page=x", [:]), (lenient, "/s?page=2", ["page": 2]), (lenient, "/s?page=02&page=2", ["page": 2]),
        (lenient, "/s?id=2&id=x&id=1&id", ["ids": [2, 1]]), (lenient, "/s?id=x&q=%FF", [:]),
    ]

    @Test(arguments: fitting)
    func `a path that matches yields its parameters`(pattern: LinkPattern, path: String, params: JSONObject) {
        #expect(pattern.problems.isEmpty)
        #expect(pattern.match(path) == params)
    }

    @Test(arguments: fitting)
    func `a path made from parameters yields them again`(pattern: LinkPattern, path: String, params: JSONObject) {
        let canonical = pattern.path(params)

        #expect(canonical.flatMap(pattern.match) == params)
        #expect(canonical.flatMap(pattern.match).flatMap(pattern.path) == canonical)
    }

    @Test func `any text that can be a segment survives a round trip through its path`() throws {
        let pattern: LinkPattern = "/{text}"
        for value in 1...0xFFFF where value != 0x2E {
            guard let scalar = Unicode.Scalar(UInt32(value)) else { continue }
            let path = try #require(pattern.path(["text": .string(String(scalar))]))

            #expect(path.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F })
            #expect(pattern.match(path)?["text"]?.string?.unicodeScalars.elementsEqual([scalar]) == true)
        }
    }

    @Test func `any text without a zero byte survives a round trip through the query`() throws {
        let pattern: LinkPattern = "/?text={text}"
        for value in 1...0xFFFF {
            guard let scalar = Unicode.Scalar(UInt32(value)) else { continue }
            let path = try #require(pattern.path(["text": .string(String(scalar))]))

            #expect(path.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F })
            #expect(pattern.match(path)?["text"]?.string?.unicodeScalars.elementsEqual([scalar]) == true)
        }
    }

    @Test func `the query has the parameters that are there, in the order of the pattern`() {
        #expect(LinkTests.withQuery.path(["id": 7]) == "/a/7")
        #expect(LinkTests.withQuery.path(["page": 2, "more": 1, "id": 7]) == "/a/7?page=2")
        #expect(
            LinkTests.withQuery.path(["page": 2, "from": "a b&c=d+e#f%g/h?é", "id": 7])
                == "/a/7?ref=a%20b%26c%3Dd%2Be%23f%25g/h?%C3%A9&page=2")
    }

    @Test func `whatever is opened, the path of its parameters has the same parameters`() {
        let pieces = [
            "/", "/", "?", "&", "=", "#", "%", "%2", "%2F", "%41", "%00", "%C3", "+", "ref", "page", "a", "7", "07",
            "-1", "x", ".", "é", "\u{301}", "\0", " ",
        ]
        var numbers = SplitMix64(seed: 7)
        var matches = 0
        for _ in 0..<20_000 {
            let tail = (0..<Int.random(in: 0...8, using: &numbers)).compactMap { _ in
                pieces.randomElement(using: &numbers)
            }
            let start = ["/a/7?", "/a/7", ""].randomElement(using: &numbers) ?? ""
            for pattern in [
                LinkTests.withQuery, "/{t}/{n:number}?ref={r}&a={b:boolean}", "/?a={t}", "/a/{all...}?ref={r...}",
                "/{all...}?page={p:integer?}&ref={n:integer...?}",
            ] {
                guard let params = pattern.match(start + tail.joined()) else { continue }
                matches += 1
                let path = pattern.path(params)

                #expect(path.flatMap(pattern.match) == params, "\(start + tail.joined())")
                #expect(path.flatMap(pattern.match).flatMap(pattern.path) == path)
            }
        }
        #expect(matches > 1000)
    }

    @Test func `a path is percent-encoded, and parameters that are not in the pattern are ignored`() {
        let pattern: LinkPattern = "/größe/{text}"

        #expect(pattern.path(["text": "a b?%", "more": 1]) == "/gr%C3%B6%C3%9Fe/a%20b%3F%25")
    }

    static let unfitting: [(LinkPattern, String)] = [
        ("/", ""), ("/", "//"), ("/home", "home"), ("/home", "/Home"), ("/home", "/home//"), ("/home", "//home"),
        ("/home", "#/home"), ("/home", "?/home"), ("/home", "/"), ("/home", "/home/x"),
        ("/home", "https://shop.example.com/home"), ("/home", "//shop.example.com/home"),
        ("/{t}", "/%00"), ("/{t}", "/\0"), ("/{t}", "/a/b"), ("/{t}", "/%"), ("/{t}", "/%4"),
        ("/{t}", "/%4G"), ("/{t}", "/%+1"), ("/{t}", "/%FF"), ("/{t}", "/%C3"), ("/{t}", "/%C0%AF"),
        ("/{t}", "/%ED%A0%80"), ("/{t}", "/."), ("/{t}", "/.."), ("/{t}", "/%2E%2e"), ("/{t}", "/"),
        ("/{a}/{b}", "/a/"), ("/{a}/{b}", "//b"), ("/e\u{301}", "/\u{E9}"), ("/a", "/\u{301}a"),
        ("/{i:integer}", "/042"), ("/{i:integer}", "/+42"), ("/{i:integer}", "/-0"), ("/{i:integer}", "/4.0"),
        ("/{i:integer}", "/9223372036854775808.0"), ("/{i:integer}", "/x"), ("/{i:integer}", "/%D9%A1"),
        ("/{n:number}", "/1.50"), ("/{n:number}", "/1e3"), ("/{n:number}", "/nan"), ("/{n:number}", "/inf"),
        ("/{n:number}", "/1e999"), ("/{n:number}", "/0x10"), ("/{n:number}", "/.5"),
        ("/{b:boolean}", "/TRUE"), ("/{b:boolean}", "/1"), ("/{b:boolean}", "/yes"),
        (withQuery, "/a/7?page=x"), (withQuery, "/a/7?page="), (withQuery, "/a/7?page"), (withQuery, "/a/7?page=02"),
        (withQuery, "/a/7?page=x&page=2"), (withQuery, "/a/7?ref=%"), (withQuery, "/a/7?ref=%4G"),
        (withQuery, "/a/7?ref=%FF"), (withQuery, "/a/7?ref=%00"), (withQuery, "/a/7?ref=\0"), (withQuery, "/a/x?ref=a"),
        (withQuery, "/a?ref=a"), ("/?n={n:number}", "/?n=1e+20"),
        ("/{all...}", "/"), ("/docs/{path...}", "/docs"), ("/docs/{path...}", "/docs/"),
        ("/docs/{path...}", "/docs/a//b"), ("/docs/{path...}", "/docs/a/../b"), ("/docs/{path...}", "/docs/a/%FF"),
        ("/docs/{path...}", "/doc/a"), ("/{ids:integer...}", "/1/x"), ("/{ids:integer...}", "/x/1"),
        (withLists, "/s?id=1&id=x"), (withLists, "/s?id"), (withLists, "/s?tag=a&tag=%FF"),
    ]

    @Test(arguments: unfitting)
    func `a path that does not match yields nothing`(pattern: LinkPattern, path: String) {
        #expect(pattern.problems.isEmpty)
        #expect(pattern.match(path) == nil)
    }

    static let unusable: [(LinkPattern, JSONObject)] = [
        ("/{t}", [:]), ("/{t}", ["t": .null]), ("/{t}", ["t": 1]), ("/{t}", ["t": ""]), ("/{t}", ["t": "."]),
        ("/{t}", ["t": ".."]), ("/{t}", ["t": "a\0"]),
        ("/{i:integer}", ["i": "1"]), ("/{i:integer}", ["i": 1.5]), ("/{n:number}", ["n": .number(.infinity)]),
        ("/{b:boolean}", ["b": "true"]),
        (withQuery, ["id": 7, "page": "2"]), (withQuery, ["id": 7, "page": .null]),
        (withQuery, ["id": 7, "from": "\0"]),
        (withQuery, ["from": "a"]),
        ("/{t...}", [:]), ("/{t...}", ["t": []]), ("/{t...}", ["t": "a"]), ("/{t...}", ["t": ["a", 1]]),
        ("/{t...}", ["t": ["a", ".."]]), (withLists, ["tags": "a"]), (withLists, ["tags": ["a", 1]]),
        (withLists, ["tags": ["\0"]]), (withLists, ["ids": ["1"]]), (lenient, ["page": "x"]),
    ]

    @Test func `an empty list of the query is the same as none`() {
        #expect(LinkTests.withLists.path(["tags": [], "ids": [7]]) == "/s?id=7")
    }

    @Test(arguments: unusable)
    func `missing or unsuitable parameters yield no path`(pattern: LinkPattern, params: JSONObject) {
        #expect(pattern.path(params) == nil)
    }

    static let wrong: [(LinkPattern, [String])] = [
        ("", ["must begin with “/”"]),
        ("home/{id}", ["must begin with “/”"]),
        ("/home//x", ["has an empty segment"]),
        ("/home/", ["has an empty segment"]),
        ("/a/../b", ["“..” cannot be a segment"]),
        ("/*", ["“*”: a star stands for nothing else; any one segment is “{name}”, all further ones “{name...}”"]),
        ("/{id:int}", ["“int” is not a parameter type: use one of string, integer, number, boolean"]),
        ("/{id:}", ["“” is not a parameter type: use one of string, integer, number, boolean"]),
        ("/{id}/{id:integer}", ["has the parameter “id” twice"]),
        ("/{id", ["“{id”: braces must enclose the whole segment, once"]),
        ("/id}", ["“id}”: braces must enclose the whole segment, once"]),
        ("/{{id}}", ["“{{id}}”: braces must enclose the whole segment, once"]),
        ("/p{id}", ["“p{id}”: braces must enclose the whole segment, once"]),
        ("/{", ["“{”: braces must enclose the whole segment, once"]),
        ("/{}", ["“” is not a parameter name: use letters, digits and “_”, a letter first"]),
        ("/{1a}", ["“1a” is not a parameter name: use letters, digits and “_”, a letter first"]),
        ("/{a...}/b", ["“{a...}”: only the last segment can be a list"]),
        ("/{...}", ["“” is not a parameter name: use letters, digits and “_”, a letter first"]),
        ("/{a....}", ["“a.” is not a parameter name: use letters, digits and “_”, a letter first"]),
        ("/{id?}", ["“{id?}”: only parameters of the query end in “?”"]),
        ("/{ids:integer...?}/a", ["“{ids:integer...?}”: only parameters of the query end in “?”"]),
        ("/a?b={c?...}", ["“c?” is not a parameter name: use letters, digits and “_”, a letter first"]),
        ("/{a...}?b={a...}", ["has the parameter “a” twice"]),
        ("/a%20b", ["“a%20b”: a segment is plain text, without fragment or escapes"]),
        ("/a?", ["“”: a query parameter is a name, “=” and a parameter in braces"]),
        ("/a?b", ["“b”: a query parameter is a name, “=” and a parameter in braces"]),
        ("/a?b=c", ["“b=c”: a query parameter is a name, “=” and a parameter in braces"]),
        ("/a?b={c}d", ["“b={c}d”: a query parameter is a name, “=” and a parameter in braces"]),
        ("/a?b={c}?d={e}", ["“b={c}?d={e}”: a query parameter is a name, “=” and a parameter in braces"]),
        ("/a?b={c}&", ["“”: a query parameter is a name, “=” and a parameter in braces"]),
        ("/a?b={c}#d", ["“b={c}#d”: a query parameter is a name, “=” and a parameter in braces"]),
        ("/a?={c}", ["“” cannot be the name of a query parameter"]),
        ("/a?é={c}", ["“é” cannot be the name of a query parameter"]),
        ("/a?b={c}&b={d}", ["has the query parameter “b” twice"]),
        ("/{a}?b={a}", ["has the parameter “a” twice"]),
        ("/a?b={c:int}", ["“int” is not a parameter type: use one of string, integer, number, boolean"]),
        (
            "/./{x:y}",
            ["“.” cannot be a segment", "“y” is not a parameter type: use one of string, integer, number, boolean"]
        ),
    ]

    @Test(arguments: wrong)
    func `a faulty pattern reports what is wrong, and matches nothing`(pattern: LinkPattern, problems: [String]) {
        #expect(pattern.problems == problems)
        #expect(pattern.match(pattern.text) == nil)
        #expect(pattern.path(["id": "x"]) == nil)
    }

    @Test func `a link returns its parameters by type`() throws {
        let link = try #require(Link("/a/x%20y/7/7.5/true", matching: LinkTests.everyType))

        #expect(link.string("s") == "x y")
        #expect(link.integer("i") == 7)
        #expect(link.number("n") == 7.5)
        #expect(link.number("i") == 7)
        #expect(link.boolean("b") == true)
        #expect(link.string("i") == nil)
        #expect(link.integer("n") == nil)
        #expect(link.number("s") == nil)
        #expect(link.boolean("x") == nil)
    }

    @Test func `a link returns its lists by type`() throws {
        let link = try #require(
            Link("/a/b?i=7&n=7.5&n=7", matching: "/{s...}?i={i:integer...}&n={n:number...}&x={x...}"))

        #expect(link.strings("s") == ["a", "b"])
        #expect(link.integers("i") == [7])
        #expect(link.numbers("n") == [7.5, 7])
        #expect(link.numbers("i") == [7])
        #expect(link.strings("x").isEmpty && link.strings("i").isEmpty && link.integers("n").isEmpty)
        #expect(link.string("s") == nil)
    }

    @Test func `the path of a link is what the pattern makes of its parameters`() {
        let link = Link("/a/7/?x=1&page=2&ref=%6Dail#top", matching: LinkTests.withQuery)

        #expect(link?.path == "/a/7?ref=mail&page=2")
    }

    @Test func `a path that does not match yields no link`() {
        #expect(Link("/products/x", matching: "/products/{id:integer}") == nil)
    }
}
