import Foundation
import JSONCoding
import Testing
import TestSupport

/// Signing in and out as clients see it, and who is refused. The accounts are files, the server is the program.
@Suite(.serialized) struct SignInTests {
    private let storage: StorageTests

    init() throws {
        storage = try StorageTests()
    }

    /// A session of an app with a sign-in, and its current token.
    final class Visitor {
        let connection: Connection
        let path: String
        private(set) var token: String
        private let address: String?

        init(_ app: String, at port: Int, from address: String? = nil) async throws {
            connection = try Connection(port: port)
            self.address = address
            let created = try await connection.request(
                "POST", "/v1/sessions", headers: ["Content-Type": "application/json"],
                body: Data(#"{"app":"\#(app)"}"#.utf8))
            let body = try JSON(parsing: Array(created.body))
            path = "/v1/sessions/\(try #require(body["session"]?["id"]?.string))"
            token = try #require(body["token"]?.string)
        }

        func post(_ event: String, token other: String? = nil) async throws -> Answer {
            var headers = ["Authorization": "Bearer \(other ?? token)", "Content-Type": "application/json"]
            headers["X-Forwarded-For"] = address
            let answer = try await connection.request(
                "POST", "\(path)/events", headers: headers, body: Data(event.utf8))
            if let new = try JSON(parsing: Array(answer.body))["token"]?.string { token = new }
            return answer
        }

        func logIn(_ email: String, _ password: String) async throws -> Answer {
            try await post(#"{"type":"login","payload":{"email":"\#(email)","password":"\#(password)"}}"#)
        }

        func status(token: String) async throws -> Int {
            try await connection.request("GET", path, headers: ["Authorization": "Bearer \(token)"]).status
        }
    }

    private func serve(_ flags: String...) async throws -> (program: Program, port: Int) {
        let program = try Program(
            Program.server,
            ["serve", "--port", "0", "--store", storage.store, "--data-directory", storage.directory.path + "/apps"]
                + ServerTests.unhurried + flags)
        let line = try await program.line()
        return (program, try #require(line.firstMatch(of: /127\.0\.0\.1:(\d+)/).flatMap { Int($0.output.1) }))
    }

    private func visible(_ answer: Answer) throws -> String? {
        try JSON(parsing: Array(answer.body))["visible"]?["name"]?.string
    }

    @Test(arguments: [
        ("clean-login", [], #"{"type":"login","payload":"#, #"{"type":"logout"}"#),
        (
            "shop",
            [
                #"{"type":"product","payload":{"id":1}}"#, #"{"type":"addToCart"}"#,
                #"{"type":"selectTab","payload":{"tab":"cart"}}"#, #"{"type":"checkout"}"#,
            ], #"{"type":"submit","payload":"#, #"{"type":"signOut"}"#
        ),
    ])
    func `signing in and signing out each replace the token, and the old one is refused`(
        app: String, before: [String], signIn: String, signOut: String
    ) async throws {
        let (program, port) = try await serve("--development")
        let visitor = try await Visitor(app, at: port)
        for event in before { #expect(try await visitor.post(event).status == 200) }
        let first = visitor.token

        _ = try await visitor.post(signIn + #"{"email":"ann@example.com","password":"correct horse"}}"#)
        let second = visitor.token
        #expect(second != first)
        #expect(try await visitor.post(signOut, token: first).status == 401)
        #expect(try await visitor.status(token: first) == 401)
        #expect(try await visitor.post(signOut).status == 200)

        #expect(visitor.token != second)
        #expect(try await visitor.status(token: second) == 401)
        #expect(try await visitor.status(token: visitor.token) == 200)
        try await storage.stop(program)
    }

    @Test func `a link to the checkout of shop presents nothing twice, and an empty cart asks for no password`()
        async throws
    {
        let (program, port) = try await serve("--development")
        let visitor = try await Visitor("shop", at: port)
        let link = #"{"type":"open","payload":{"path":"/checkout"}}"#
        func shown(_ event: String) async throws -> String {
            let state = try JSON(parsing: Array(try await visitor.post(event).body))
            let flows = state["presented"]?.array?.map { $0["stack"]?.array?.first?["name"]?.string ?? "?" } ?? []
            return (flows + [state["alert"]?["title"]?.string].compactMap { $0 }).joined(separator: ", ")
        }

        #expect(try await shown(link) == "Your cart is empty")
        _ = try await visitor.post(#"{"type":"back"}"#)
        for event in [
            #"{"type":"selectTab","payload":{"tab":"home"}}"#, #"{"type":"product","payload":{"id":1}}"#,
            #"{"type":"addToCart"}"#,
        ] { #expect(try await shown(event) == "") }

        #expect(try await shown(link) == "signIn")
        #expect(try await shown(link) == "signIn")
        let right = #"{"type":"submit","payload":{"email":"ann@example.com","password":"correct horse"}}"#
        #expect(try await shown(right) == "address")
        #expect(try await shown(link) == "address")
        try await storage.stop(program)
    }

    @Test func `the development account cannot sign in after a restart without --development`() async throws {
        var (program, port) = try await serve("--development")
        var visitor = try await Visitor("clean-login", at: port)
        #expect(try visible(try await visitor.logIn("ann@example.com", "correct horse")) == "main")
        try await storage.stop(program)

        (program, port) = try await serve()
        visitor = try await Visitor("clean-login", at: port)
        let refused = try await visitor.logIn("ann@example.com", "correct horse")

        #expect(refused.status == 200 && refused.text.contains("Fail To Login"))
        #expect(try visible(refused) == "login")
        try await storage.stop(program)
    }

    @Test func `a stranger's wrong passwords do not lock out the owner, who has another address`() async throws {
        let (program, port) = try await serve("--development", "--trusted-proxy", "127.0.0.1")
        /// Guesses until one comes too soon after the others: the delay doubles up to a minute.
        func guess(as email: String) async throws -> [Answer] {
            let stranger = try await Visitor("clean-login", at: port, from: "192.0.2.1")
            var answers: [Answer] = []
            repeat {
                answers.append(try await stranger.logIn(email, "wrong"))
                _ = try await stranger.post(#"{"type":"answer","payload":{"button":"ok"}}"#)
            } while answers.last?.status == 200
            return answers
        }
        let answers = try await [guess(as: "ann@example.com"), guess(as: "nobody@example.com")]

        let owner = try await Visitor("clean-login", at: port, from: "192.0.2.2")

        #expect(try visible(try await owner.logIn("ann@example.com", "correct horse")) == "main")
        // The answers do not reveal whether there is such an account.
        let refusals = try answers.map { try #require($0.last) }
        for (all, refusal) in zip(answers, refusals) {
            #expect(all.count >= 4 && refusal.status == 429, "\(all.map(\.status))")
            let delay = try #require(refusal.headers["retry-after"].flatMap { Int($0) })
            #expect((1...60).contains(delay) && (all.count > 4 || delay == 1))
        }
        if refusals[0].headers["retry-after"] == refusals[1].headers["retry-after"] {
            #expect(try refusals[0].withoutRequestID() == refusals[1].withoutRequestID())
        }
        try await storage.stop(program)
    }

    @Test func `with the memory store nothing is written to the disk`() async throws {
        let directory = storage.directory.path + "/memory"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let server = try Program.server.path
        let command = "cd '\(directory)' && exec '\(server)' serve --port 0 --development --store memory"
        let program = try Program(URL(filePath: "/bin/bash"), ["-c", command])
        let line = try await program.line()
        let port = try #require(line.firstMatch(of: /127\.0\.0\.1:(\d+)/).flatMap { Int($0.output.1) })
        let visitor = try await Visitor("clean-login", at: port)

        #expect(try visible(try await visitor.logIn("ann@example.com", "correct horse")) == "main")
        try await storage.stop(program)

        #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == [])
    }
}
