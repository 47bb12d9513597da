import Foundation
import JSONCoding
import Testing
import TestSupport

/// Exported lines in which somebody has changed a number, as the commands and the server read them.
@Suite struct ForeignNumbersTests {
    let storage: StorageTests

    init() throws {
        storage = try StorageTests()
    }

    /// An exported record and answer of a session with everything that has numbers.
    private func export() async throws -> (session: StorageTests.Session, record: String, answer: String) {
        let (program, connection) = try await storage.serve()
        let session = try await storage.open(connection)
        for type in ["sheet", "cover", "pushFlow"] {
            _ = try await connection.request(
                "POST", "\(session.path)/events", headers: session.headers,
                body: Data(#"{"type":"\#(type)","payload":7}"#.utf8))
        }
        _ = try await storage.push(1, session, connection, key: "a-key")
        try await storage.stop(program)
        let lines = try await storage.run("sessions", "export").output.split(separator: "\n").map(String.init)
        return (session, lines[lines.count - 2], lines[lines.count - 1])
    }

    /// The places of the numbers in a line, up to the body of an answer.
    private static func numbers(in line: String) -> [Range<String.Index>] {
        let end = line.range(of: "\"body\":")?.lowerBound ?? line.endIndex
        return line[..<end].matches(of: /[:\[,](-?\d+)/).map { $0.output.1.startIndex..<$0.output.1.endIndex }
    }

    @Test func `no changed number crashes a command or the server`() async throws {
        let (session, record, answer) = try await export()
        let elsewhere = "sqlite:\(storage.directory.path)/elsewhere"
        var imported: [(id: String, change: String)] = []
        var refused = 0
        var count = 0
        for (line, others) in [(record, [answer]), (answer, [record])] {
            for place in ForeignNumbersTests.numbers(in: line) {
                for number in [Int.min, 1 << 53, .max - 1] {
                    count += 1
                    let id = "s_" + String(repeating: "0", count: 13 - "\(count)".count) + "\(count)"
                    let forged = line.replacingCharacters(in: place, with: "\(number)")
                    let lines = line == record ? [forged] + others : others + [forged]
                    let input = lines.joined(separator: "\n").replacingOccurrences(of: session.id, with: id) + "\n"
                    let result = try await storage.run("sessions", "import", input: input, store: elsewhere)
                    let change = "\(line[..<place.upperBound].suffix(30)) → \(number)"
                    if result.code == 0 { imported.append((id, change)) } else { refused += 1 }
                    #expect(result.code == 0 || (result.code == 65 && result.errors.contains("line ")), "\(change)")
                }
            }
        }
        #expect(refused > 4 && imported.count > 50, "\(refused) \(imported.count)")

        #expect(try await storage.run("sessions", "list", store: elsewhere).code == 0)
        #expect(try await storage.run("sessions", "export", store: elsewhere).code == 0)
        for (id, change) in imported {
            #expect(try await storage.run("sessions", "show", id, store: elsewhere).code == 0, "\(change)")
        }
        let (program, connection) = try await storage.serve(elsewhere)
        for (id, change) in imported {
            let path = "/v1/sessions/\(id)"
            for (method, target, body) in [
                ("GET", path, ""), ("GET", "\(path)/history?before=\(Int.max)", ""),
                ("POST", "\(path)/events", #"{"type":"push","payload":2}"#), ("GET", "\(path)/history/1", ""),
                ("GET", "\(path)/coordinators", ""), ("DELETE", path, ""),
            ] {
                let answer = try await connection.request(
                    method, target, headers: session.headers, body: body.isEmpty ? nil : Data(body.utf8))
                // A number may make it a session of a newer version of the app.
                let isNewer = answer.status == 503 && answer.text.contains("newer-app")
                #expect(answer.status < 500 || isNewer, "\(method) \(target): \(change)")
            }
        }
        try await storage.stop(program)
    }

    @Test func `a session that is imported with a large version counts on from it`() async throws {
        let (session, record, _) = try await export()
        let elsewhere = "sqlite:\(storage.directory.path)/elsewhere"
        func version(_ number: Int) -> String {
            record.replacingOccurrences(of: #""version":5,"time""#, with: #""version":\#(number),"time""#) + "\n"
        }
        #expect(try await storage.run("sessions", "import", input: version(1 << 52 + 1), store: elsewhere).code == 65)
        #expect(try await storage.run("sessions", "import", input: version(1 << 52), store: elsewhere).code == 0)

        let (program, connection) = try await storage.serve(elsewhere)
        let answer = try await storage.push(2, session, connection)
        let history = try await connection.request("GET", "\(session.path)/history", headers: session.headers)
        try await storage.stop(program)

        #expect(answer.status == 200 && answer.headers["etag"] == "\"\(1 << 52 + 1)\"")
        #expect(
            history.text.contains(#""version":\#(1 << 52 + 1),"#) && history.text.contains(#""version":\#(1 << 52),"#))
        #expect(try await storage.run("sessions", "show", session.id, store: elsewhere).code == 0)
    }
}
