internal import ByteText

/// A server's host and port, written as in URLs and `Host`: an IPv6 address is in brackets (RFC 3986, section 3.2.2).
public struct HTTPAuthority: Sendable, Equatable, CustomStringConvertible {
    public let host: String
    public let port: Int

    public init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    public var description: String { host.has(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
