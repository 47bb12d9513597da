import MicroHTTP
import Testing

@Suite struct IPAddressTests {
    @Test(arguments: [
        ("10.0.0.0/8", "10.255.0.1"), ("192.0.2.1", "192.0.2.1"), ("0.0.0.0/0", "8.8.8.8"), ("::/0", "8.8.8.8"),
        ("2001:db8::/32", "2001:db8:ffff::1"), ("::1", "::1"), ("192.0.2.128/25", "192.0.2.255"),
        ("::ffff:192.0.2.0/120", "192.0.2.7"), ("2001:db8::8000:0:0:0/65", "2001:db8::ffff:0:0:1"),
    ])
    func `a network contains its addresses`(network: String, address: String) throws {
        #expect(try #require(IPNetwork(network)).contains(try #require(IPAddress(address))))
    }

    @Test(arguments: [
        ("10.0.0.0/8", "11.0.0.1"), ("192.0.2.1", "192.0.2.2"), ("0.0.0.0/0", "2001:db8::1"),
        ("2001:db8::/32", "2001:db9::1"), ("192.0.2.128/25", "192.0.2.127"), ("10.0.0.0/8", "::a00:1"),
        ("2001:db8::8000:0:0:0/65", "2001:db8::7fff:0:0:1"),
    ])
    func `a network contains no other address`(network: String, address: String) throws {
        #expect(!(try #require(IPNetwork(network)).contains(try #require(IPAddress(address)))))
    }

    @Test(arguments: [
        "", "10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/-1", "10.0.0/8", "localhost", "1.2.3.4.5", "/8",
    ])
    func `a text that is not a network is refused`(text: String) {
        #expect(IPNetwork(text) == nil)
    }

    /// The client of a request, if the proxies in 10.0.0.0/8 are trusted.
    static func client(_ peer: String, _ fields: [String]) throws -> IPAddress? {
        var headers: HTTPHeaders = [:]
        for field in fields { headers.append("X-Forwarded-For", field) }
        let request = HTTPRequest(
            method: "GET", target: try #require(HTTPTarget("/")), headers: headers, peer: IPAddress(peer))
        return request.client(behind: [try #require(IPNetwork("10.0.0.0/8"))])
    }

    @Test(arguments: [
        ("10.0.0.1", ["192.0.2.1"], "192.0.2.1"), ("10.0.0.1", ["192.0.2.9, 192.0.2.1"], "192.0.2.1"),
        ("10.0.0.1", ["192.0.2.9, 192.0.2.1, 10.0.0.2"], "192.0.2.1"),
        ("10.0.0.1", ["192.0.2.9", "192.0.2.1 ,\t10.0.0.2"], "192.0.2.1"), ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["192.0.2.1, nonsense"], "10.0.0.1"), ("10.0.0.1", ["nonsense, 10.0.0.2"], "10.0.0.2"),
        ("10.0.0.1", ["192.0.2.1:4711"], "192.0.2.1"), ("10.0.0.1", ["[2001:db8::1]:4711"], "2001:db8::1"),
        ("10.0.0.1", ["2001:db8::1"], "2001:db8::1"), ("10.0.0.1", ["::ffff:192.0.2.1"], "192.0.2.1"),
        ("192.0.2.7", ["192.0.2.1"], "192.0.2.7"), ("10.0.0.1", ["fe80::1%eth0"], "fe80::1"),
        ("10.0.0.1", ["[fe80::1%25]:80"], "fe80::1"), ("10.0.0.1", ["192.0.2.9, , 192.0.2.1,"], "192.0.2.1"),
        // What a client has sent, and what the proxy has appended to it.
        ("10.0.0.1", ["[10.0.0.7]\u{600}, 192.0.2.1"], "192.0.2.1"),
        ("10.0.0.1", ["10.0.0.7\u{301}, 192.0.2.1"], "192.0.2.1"), ("10.0.0.1", ["[, 192.0.2.1"], "192.0.2.1"),
        ("10.0.0.1", ["192.0.2.9, 10.0.0.2\u{301}"], "10.0.0.1"),
    ])
    func `the client is the last that is not a trusted proxy`(peer: String, fields: [String], client: String) throws {
        #expect(try IPAddressTests.client(peer, fields) == IPAddress(client))
    }

    @Test(arguments: [
        "192.0.2.1:", "192.0.2.1:65536", "192.0.2.1:+80", "192.0.2.1:-0", "192.0.2.1:80:80", "[192.0.2.1]",
        "[2001:db8::1", "[2001:db8::1]80", "[2001:db8::1]x:80", "2001:db8::1]", "fe80::1%", "192.0.2.1%eth0",
        "fe80::1%a b",
        "192.0.2.1\u{301}", "192.0.2.1 192.0.2.2", "\"192.0.2.1\"", "unknown", "_hidden", "::ffff:192.0.2.1.9", "1",
    ])
    func `before an entry that is not exactly an address, the proxy is the client`(entry: String) throws {
        #expect(try IPAddressTests.client("10.0.0.1", ["192.0.2.9, \(entry)"]) == IPAddress("10.0.0.1"))
        #expect(try IPAddressTests.client("10.0.0.1", ["\(entry), 10.0.0.2"]) == IPAddress("10.0.0.2"))
        #expect(try IPAddressTests.client("10.0.0.1", ["\(entry), 192.0.2.1"]) == IPAddress("192.0.2.1"))
    }

    @Test func `a whole IPv6 network is one subscriber, and each IPv4 address is one`() throws {
        let (one, other) = (try #require(IPAddress("2001:db8::1")), try #require(IPAddress("2001:db8::2")))
        let (third, fourth) = (try #require(IPAddress("192.0.2.1")), try #require(IPAddress("192.0.2.2")))

        #expect(one != other && one.subscriber == other.subscriber)
        #expect(third.subscriber != fourth.subscriber)
    }
}
