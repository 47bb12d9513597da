import Foundation
import Testing
import TestSupport

/// A server with an admin port, and the metrics that it has there.
struct MeteredServer {
    let program: Program
    let connection: Connection
    let port: Int
    let admin: Int
    private let storage: StorageTests

    /// - Parameter flags: after those for ports and directories; a later `--store` counts.
    init(
        _ flags: [String] = [], storage: StorageTests? = nil, with server: URL? = nil,
        environment: [String: String] = [:]
    ) async throws {
        let storage = try storage ?? StorageTests()
        self.storage = storage
        // In memory, apps store no data.
        let data = flags.contains("memory") ? [] : ["--data-directory", storage.directory.path + "/apps"]
        program = try Program(
            try server ?? Program.server,
            ["serve", "--port", "0", "--admin-port", "0", "--store", storage.store] + ServerTests.unhurried + data
                + flags,
            environment: environment)
        let address = /http:\/\/127\.0\.0\.1:(\d+)/
        var line = try await program.line()
        port = try #require(line.firstMatch(of: address).flatMap { Int($0.output.1) })
        while !line.contains("metrics: ") { line = try await program.line() }
        admin = try #require(line.firstMatch(of: address).flatMap { Int($0.output.1) })
        connection = try Connection(port: port)
    }

    func scrape() async throws -> Scrape {
        Scrape(try await Connection(port: admin).request("GET", "/metrics").text)
    }

    func open(_ app: String = "numbers") async throws -> StorageTests.Session {
        try await storage.open(connection, app: app)
    }

    @discardableResult
    func post(
        _ body: String, _ session: StorageTests.Session, _ headers: [String: String] = [:], query: String = ""
    ) async throws -> Int {
        try await connection.request(
            "POST", "\(session.path)/events\(query)", headers: session.headers.merging(headers) { $1 },
            body: Data(body.utf8)
        ).status
    }

    @discardableResult
    func read(_ session: StorageTests.Session) async throws -> Int {
        try await connection.request("GET", session.path, headers: session.headers).status
    }

    func end(_ session: StorageTests.Session) async throws {
        #expect(try await connection.request("DELETE", session.path, headers: session.headers).status == 204)
    }

    func stop() async throws {
        program.signal(SIGTERM)
        #expect(try await program.end() == 0)
    }
}

/// Metrics at one moment.
struct Scrape {
    let text: String
    /// By name and labels, as they are written.
    let values: [String: Double]
    let names: Set<String>

    init(_ text: String) {
        self.text = text
        var values: [String: Double] = [:]
        var names: Set<String> = []
        for line in text.split(separator: "\n") {
            if line.hasPrefix("# TYPE ") { names.insert(String(line.split(separator: " ")[2])) }
            guard !line.hasPrefix("#"), let space = line.lastIndex(of: " ") else { continue }
            values[String(line[..<space])] = Double(line[line.index(after: space)...])
        }
        (self.values, self.names) = (values, names)
    }

    /// 0 for what there is not yet.
    subscript(name: String) -> Double { values[name] ?? 0 }
}

extension Connection {
    /// Sends equal requests without waiting for the answers in between, and ends the connection.
    ///
    /// - Returns: the statuses of the answers.
    func statuses(
        of count: Int, _ method: String, _ target: String, headers: [String: String] = [:], body: Data? = nil
    ) async throws -> [Int] {
        let request = Connection.bytes(method, target, headers: headers, body: body)
        let last = headers.merging(["Connection": "close"]) { $1 }
        let all =
            Data(repeatElement(request, count: count - 1).joined())
            + Connection.bytes(method, target, headers: last, body: body)
        // The server stops reading when nobody reads its answers.
        async let sending: Void = send(all)
        let answers = String(decoding: try await receiveAll(), as: UTF8.self)
        try await sending
        return answers.components(separatedBy: "HTTP/1.1 ").dropFirst().compactMap { Int($0.prefix(3)) }
    }
}
