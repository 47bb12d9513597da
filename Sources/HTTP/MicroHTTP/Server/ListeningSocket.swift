// Both modules: CMicroHTTPD's header includes the system's socket headers, and which of the two owns their declarations
// depends on the build.
internal import CMicroHTTPD
internal import Glibc

/// Why a server cannot start.
public enum HTTPServerError: Error, Equatable, Sendable {
    /// No address is known for the host.
    case unknownHost(String)
    /// Another process listens there.
    case addressInUse(host: String, port: Int)
    /// The system refuses; `reason` is its error text.
    case cannotListen(host: String, port: Int, reason: String)
    /// libmicrohttpd refuses to start, or the system refuses the threads.
    case cannotStart(reason: String)

    static func cannotStart(_ code: CInt) -> HTTPServerError { .cannotStart(reason: String(cString: strerror(code))) }
}

extension HTTPServerError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unknownHost(let host): "no address is known for the host “\(host)”"
        case .addressInUse(let host, let port):
            "\(HTTPAuthority(host: host, port: port)) is in use by another process"
        case .cannotListen(let host, let port, let reason):
            "cannot listen on \(HTTPAuthority(host: host, port: port)): \(reason)"
        case .cannotStart(let reason): "the HTTP server cannot start: \(reason)"
        }
    }
}

/// A TCP socket that listens. The acceptor owns it, and closes it.
struct ListeningSocket {
    /// Connections that can wait to be accepted.
    static let backlog = SOMAXCONN

    let descriptor: CInt
    let port: Int

    init(host: String, port: Int) throws(HTTPServerError) {
        guard let service = UInt16(exactly: port) else {
            throw .cannotListen(host: host, port: port, reason: "a port is a number from 0 to 65535")
        }
        var hints = addrinfo()
        hints.ai_flags = AI_PASSIVE
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, String(service), &hints, &found) == 0, let address = found?.pointee else {
            throw .unknownHost(host)
        }
        defer { freeaddrinfo(found) }

        let type = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue) | CInt(SOCK_NONBLOCK.rawValue)
        descriptor = socket(address.ai_family, type, 0)
        // A server that was just stopped leaves connections in TIME_WAIT; this lets the next server use the port.
        var reuse: CInt = 1
        guard descriptor >= 0,
            setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &reuse, socklen_t(MemoryLayout<CInt>.size)) == 0,
            bind(descriptor, address.ai_addr, address.ai_addrlen) == 0,
            listen(descriptor, ListeningSocket.backlog) == 0
        else {
            let code = errno
            if descriptor >= 0 { close(descriptor) }
            if code == EADDRINUSE { throw .addressInUse(host: host, port: port) }
            throw .cannotListen(host: host, port: port, reason: String(cString: strerror(code)))
        }
        self.port = ListeningSocket.boundPort(of: descriptor) ?? port
    }

    private static func boundPort(of descriptor: CInt) -> Int? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutableBytes(of: &storage) { bytes -> Int? in
            guard let base = bytes.baseAddress,
                getsockname(descriptor, base.assumingMemoryBound(to: sockaddr.self), &length) == 0
            else { return nil }
            // The port is at the same offset for both families, in network order.
            return Int(bytes[2]) << 8 | Int(bytes[3])
        }
    }
}

// The end of listening.
extension ListeningSocket {
    /// Makes the system drop further attempts to connect, so that all connections that wait can be accepted and none is
    /// lost. A client that connects meanwhile gets no reply, tries again after a second, and is then refused.
    func dropConnectionAttempts() {
        // TCP's flags are in the fourteenth byte of its header. A packet with SYN and without ACK begins a connection,
        // and is dropped.
        let steps = [
            FilterStep(code: 0x30, number: 13),  // load the byte
            FilterStep(code: 0x54, number: 0x12),  // keep only SYN and ACK
            FilterStep(code: 0x15, otherwise: 1, number: 0x02),  // unless it is SYN alone, skip the next step
            FilterStep(code: 0x06, number: 0),  // drop the packet
            FilterStep(code: 0x06, number: .max),  // accept all of it
        ]
        steps.withUnsafeBufferPointer { steps in
            var filter = Filter(count: UInt16(steps.count), steps: steps.baseAddress)
            setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &filter, socklen_t(MemoryLayout<Filter>.size))
        }
    }

    /// `sock_filter` of linux/filter.h, which Glibc's module lacks: an instruction of the system's packet filter.
    private struct FilterStep {
        var code: UInt16
        var then: UInt8 = 0
        var otherwise: UInt8 = 0
        var number: UInt32
    }

    /// `sock_fprog`.
    private struct Filter {
        var count: UInt16
        var steps: UnsafePointer<FilterStep>?
    }
}
