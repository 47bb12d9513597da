internal import Coordinators
@testable internal import CoordinatorsTesting
internal import Glibc
internal import JSONCoding
internal import Synchronization
internal import TestSupport

/// Mutated requests to a server on this machine: one on each connection, with valid ones before and after it, and many
/// connections at a time. The seed determines what a client sends, but not the answers.
struct RequestStorm {
    let port: Int
    /// How many mutated requests are sent.
    let count: Int
    let seed: UInt64

    private static let clients = 128

    struct Failure: Error, CustomStringConvertible { let description: String }

    /// - Throws: if the server is not healthy afterwards.
    func run() async throws {
        print("\(count) mutated requests from seed \(seed)")
        let requests = try await Requests()
        let statuses = try await withThrowingTaskGroup(of: [Int: Int].self) { group in
            for client in 0..<RequestStorm.clients {
                let share = count / RequestStorm.clients + (client < count % RequestStorm.clients ? 1 : 0)
                let seed = seed &+ UInt64(client)
                group.addTask { [port] in
                    try await blocking {
                        var client = StormClient(number: client, port: port, requests: requests, seed: seed)
                        try client.send(share)
                        return client.statuses
                    }
                }
            }
            return try await group.reduce(into: [:]) { $0.merge($1, uniquingKeysWith: +) }
        }
        let told = statuses.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
        print("answers by status: \(told.joined(separator: ", "))")
        let answer = try await Connection(port: port).request("GET", "/livez")
        guard answer.status == 200 else { throw Failure(description: "/livez answers \(answer.status)") }
    }
}

/// A client that opens its connections one after the other.
private struct StormClient {
    let number: Int
    let port: Int
    let requests: Requests
    private var mutator: Mutator
    private var session = Requests.Session(app: "tabs", id: "s_0000000000000", token: "none")
    private(set) var statuses: [Int: Int] = [:]

    /// How many connections use one session: soon few events fit its state.
    private static let sessionLife = 20

    init(number: Int, port: Int, requests: Requests, seed: UInt64) {
        self.number = number
        self.port = port
        self.requests = requests
        self.mutator = Mutator(seed: seed)
    }

    /// - Parameter count: how many connections to open.
    mutating func send(_ count: Int) throws {
        for connection in 0..<count {
            if connection % StormClient.sessionLife == 0 { try openSession() }
            var bytes: [UInt8] = []
            for _ in 0..<mutator.number(in: 0..<3) { bytes += anyRequest() }
            var mutated = anyRequest()
            mutator.mutate(&mutated, other: anyRequest())
            bytes += mutated
            if mutator.number(in: 0..<2) == 0 { bytes += anyRequest() }
            // Shorter than the server waits for bytes that it believes to be missing.
            let wire = try Wire(port: port, from: number, limit: 200_000)
            wire.send(bytes)
            if mutator.number(in: 0..<8) > 0 { wire.endSending() }
            // Some do not wait for the answer.
            if mutator.number(in: 0..<8) > 0 { note(wire.receive()) }
        }
    }

    private mutating func anyRequest() -> [UInt8] { requests.any(in: session, &mutator.numbers) }

    private mutating func openSession() throws {
        let app = requests.apps[mutator.number(in: 0..<requests.apps.count)]
        let wire = try Wire(port: port, from: number, limit: 600_000_000)
        wire.send(Array(Requests.creation(of: app).utf8))
        let answer = wire.receive()
        guard let end = answer.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound,
            let body = try? JSON(parsing: Array(answer[end...])), let token = body["token"]?.string,
            let id = body["session"]?["id"]?.string
        else { throw RequestStorm.Failure(description: "no session: \(String(decoding: answer, as: UTF8.self))") }
        session = Requests.Session(app: app, id: id, token: token)
    }

    private mutating func note(_ answers: [UInt8]) {
        let start = Array("HTTP/1.1 ".utf8)
        for index in answers.indices where answers[index] == start[0] && answers[index...].starts(with: start) {
            let status = Int(String(decoding: answers[(index + start.count)...].prefix(3), as: UTF8.self))
            if let status { statuses[status, default: 0] += 1 }
        }
    }
}

/// A connection.
private struct Wire: ~Copyable {
    private let socket: Int32

    /// - Parameters:
    ///   - number: the client's number. Each client has an address of its own, or the ports would run out.
    ///   - limit: how long to wait for the server, in microseconds.
    init(port: Int, from number: Int, limit: Int) throws {
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var time = timeval(tv_sec: limit / 1_000_000, tv_usec: limit % 1_000_000)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
        let own = Wire.call(bind, socket, "127.0.1.\(number + 1)", port: 0)
        let code = own == 0 ? Wire.call(connect, socket, "127.0.0.1", port: port) : own
        guard code == 0 else { throw RequestStorm.Failure(description: "cannot connect: errno \(errno)") }
    }

    deinit { close(socket) }

    private static func call(
        _ function: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32, _ socket: Int32, _ host: String, port: Int
    ) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        address.sin_addr.s_addr = inet_addr(host)
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                function(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    /// Sends as much as the server accepts.
    func send(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = Glibc.send(
                    socket, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count, Int32(MSG_NOSIGNAL))
                guard count > 0 else { return }
                rest = rest.dropFirst(count)
            }
        }
    }

    func endSending() { shutdown(socket, Int32(SHUT_WR)) }

    /// All that arrives until the server closes the connection, or is silent for too long.
    func receive() -> [UInt8] {
        var all: [UInt8] = []
        var bytes = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(socket, &bytes, bytes.count, 0)
            guard count > 0 else { return all }
            all += bytes[..<count]
        }
    }
}
