internal import MicroHTTP
@testable internal import NavigationAPI
internal import Sessions

/// Whatever a client sends in a field, the proxy's entry behind it counts; lists and keys are read without a trap.
enum HeaderFields: FuzzTarget {
    static var seeds: [[UInt8]] {
        [
            "192.0.2.1", "[10.0.0.7]\u{600}", "2001:db8::1%eth0", "[2001:db8::1]:4711", "a, ,10.0.0.7:80", "[", "%",
            ":",
            "*", "\"1\", W/\"2.3\"", "W/\"", "\"", "\"a\\\"b\\\\\"", "respond-async, wait=5;x", "wait=\"10\"", "=",
            "Bearer abc",
        ].map { Array($0.utf8) }
    }

    static func check(_ input: [UInt8]) {
        // A field has no control characters but tabs.
        let field = String(decoding: input.filter { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }, as: UTF8.self)
        guard let proxy = IPAddress("10.0.0.1"), let proxies = IPNetwork("10.0.0.0/8"), let target = HTTPTarget("/")
        else { return }
        func client(_ fields: String) -> IPAddress? {
            let headers: HTTPHeaders = ["X-Forwarded-For": fields]
            return HTTPRequest(method: "GET", target: target, headers: headers, peer: proxy).client(behind: [proxies])
        }
        promise("the entry of the proxy counts", client("\(field), 192.0.2.1") == IPAddress("192.0.2.1"))
        promise("so does that of a proxy's proxy", client("\(field), 192.0.2.1,10.0.0.2") == IPAddress("192.0.2.1"))
        promise("it is somebody", client(field) != nil)

        let headers: HTTPHeaders = ["Idempotency-Key": field, "Accept-Encoding": field, "Accept-Language": field]
        if let key = try? IdempotencyKey(headers) {
            promise("a key is ASCII", key.text.utf8.allSatisfy { (0x20...0x7E).contains($0) })
        }
        promise("a wait has a bound", (0...50).contains(Preference.wait([field], atMost: 50) ?? 0))
        promise("users name a few languages", headers.languages.count <= 16)
        _ = headers.prefersGzip
        if case .oneOf(let versions)? = try? EntityTag.condition([field]) {
            for version in versions {
                promise("a tag is in the text", EntityTag.matches([field], EntityTag.text(version)))
            }
        }
    }
}
