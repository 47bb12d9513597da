internal import Foundation
internal import Glibc
internal import Synchronization

/// A stretch of network between clients and a server on this machine: a port that forwards to another one, and that
/// loses packets, or is cut, when a test wants that.
public final class NetworkLink: Sendable {
    public enum Condition: Sendable {
        case whole
        /// Nothing arrives, in either direction; nobody is told.
        case partitioned
        /// What clients send does not arrive; what the server sends does.
        case deafServer
        /// What the server sends does not arrive; what clients send does.
        case deafClients
    }

    private struct State {
        var condition = Condition.whole
        var target: Int
        var sockets: Set<Int32> = []
        var hasEnded = false
    }

    public let port: Int
    private let listener: Int32
    private let state: Mutex<State>

    /// - Parameter target: the server's port.
    public init(to target: Int) throws {
        state = Mutex(State(target: target))
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        self.listener = listener
        var address = NetworkLink.address(0)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, size) == 0 && listen(listener, 64) == 0 && getsockname(listener, $0, &size) == 0
            }
        }
        guard isBound else { throw TestFailure("cannot listen: errno \(errno)") }
        port = Int(UInt16(bigEndian: address.sin_port))
        Thread.detachNewThread { [self] in accept() }
    }

    /// Ends the link and all connections over it. It does not end by itself: its threads hold it.
    public func close() {
        state.withLock { $0.hasEnded = true }
        shutdown(listener, Int32(SHUT_RDWR))
        cut()
    }

    /// The server's port.
    public var target: Int { state.withLock(\.target) }

    /// Leads further connections to another server. Those that there are stay as they are.
    public func lead(to target: Int) { state.withLock { $0.target = target } }

    public func set(_ condition: Condition) { state.withLock { $0.condition = condition } }

    /// Ends all connections.
    public func cut() {
        state.withLock { state in for socket in state.sockets { shutdown(socket, Int32(SHUT_RDWR)) } }
    }

    private static func address(_ port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    private func accept() {
        while true {
            let client = Glibc.accept(listener, nil, nil)
            // Clients may have given up before it comes to them.
            if client < 0, errno == EINTR || errno == ECONNABORTED { continue }
            guard client >= 0 else { break }
            let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var address = NetworkLink.address(state.withLock(\.target))
            let isConnected = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                }
            }
            let isWanted = state.withLock { state in
                guard isConnected, !state.hasEnded else { return false }
                state.sockets.formUnion([client, server])
                return true
            }
            guard isWanted else {
                Glibc.close(client)
                Glibc.close(server)
                continue
            }
            let ends = Ends(client, server)
            Thread.detachNewThread { [self] in forward(ends, fromClient: true) }
            Thread.detachNewThread { [self] in forward(ends, fromClient: false) }
        }
        Glibc.close(listener)
    }

    /// The two sockets of a connection, closed when both directions have ended.
    private final class Ends: Sendable {
        let client: Int32
        let server: Int32
        init(_ client: Int32, _ server: Int32) { (self.client, self.server) = (client, server) }
        deinit {
            Glibc.close(client)
            Glibc.close(server)
        }
    }

    private func forward(_ ends: Ends, fromClient: Bool) {
        let (source, target) = fromClient ? (ends.client, ends.server) : (ends.server, ends.client)
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(source, &buffer, buffer.count, 0)
            // What is lost in a partition is sent again when it has ended, as TCP does it.
            while count > 0, isLosing(fromClient), !state.withLock(\.hasEnded) { usleep(10_000) }
            guard count > 0, send(target, buffer, count, Int32(MSG_NOSIGNAL)) == count else { break }
        }
        // The end of a connection is a packet, too.
        while isLosing(fromClient), !state.withLock(\.hasEnded) { usleep(10_000) }
        state.withLock { _ = $0.sockets.remove(source) }
        shutdown(source, Int32(SHUT_RDWR))
        shutdown(target, Int32(SHUT_RDWR))
    }

    private func isLosing(_ fromClient: Bool) -> Bool {
        switch state.withLock(\.condition) {
        case .whole: false
        case .partitioned: true
        case .deafServer: fromClient
        case .deafClients: !fromClient
        }
    }
}
