import Coordinators
import Foundation
import JSONCoding
import MicroHTTP
import NavigationAPI
import Sessions
import Testing
import TestSupport

@Suite struct BasePathTests {
    @Test(arguments: ["/nav", "/a/b-c/~d", "/v2", "/v1/navigation", "/.well-known"])
    func `a path that needs no escape can be a base path`(text: String) throws {
        #expect(BasePath(text)?.segments == text.split(separator: "/").map(String.init))
    }

    @Test(arguments: [
        "", "/", "nav", "/nav/", "//nav", "/a//b", "/a/../b", "/.", "/a b", "/%61", "/é", "/nav?x", "/nav#x", "*",
        "http://x/nav", "/v1", "/v1/sessions", "/v1/sessions/x", "/v1/apps/x", "/livez", "/problems", "/openapi.yaml",
    ])
    func `a path that needs an escape, or that the API has itself, cannot`(text: String) {
        #expect(BasePath(text) == nil)
    }

    @Test func `requests are answered with the base path and without it, and paths in answers have it`() async throws {
        let client = try await Client(basePath: "/shop/nav")
        _ = try await client.post(OnceTests.add)
        func answer(_ method: String, _ path: String) async throws -> Answer { try await client.call(method, path) }

        for prefix in ["", "/shop/nav"] {
            let created = try await answer("POST", "\(prefix)/v1/sessions")
            let id = try #require(try JSON(parsing: Array(created.body))["session"]?["id"]?.string)
            #expect(created.headers["location"] == "/shop/nav/v1/sessions/\(id)")
            #expect(try await answer("GET", "\(prefix)\(client.path)").status == 200)
            let history = try await answer("GET", "\(prefix)\(client.path)/history?limit=1")
            let next = try #require(try JSON(parsing: Array(history.body))["next"]?.string)
            #expect(next == "/shop/nav\(client.path)/history?limit=1&before=2")
            #expect(try await answer("GET", next).status == 200)
            #expect(try await answer("GET", "\(prefix)/v1/apps/counter").status == 200)
            #expect(try await answer("GET", "\(prefix)/problems/overloaded").status == 200)
            #expect(try await answer("GET", "\(prefix)/readyz").status == 200)
            #expect(try await answer("OPTIONS", "\(prefix)/livez").headers["allow"] == "GET, HEAD, OPTIONS")
        }
        for path in [
            "/shop/nav", "/shop/nav/", "/shop", "/shop/nav/shop/nav/livez", "/shop/navigation/livez", "/nav/livez",
            "/shop/nav//livez",
        ] {
            try await answer("GET", path).expect(404, "unknown-path")
        }
    }

    @Test func `pages of other origins, and the log, find paths below the base path`() async throws {
        let reports = ServerFailureTests.Reports()
        let client = try await Client(
            origins: [CrossOriginTests.origin], reports: reports, basePath: "/nav")
        let preflight = CrossOriginTests.preflight.merging(["Origin": CrossOriginTests.origin]) { $1 }

        let asked = try await client.connection.request("OPTIONS", "/nav/v1/sessions", headers: preflight)
        #expect(asked.headers["access-control-allow-methods"] == "POST, OPTIONS")

        // The server itself refuses what is still under way when it stops.
        let headers = ["Authorization": "Bearer \(client.token)", "Content-Type": "application/json"]
        try await client.connection.send(
            Connection.bytes("POST", "/nav\(client.path)/events", headers: headers, body: Data(Client.stall.utf8)))
        _ = try await client.answerAtStop()
        #expect(reports.all.map(\.session?.text) == [client.id])
    }
}
