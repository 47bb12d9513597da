internal import ByteText

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

    package init(
        id: RequestID = RequestID(), method: String, target: HTTPTarget, headers: HTTPHeaders = [:], body: [UInt8] = [],
        peer: IPAddress? = nil, connection: WatchedConnection? = nil
    ) {
        self.id = id
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
        self.peer = peer
        self.connection = connection
    }

    /// Whether the client has closed its side of the connection, and so probably waits for no answer. Asks the system.
    public var hasHungUp: Bool { connection?.hasHungUp ?? false }

    /// The client's address: the peer's, unless the peer is a trusted proxy; then the last address in `X-Forwarded-For`
    /// that is not a trusted proxy. Each proxy appends the address that it sees, so the entries before that one may be
    /// forged. If an entry is not an address, the proxy that sent it counts as the client.
    ///
    /// - Parameter proxies: the proxies whose entries are trusted.
    public func client(behind proxies: [IPNetwork]) -> IPAddress? {
        peer.map { headers.client(of: $0, behind: proxies) }
    }
}

extension HTTPHeaders {
    /// See `HTTPRequest.client`.
    func client(of peer: IPAddress, behind proxies: [IPNetwork]) -> IPAddress {
        var client = peer
        guard proxies.contains(where: { $0.contains(client) }) else { return peer }
        let hops = values("X-Forwarded-For").flatMap { $0.parts(at: ",") }.map(\.trimmed)
        for hop in hops.reversed() where !hop.isEmpty {
            guard let address = IPAddress(forwarded: hop) else { break }
            client = address
            guard proxies.contains(where: { $0.contains(address) }) else { break }
        }
        return client
    }
}

extension IPAddress {
    /// An entry of `X-Forwarded-For`: an address, in brackets or not, with or without a port and a zone (RFC 4007,
    /// section 11): `192.0.2.1`, `192.0.2.1:4711`, `2001:db8::1`, `[2001:db8::1]:4711`, `fe80::1%eth0`.
    fileprivate init?(forwarded hop: Substring) {
        var (address, port) = (hop, "0"[...])
        if hop.begins(with: "[") {
            guard let (inside, rest) = hop.dropFirst().cut(at: "]"), inside.has(":") else { return nil }
            guard rest.isEmpty || rest.begins(with: ":") else { return nil }
            (address, port) = (inside, rest.isEmpty ? port : Substring(rest.utf8.dropFirst()))
        } else if let (host, rest) = hop.cut(at: ":"), !rest.has(":") {
            guard !host.has("%") else { return nil }
            (address, port) = (host, rest)
        }
        if let (host, zone) = address.cut(at: "%") {
            guard host.has(":"), !zone.isEmpty,
                zone.utf8.allSatisfy({ $0.isASCIIAlphanumeric || "-._~".utf8.contains($0) })
            else { return nil }
            address = host
        }
        guard let port = port.natural, port <= 65_535 else { return nil }
        self.init(address)
    }
}
