import Coordinators
import Foundation
import JSONCoding
import Testing
import TestSupport

/// Says the same in German and in English, and offers each something of its own.
private struct ShelfCoordinator: Coordinator {
    enum Event: NavigationEvent, CaseIterable { case turn, sagen, say }
    var turns = 0

    func start(_ navigator: inout Navigator) { navigator.push(Screen("shelf", hasContent: true)) }

    mutating func handle(_ event: Event, _ navigator: inout Navigator) { turns += 1 }

    func render(_ screen: inout Screen, in context: NavigationContext) {
        screen.title = context.client.language == "de" ? "Seite \(turns)" : "Page \(turns)"
    }

    func isEnabled(_ event: Event, in context: NavigationContext) -> Bool {
        event == .turn || event == (context.client.language == "de" ? .sagen : .say)
    }

    func content(of screen: Screen, in context: ContentContext) async throws -> JSONObject {
        ["in": .string(context.client.language ?? "")]
    }
}

/// A phone in German and a TV in English: each gets the state drawn for itself, and may do what that shows.
@Suite struct SeveralDevicesTests {
    private let client: Client
    private let tv: String

    init() async throws {
        client = try await Client(App("shelf", root: { ShelfCoordinator() }))
        #expect(try await client.post(#"{"type":"describeClient","payload":{"locale":"de"}}"#).status == 200)
        let code = try await PairingTests.code(client)
        let paired = try await PairingTests.pair(client, #"{"code":"\#(code)","client":{"locale":"en"}}"#)
        let body = try JSON(parsing: Array(paired.body))
        tv = try #require(body["token"]?.string)
        #expect(body["visible"]?["title"] == "Page 0")
    }

    private func get(_ path: String, _ token: String, _ headers: [String: String] = [:]) async throws -> Answer {
        try await client.call("GET", client.path + path, token: token, headers: headers)
    }

    private func post(
        _ event: String, _ token: String, _ headers: [String: String] = [:], _ query: String = ""
    ) async throws -> Answer {
        let headers = ["Authorization": "Bearer \(token)", "Content-Type": "application/json"].merging(headers) { $1 }
        return try await client.connection.request(
            "POST", "\(client.path)/events\(query)", headers: headers, body: Data(#"{"type":"\#(event)"}"#.utf8))
    }

    private func title(_ answer: Answer) throws -> String? {
        try JSON(parsing: Array(answer.body))["visible"]?["title"]?.string
    }

    @Test func `answers and tags are of the device's own drawing, conditions of the state`() async throws {
        let (german, english) = (try await get("", client.token), try await get("", tv))
        #expect(try title(german) == "Seite 0" && title(english) == "Page 0")
        #expect(german.headers["etag"] == #""3""# && english.headers["etag"] == #""3@2""#)
        #expect(try await get("", tv, ["If-None-Match": #""3@2""#]).status == 304)
        #expect(try await get("", tv, ["If-None-Match": #""3""#]).status == 200, "the bytes of another drawing")

        let turned = try await post("turn", tv, ["If-Match": #""3@2""#])
        #expect(turned.status == 200 && turned.headers["etag"] == #""4""#)
        #expect(try title(turned) == "Page 1")
        #expect(try title(await get("", client.token)) == "Seite 1")
        #expect(try await get("", client.token).headers["etag"] == #""4@1""#)
        for tag in [#""4@2""#, #""4@9""#, #""4""#] {
            #expect(try await post("turn", client.token, ["If-Match": tag], "?dryRun=true").status == 200)
        }
        for tag in [#""3@1""#, #""4@0""#, #""4@01""#, #""4@-1""#, #""4@""#, #""4@x""#, #""4@1@1""#] {
            #expect(try await post("turn", client.token, ["If-Match": tag]).status == 412, "\(tag)")
        }
    }

    @Test func `contents, dry runs, past versions and refusals are too`() async throws {
        _ = try await post("turn", tv)
        for (token, language, own, other, words) in [
            (client.token, "de", "sagen", "say", "Seite"), (tv, "en", "say", "sagen", "Page"),
        ] {
            let content = try JSON(parsing: Array(try await get("/screens/k1/content", token).body))
            #expect(content["in"]?.string == language)
            #expect(try title(await post(own, token, [:], "?dryRun=true")) == "\(words) 2")
            #expect(try title(await get("/history/3", token)) == "\(words) 0")
            let refusal = try await post(other, token)
            let problem = try JSON(parsing: Array(refusal.body))
            #expect(refusal.status == 409 && problem["state"]?["visible"]?["title"]?.string == "\(words) 1")
            let events = problem["events"]?.array?.compactMap(\.string) ?? []
            #expect(events.contains(own) && !events.contains(other))
        }
        #expect(try title(await post("say", tv)) == "Page 2")
        #expect(try title(await post("sagen", client.token)) == "Seite 3")
    }

    @Test func `devices that say the same have the same tag, whichever looks first`() async throws {
        let code = try await PairingTests.code(client)
        let paired = try await PairingTests.pair(client, #"{"code":"\#(code)","client":{"locale":"en"}}"#)
        let third = try #require(try JSON(parsing: Array(paired.body))["token"]?.string)
        #expect(paired.headers["etag"] == #""4@2""#)
        for token in [third, tv] { #expect(try await get("", token).headers["etag"] == #""4@2""#) }
    }

    @Test func `a session is not ended on another version, and that is drawn for the device`() async throws {
        _ = try await post("turn", tv)
        let refused = try await client.call("DELETE", client.path, headers: ["If-Match": #""3""#])
        let problem = try JSON(parsing: Array(refused.body))
        #expect(refused.status == 412 && refused.headers["etag"] == #""4@1""#)
        #expect(problem["state"]?["visible"]?["title"] == "Seite 1")
    }

    @Test func `a tag names the same drawing in every answer`() async throws {
        _ = try await post("turn", tv)
        let own = try await get("", client.token)
        #expect(own.headers["etag"] == #""4@1""#)
        // It changes nothing, because it is what the phone has said before.
        let again = #"{"type":"describeClient","payload":{"locale":"de"}}"#
        let headers = [
            "Authorization": "Bearer \(client.token)", "Content-Type": "application/json",
            "Idempotency-Key": "described",
        ]
        for _ in 1...2 {
            let answer = try await client.connection.request(
                "POST", "\(client.path)/events", headers: headers, body: Data(again.utf8))
            #expect(try title(answer) == "Seite 1")
            #expect(answer.headers["etag"] == #""4@1""#)
        }
        #expect(try await get("/outcomes/described", client.token).headers["etag"] == #""4@1""#)

        let code = try await PairingTests.code(client)
        for _ in 1...2 {
            let paired = try await PairingTests.pair(
                client, #"{"code":"\#(code)","client":{"locale":"fr"}}"#, ["Idempotency-Key": "a-key-of-twenty-letters"]
            )
            #expect(paired.status == 201 && paired.headers["etag"] == #""5@3""#)
        }
        let revoked = try await client.call("DELETE", "\(client.path)/tokens/3")
        #expect(revoked.headers["etag"] == #""6@1""#)
        #expect(try await get("", client.token).headers["etag"] == #""6@1""#)
    }

    @Test func `looking makes no version`() async throws {
        for token in [tv, client.token, tv] { _ = try await get("", token) }
        #expect(try await client.version() == 3)
    }
}
