@testable internal import Coordinators
internal import JSONCoding
internal import MicroHTTP
@testable internal import NavigationAPI
internal import TestSupport

/// All readers agree on the segments of a request's target; a link's path and its parameters determine each other.
enum RequestTarget: FuzzTarget {
    static var seeds: [[UInt8]] {
        let heads = FramingVectors.accepted.compactMap { $0.split(separator: " ").dropFirst().first }
        let targets = [
            "/v1/sessions/s_9fK2mQ9fK2mQ9/history?limit=5&before=7", "/v1/sessions/s_9fK2mQ9fK2mQ9/events?dryRun=true",
            "/a%2Fb", "/%2e%2e/a", "/a/../b", "/%00", "/%C3%A9", "/%FF", "//", "/a//b/", "*", "/?", "/?a=%26&b",
            "/products/-1e3", "https://shop.example.com:443/products/42/?x=1&ref=%2Bmail#top", "shop://app",
        ]
        let links = Fuzz.apps.flatMap(\.links).map { $0.path(["id": 42, "text": "é/", "ref": "a+b"]) ?? $0.text }
        return (heads.map(String.init) + targets + links).map { Array($0.utf8) }
    }

    static func check(_ input: [UInt8]) {
        let text = String(decoding: input, as: UTF8.self)
        if let target = HTTPTarget(text) { check(target) }
        for app in Fuzz.apps {
            if let link = try? app.link(text) {
                promise("a link's own text leads to the same link", (try? app.link(link.text)) == link)
            }
            for pattern in app.links {
                guard let params = pattern.match(text) else { continue }
                let path = pattern.path(params)
                promise("parameters have a path", path != nil)
                promise("the path has the parameters", path.flatMap(pattern.match) == params)
            }
        }
    }

    private static func check(_ target: HTTPTarget) {
        for segment in target.segments {
            promise("“\(segment)” can be a segment", segment.isEmpty || PathSegment.canBeSegment(segment))
        }
        for item in target.query {
            promise("no zero byte is in the query", !(item.name + item.value).utf8.contains(0))
        }
        let written = target.segments.compactMap { $0.isEmpty ? "" : PathSegment.encode($0) }.map { "/" + $0 }.joined()
        promise(
            "written again it is the same", HTTPTarget(written.isEmpty ? "/" : written)?.segments == target.segments)
        promise(
            "only a path without empty segments is known",
            Route.of(target.segments) == nil || !target.segments.contains(""))
    }
}
