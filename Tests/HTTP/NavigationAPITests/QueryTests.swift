import Foundation
import JSONCoding
import Testing
import TestSupport

@Suite struct QueryTests {
    @Test(arguments: [
        ("POST", "/events?dryRun=maybe", "dryRun must be true or false."),
        ("POST", "/events?dryRun", "dryRun must be true or false."),
        ("POST", "/events?dryRun=true&dryRun=true", "dryRun must be given once."),
        ("POST", "/events?dryrun=true", "The query parameter “dryrun” is unknown; this request takes dryRun, include."),
        ("GET", "/history?limit=0", "limit must be an integer from 1 to 100."),
        ("GET", "/history?limit=101", "limit must be an integer from 1 to 100."),
        ("GET", "/history?before=x", "before must be an integer from 1."),
        ("GET", "/history?before=0", "before must be an integer from 1."),
        ("GET", "/history?after=1", "The query parameter “after” is unknown; this request takes limit, before."),
        ("GET", "?limit=1", "The query parameter “limit” is unknown; this request takes include."),
        ("DELETE", "?now", "The query parameter “now” is unknown; this request takes none."),
        ("GET", "/coordinators?=x", "A query parameter is unknown; this request takes none."),
    ])
    func `a query that is not described is refused, with what is`(method: String, path: String, detail: String)
        async throws
    {
        let client = try await Client()

        let answer = try await client.call(method, "\(client.path)\(path)")

        try await client.expect(answer, 400, "invalid-request")
        #expect(try JSON(parsing: Array(answer.body))["detail"] == .string(detail))
    }

    @Test(arguments: [
        ("x", true), ("a-b_c.9", true), (String(repeating: "x", count: 32), true),
        (String(repeating: "x", count: 33), false), ("x%0A", false), ("%22x", false), ("x:y", false), ("%C3%A9", false),
        ("%E2%84%AA", false), ("x%3Cb%3E", false),
    ])
    func `only a short and plain name is repeated`(name: String, isNamed: Bool) async throws {
        let client = try await Client()

        let answer = try await client.call("GET", "\(client.path)/history?\(name)=secret")

        let subject = isNamed ? "The query parameter “\(name)”" : "A query parameter"
        let detail = "\(subject) is unknown; this request takes limit, before."
        #expect(try JSON(parsing: Array(answer.body))["detail"] == .string(detail))
    }

    @Test(arguments: [
        "/livez", "/readyz", "/openapi.yaml", "/problems", "/problems/overloaded", "/v1/apps",
        "/v1/apps/counter",
    ])
    func `where no query has a meaning, every query is ignored`(path: String) async throws {
        let client = try await Client()
        let plain = try await client.connection.request("GET", path)

        let answer = try await client.connection.request("GET", "\(path)?utm_source=x&dryRun=maybe&x&x")

        #expect(answer.status == 200 && answer.body == plain.body)
    }
}
