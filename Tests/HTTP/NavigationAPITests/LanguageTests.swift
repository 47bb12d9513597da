import Coordinators
import Foundation
import JSONCoding
import Testing
import TestSupport

private struct NameCoordinator: Coordinator {
    enum Event: NavigationEvent {
        case name(String), leave
        static let examples: [Event] = [.name("Ann"), .leave]
        var fields: [Field] { if case .name = self { [Field(title: "Name", minLength: 3)] } else { [] } }
    }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("name", events: ["name"])) }
    func handle(_ event: Event, _ navigator: inout Navigator) throws {
        if case .name("Nobody") = event { throw FieldError("", "Who is that?") }
    }
}

/// Problems in the user's language.
@Suite struct LanguageTests {
    private static let app = App(
        "names", root: { NameCoordinator() },
        words: { phrase, language in
            switch (phrase, language) {
            case (.problem("event-not-accepted"), "de"): "Das geht gerade nicht."
            case (.problem("unauthorized"), "de"): "Bitte neu anfangen."
            case (.fault(.minLength, let bound?), "de"): "Mindestens \(bound) Zeichen."
            case (.event(.relaunch), "de"): "Von vorn"
            default: nil
            }
        })

    private static let plain = "“events” lists what is accepted."

    private func post(_ event: String, _ languages: String, _ client: Client) async throws -> Answer {
        let headers = [
            "Authorization": "Bearer \(client.token)", "Content-Type": "application/json", "Accept-Language": languages,
        ]
        return try await client.connection.request(
            "POST", "\(client.path)/events", headers: headers, body: Data(event.utf8))
    }

    @Test(arguments: [
        ("de", "Das geht gerade nicht.", "de"), ("fr, de-AT;q=0.8, en;q=0.5", "Das geht gerade nicht.", "de"),
        ("en, de;q=0.5", plain, "en"), ("de;q=0, fr", plain, "en"), ("de;q=0.3,*;q=0.9", plain, "en"),
        ("fr", plain, "en"), (",;;q=x,-", plain, "en"),
    ]) func `a problem is in the language that the client accepts`(
        languages: String, detail: String, language: String
    ) async throws {
        let client = try await Client(LanguageTests.app)

        let answer = try await post(#"{"type":"leave"}"#, languages, client)

        let problem = try JSON(parsing: Array(answer.body))
        #expect(answer.status == 409)
        #expect(problem["type"] == "urn:coordinatord:problem:event-not-accepted")
        #expect(problem["detail"]?.string == detail)
        #expect(answer.headers["content-language"] == language)
        #expect(answer.headers["vary"] == "Accept-Language")
    }

    @Test func `faults of a form are in that language too, and a program reads their code`() async throws {
        let client = try await Client(LanguageTests.app)

        let answer = try await post(#"{"type":"name","payload":"x"}"#, "de", client)

        let fault = try JSON(parsing: Array(answer.body))["errors"]?.array?.first
        #expect(answer.headers["content-language"] == "en, de", "nobody has translated the detail of the problem")
        #expect(fault?["code"] == "minLength")
        #expect(fault?["detail"] == "Mindestens 3 Zeichen.")
    }

    @Test func `a value that the app refuses has the app's own words`() async throws {
        let client = try await Client(LanguageTests.app)

        let answer = try await post(#"{"type":"name","payload":"Nobody"}"#, "de", client)

        let problem = try JSON(parsing: Array(answer.body))
        #expect(answer.status == 422 && problem["type"] == "urn:coordinatord:problem:invalid-event")
        #expect(problem["detail"] == "The value at /payload is refused by the app.")
        #expect(problem["errors"] == [["pointer": "/payload", "code": "refused", "detail": "Who is that?"]])
    }

    @Test func `without Accept-Language it is the language of the session's client`() async throws {
        let client = try await Client(LanguageTests.app)
        let german = #"{"type":"describeClient","payload":{"locale":"de-DE"}}"#
        #expect(try await client.post(german).status == 200)

        let answer = try await client.post(#"{"type":"leave"}"#)
        let state = try await client.call("GET", "\(client.path)?include=controls")

        #expect(try JSON(parsing: Array(answer.body))["detail"] == "Das geht gerade nicht.")
        let controls = try JSON(parsing: Array(state.body))["controls"]?.array ?? []
        #expect(controls.first { $0["type"] == "relaunch" }?["title"] == "Von vorn")
        let faulty = try await client.post(#"{"type":"name","payload":"x"}"#)
        #expect(faulty.status == 422)
        #expect(try JSON(parsing: Array(faulty.body))["errors"]?.array?.first?["detail"] == "Mindestens 3 Zeichen.")
    }

    @Test func `who has no right to a session reads the words of the first app`() async throws {
        let client = try await Client(LanguageTests.app)

        let answer = try await client.call(
            "GET", client.path, token: "x", headers: ["Accept-Language": "de"])

        #expect(answer.status == 401)
        #expect(try JSON(parsing: Array(answer.body))["detail"] == "Bitte neu anfangen.")
    }

    @Test func `the problems of an app without words are in English, whatever is asked for`() async throws {
        let client = try await Client(App("plain", root: { NameCoordinator() }))

        let answer = try await post(#"{"type":"leave"}"#, "de", client)

        #expect(answer.headers["content-language"] == "en")
        #expect(answer.headers["vary"] == nil)
    }
}
