internal import ByteText
internal import CMicroHTTPD
internal import Glibc

/// An IPv6 address, or an IPv4 address mapped to IPv6: `::ffff:192.0.2.1` (RFC 4291, section 2.5.5.2).
public struct IPAddress: Sendable, Hashable {
    /// 128 bits, in two halves.
    private let network: UInt64
    private let host: UInt64

    private static let mappedPrefix: UInt64 = 0xFFFF << 32

    private init(network: UInt64, host: UInt64) {
        self.network = network
        self.host = host
    }

    private init(_ address: in_addr) {
        self.init(network: 0, host: IPAddress.mappedPrefix | UInt64(UInt32(bigEndian: address.s_addr)))
    }

    private init(_ address: in6_addr) {
        let (network, host) = withUnsafeBytes(of: address) {
            ($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        }
        self.init(network: UInt64(bigEndian: network), host: UInt64(bigEndian: host))
    }

    /// - Parameter text: `192.0.2.1` or `2001:db8::1`.
    public init?(_ text: some StringProtocol) {
        // C would read only what precedes the NUL.
        guard !text.has("\0") else { return nil }
        let text = String(text)
        var (old, new) = (in_addr(), in6_addr())
        if inet_pton(AF_INET, text, &old) == 1 {
            self.init(old)
        } else if inet_pton(AF_INET6, text, &new) == 1 {
            self.init(new)
        } else {
            return nil
        }
    }

    /// The address of the client at the other end; `::` if it has none.
    ///
    /// - Parameter connection: read during the call only.
    init(clientOf connection: OpaquePointer) {
        let address = UnsafeRawPointer(CMicroHTTPD_client_address(connection))
        if let address, address.load(as: sockaddr.self).sa_family == AF_INET {
            self.init(address.load(as: sockaddr_in.self).sin_addr)
        } else if let address, address.load(as: sockaddr.self).sa_family == AF_INET6 {
            self.init(address.load(as: sockaddr_in6.self).sin6_addr)
        } else {
            self.init(network: 0, host: 0)
        }
    }

    private var isMapped: Bool { network == 0 && host >> 32 == IPAddress.mappedPrefix >> 32 }

    /// What one subscriber is assigned: an IPv4 address, or a network of 2⁶⁴ IPv6 addresses (RFC 6177).
    public var subscriber: IPAddress { isMapped ? self : IPAddress(network: network, host: 0) }

    /// `192.0.2.1` or `2001:db8::1`.
    public var text: String {
        let bytes = [network, host].flatMap { half in (0..<8).map { UInt8(truncatingIfNeeded: half >> (56 - 8 * $0)) } }
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        // Cannot fail: the family is known, and there is room.
        if isMapped {
            inet_ntop(AF_INET, Array(bytes[12...]), &text, socklen_t(text.count))
        } else {
            inet_ntop(AF_INET6, bytes, &text, socklen_t(text.count))
        }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// 128 bits, in two halves.
    package var bits: (UInt64, UInt64) { (network, host) }

    /// Whether the first bits of both addresses are the same.
    fileprivate func isEqual(to other: IPAddress, bits: Int) -> Bool {
        // Shifts by 64 or more yield 0.
        (network ^ other.network) >> max(0, 64 - bits) == 0 && (host ^ other.host) >> (128 - max(64, bits)) == 0
    }
}

/// Addresses with a common prefix: `10.0.0.0/8`, `2001:db8::/32`, or one address.
public struct IPNetwork: Sendable, Equatable {
    private let address: IPAddress
    private let bits: Int

    public init?(_ text: String) {
        let parts = text.parts(at: "/", limit: 2)
        guard let address = IPAddress(parts[0]) else { return nil }
        let size = parts[0].has(":") ? 128 : 32
        let bits = parts.count > 1 ? parts[1].natural : size
        guard let bits, (0...size).contains(bits) else { return nil }
        self.address = address
        self.bits = bits + 128 - size
    }

    public func contains(_ other: IPAddress) -> Bool {
        address.isEqual(to: other, bits: bits)
    }
}
