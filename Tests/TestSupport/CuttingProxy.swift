internal import Foundation
internal import Glibc
internal import Synchronization

/// Forwards TCP connections to a server on this machine, and cuts them where a test wants it.
public final class CuttingProxy: Sendable {
    public enum Direction: Sendable { case toServer, toClient }

    /// Held by the connections' threads, too.
    private final class Shared: Sendable {
        let state = Mutex(State())
    }

    private struct State {
        /// How many more bytes pass in that direction before the connection is cut.
        var cut: (direction: Direction, bytes: Int)?
        var isClosed = false
        /// How many bytes have passed.
        var passed: [Direction: Int] = [:]
    }

    private let listener: Int32
    private let target: Int
    private let shared = Shared()
    /// On 127.0.0.1.
    public let port: Int

    public init(to target: Int) throws {
        self.target = target
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = CuttingProxy.address(0)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = listener
        let isListening = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, size) == 0 && getsockname(listener, address, &size) == 0
                    && listen(listener, 64) == 0
            }
        }
        guard isListening else { throw TestFailure("the proxy cannot listen: errno \(errno)") }
        port = Int(UInt16(bigEndian: address.sin_port))
        let shared = shared
        Thread.detachNewThread { CuttingProxy.serve(listener, target, shared) }
    }

    deinit {
        shared.state.withLock { $0.isClosed = true }
        shutdown(listener, Int32(SHUT_RDWR))
    }

    /// Lets `bytes` more bytes pass in one direction, of all connections together, and then cuts the connection that
    /// they pass on. The connections after it are whole.
    public func cut(after bytes: Int, _ direction: Direction) { shared.state.withLock { $0.cut = (direction, bytes) } }

    /// How many bytes have passed since it was asked last.
    public func passed(_ direction: Direction) -> Int {
        shared.state.withLock { $0.passed.removeValue(forKey: direction) ?? 0 }
    }

    // MARK: - Connections

    private static func address(_ port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    private static func serve(_ listener: Int32, _ target: Int, _ shared: Shared) {
        while true {
            let client = accept(listener, nil, nil)
            // Clients may have given up before it comes to them.
            if client < 0, errno == EINTR || errno == ECONNABORTED { continue }
            guard client >= 0 else { break }
            let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            for end in [client, server] {
                var isOn: Int32 = 1
                setsockopt(end, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<Int32>.size))
            }
            var address = address(target)
            let result = withUnsafePointer(to: &address) { address in
                address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                    connect(server, address, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            Thread.detachNewThread {
                if result == 0 { forward(client, server, shared) }
                close(client)
                close(server)
            }
        }
        close(listener)
    }

    /// Until one end is closed, or a cut happens.
    private static func forward(_ client: Int32, _ server: Int32, _ shared: Shared) {
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
            if shared.state.withLock({ $0.isClosed }) { return }
            var ends = [client, server].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            guard poll(&ends, 2, 20) >= 0 || errno == EINTR else { return }
            for (index, end) in ends.enumerated() where end.revents != 0 {
                let direction = index == 0 ? Direction.toServer : .toClient
                let count = recv(end.fd, &buffer, buffer.count, 0)
                guard count > 0 else { return }
                let (passing, isCut) = shared.state.withLock { state -> (Int, Bool) in
                    guard let cut = state.cut, cut.direction == direction else {
                        state.passed[direction, default: 0] += count
                        return (count, false)
                    }
                    state.cut = count < cut.bytes ? (direction, cut.bytes - count) : nil
                    return (min(count, cut.bytes), count >= cut.bytes)
                }
                var sent = 0
                while sent < passing {
                    let more = buffer.withUnsafeBytes { bytes in
                        send(
                            ends[1 - index].fd, bytes.baseAddress.map { $0 + sent }, passing - sent, Int32(MSG_NOSIGNAL)
                        )
                    }
                    guard more > 0 else { return }
                    sent += more
                }
                if isCut { return }
            }
        }
    }
}
