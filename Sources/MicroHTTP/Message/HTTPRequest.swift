/// A complete request. Immutable, and shared by all its readers.
public final class HTTPRequest: Sendable {
    public let id: RequestID
    public let method: String
    public let target: HTTPTarget
    public let headers: HTTPHeaders
    public let body: [UInt8]
    /// The address of the other end of the connection: the client, or a proxy.
    public let peer: IPAddress?
    private let connection: WatchedConnection?

    public convenience init(
        id: RequestID = RequestID(), method: String, target: HTTPTarget, headers: HTTPHeaders = [:], body: [UInt8] = [],
        peer: IPAddress? = nil
    ) {
        self.init(id: id, method: method, target: target, headers: headers, body: body, peer: peer, connection: nil)
    }

    init(
        id: RequestID, method: String, target: HTTPTarget, headers: HTTPHeaders, body: [UInt8], peer: IPAddress?,
        connection: WatchedConnection?
    ) {
        self.id = id
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
        self.peer = peer
        self.connection = connection
    }

    /// Whether the client has closed its side of the connection, and hardly waits for an answer. Asks the system.
    public var hasHungUp: Bool { connection?.hasHungUp ?? false }

    /// The client's address. Proxies append the address that they see to `X-Forwarded-For`; what precedes the last
    /// address that is not a proxy of ours may be forged.
    ///
    /// - Parameter proxies: the proxies whose entries are trusted.
    public func client(behind proxies: [IPNetwork]) -> IPAddress? {
        guard var client = peer, proxies.contains(where: { $0.contains(client) }) else { return peer }
        let hops = headers.values("X-Forwarded-For").flatMap { $0.split(separator: ",") }
        for hop in hops.reversed() {
            guard let address = IPAddress(forwarded: hop) else { break }
            client = address
            guard proxies.contains(where: { $0.contains(address) }) else { break }
        }
        return client
    }
}

extension IPAddress {
    /// An entry of `X-Forwarded-For`; some proxies write the port too: `192.0.2.1:4711`, `[2001:db8::1]:4711`.
    fileprivate init?(forwarded hop: Substring) {
        var text = hop[...]
        while text.first == " " || text.first == "\t" { text.removeFirst() }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        if text.first == "[" {
            text = text.dropFirst().prefix { $0 != "]" }
        } else if text.count(where: { $0 == ":" }) == 1 {
            text = text.prefix { $0 != ":" }
        }
        self.init(text)
    }
}
