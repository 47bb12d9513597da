import Coordinators
import Foundation
import MicroHTTP
import Testing
import TestSupport

@Suite struct DocumentTests {
    @Test(arguments: [
        "/openapi.yaml", "/problems", "/problems/overloaded", "/v1/apps", "/v1/apps/counter",
    ])
    func `a document that the client has is not sent again`(path: String) async throws {
        let client = try await Client()
        let first = try await client.connection.request("GET", path)
        let tag = try #require(first.headers["etag"])
        #expect(first.status == 200 && first.headers["cache-control"] == "no-cache")

        for method in ["GET", "HEAD"] {
            for known in [tag, "W/\(tag)", "\"x\", \(tag)", "*"] {
                let again = try await client.connection.request(method, path, headers: ["If-None-Match": known])
                #expect(again.status == 304 && again.body.isEmpty)
                #expect(again.headers["etag"] == tag && again.headers["cache-control"] == "no-cache")
                #expect(again.headers["x-content-type-options"] == "nosniff" && again.headers["date"] != nil)
                #expect(again.headers["content-length"] == nil && again.headers["content-type"] == nil)
            }
        }
        let other = try await client.connection.request("GET", path, headers: ["If-None-Match": "\"x\""])
        let head = try await client.connection.request("HEAD", path)
        #expect(other.status == 200 && other.body == first.body && other.headers["date"] != nil)
        #expect(head.status == 200 && head.headers["etag"] == tag)
        #expect(head.headers["content-length"] == "\(first.body.count)")
    }

    @Test func `an app's tag changes with the app, and with nothing else`() async throws {
        func tags(version: Int) async throws -> [String?] {
            let client = try await Client(App("counter", version: version, root: { CounterCoordinator() }))
            return [
                try await client.connection.request("GET", "/v1/apps").headers["etag"],
                try await client.connection.request("GET", "/v1/apps/counter").headers["etag"],
            ]
        }

        let first = try await tags(version: 1)
        let same = try await tags(version: 1)
        let next = try await tags(version: 2)

        #expect(first == same && first[0] == next[0] && first[1] != next[1])
    }
}
