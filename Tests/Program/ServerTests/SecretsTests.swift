import Foundation
import Testing
import TestSupport

/// Secrets planted wherever a request has room for one: none shows up in an answer, in a log or in a file.
@Suite struct SecretsTests {
    @Test func `no secret leaves the request that it came with`() async throws {
        let storage = try StorageTests()
        let (program, connection) = try await storage.serve(
            nil, ["--development", "--log-level", "trace", "--access-log", "all"])
        let session = try await storage.open(connection, app: "clean-login")
        let key = "canary-key-4f1d", password = "canary-password-90ab", cookie = "canary-cookie-77c2"
        let payload = "canary-payload-1e6b", member = "canary-member-c05d"
        var secrets = [
            try #require(session.headers["Authorization"]?.dropFirst("Bearer ".count)).description, key, password,
            cookie,
            payload, member,
        ]
        func post(_ body: String, _ target: String? = nil) async throws -> Answer {
            let headers = session.headers.merging(["Idempotency-Key": key, "Cookie": "session=\(cookie)"]) { $1 }
            return try await connection.request(
                "POST", target ?? "\(session.path)/events", headers: headers, body: Data(body.utf8))
        }

        var answers: [Answer] = []
        // A wrong password: an alert. The same key again, for something else: 422.
        answers.append(
            try await post(#"{"type":"login","payload":{"email":"ann@example.com","password":"\#(password)"}}"#))
        #expect(answers[0].status == 200)
        answers.append(try await post(#"{"type":"answer","payload":{"button":"\#(payload)"}}"#))
        #expect(answers[1].status == 422)
        for body in [
            #"{"type":"\#(payload)"}"#, #"{"type":"back","payload":{"\#(member)":"\#(payload)"}}"#,
            #"{"\#(member)":1}"#, #"{"type":"\#(payload)"#, #""\#(payload)""#,
        ] {
            let headers = session.headers.merging(["Cookie": cookie]) { $1 }
            answers.append(
                try await connection.request(
                    "POST", "\(session.path)/events", headers: headers, body: Data(body.utf8)))
        }
        // A short and plain name of a query parameter is repeated; its value is not, nor is a name like a token.
        for target in [
            "/v1/\(payload)", "/v1/apps/\(payload)", "\(session.path)/events?page=\(payload)",
            "\(session.path)/events?dryRun=\(payload)",
            "\(session.path)/events?\(member)\(String(repeating: "x", count: 32))=1",
        ] {
            answers.append(try await post("{}", target))
        }
        for path in [session.path, "\(session.path)/history", "\(session.path)/coordinators"] {
            answers.append(try await connection.request("GET", path, headers: session.headers))
        }
        #expect(answers.dropFirst().prefix(11).allSatisfy { (400..<500).contains($0.status) })
        // A pairing code, and the token that another device gets for it.
        let opened = try await post("{}", "\(session.path)/pairings")
        let code = try #require(try JSONDecoder().decode([String: String].self, from: opened.body)["code"])
        let paired = try await connection.request(
            "POST", "/v1/pairings", headers: ["Content-Type": "application/json"],
            body: Data(#"{"code":"\#(code)"}"#.utf8))
        let text = try #require(try JSONSerialization.jsonObject(with: paired.body) as? [String: Any])
        secrets += [code, try #require(text["token"] as? String)]
        answers.append(try await connection.request("GET", "\(session.path)/tokens", headers: session.headers))
        answers.append(try await connection.request("GET", "\(session.path)/history", headers: session.headers))
        answers.append(
            try await connection.request(
                "POST", "/v1/pairings", headers: ["Content-Type": "application/json"],
                body: Data(#"{"code":"\#(code)"}"#.utf8)))
        #expect(answers.suffix(3).map(\.status) == [200, 200, 404])
        program.signal(SIGTERM)
        let (_, output, errors) = try await program.exit()

        var places = answers.enumerated().map { ("answer \($0)", $1.text + "\($1.headers)") }
        places += [("output", output), ("log", errors)]
        let files = FileManager.default.enumerator(atPath: storage.directory.path)?.compactMap { $0 as? String } ?? []
        #expect(files.contains { $0.hasSuffix("sessions.sqlite") })
        for file in files {
            // As Latin-1, every byte is a character, so that binary files can be searched.
            let bytes = FileManager.default.contents(atPath: "\(storage.directory.path)/\(file)") ?? Data()
            places.append((file, String(data: bytes, encoding: .isoLatin1) ?? ""))
        }
        for (place, text) in places {
            for secret in secrets { #expect(!text.contains(secret), "\(secret) in \(place)") }
        }
    }
}
