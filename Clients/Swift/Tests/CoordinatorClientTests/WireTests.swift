import Foundation
import Testing

@testable import CoordinatorClient

@Suite struct WireTests {
    @Test func `numbers keep every digit`() throws {
        let text = #"[1,-2.5,9007199254740993,18446744073709551615,12345678901234567890.12345,0.1,1e+300]"#

        let value = try #require(JSONValue(parsing: text))

        #expect(value.description == text)
        #expect(value.array?[1] == .number(-2.5))
        #expect(value.array?[2] == .integer(9_007_199_254_740_993))
    }

    @Test func `what a later server adds fails nothing`() throws {
        let state = try NavigationState.example(
            more: #""new": 1, "back": {"effect": "fly", "wings": 2}, "transition": {"operations": [{"op": "spin"}]},"#)

        #expect(state.back?.effect == .unknown)
        #expect(state.transition == nil)
    }

    @Test(arguments: [
        "<html>", #"{"type": "about:blank", "status": 502, "title": "Bad"}"#, #"{"type": "urn:coord"#, "",
    ])
    func `an error that is not the server's own says nothing`(body: String) {
        let answer = Answer(status: 502, headers: [:], body: Data(body.utf8))

        #expect(throws: (any Error).self) { try answer.decoded(as: NavigationState.self) }
        #expect((try? JSONDecoder.ofAPI.decode(Problem.self, from: answer.body)) == nil)
    }

    @Test func `a problem says what does not fit, and whether the session is over`() throws {
        let text = #"""
            {"type": "urn:coordinatord:problem:token-revoked", "title": "T", "status": 401,
             "errors": [{"pointer": "/payload/a~1b", "code": "type", "detail": "D"}]}
            """#

        let problem = try JSONDecoder.ofAPI.decode(Problem.self, from: Data(text.utf8))

        #expect(problem.end == .tokenRevoked)
        #expect(problem.errors.map(\.field) == ["a/b"])
    }

    @Test func `messages of a stream are read from any pieces`() throws {
        let text = ": hello\n\nretry: 1500\n\nid: \"7\"\r\nevent: state\r\ndata: {\"a\":\ndata: 1}\r\n\r\n"
        var stream = EventStream()

        let messages = text.utf8.flatMap { stream.read(Data([$0])) }

        #expect(messages.compactMap(\.retry) == [.milliseconds(1500)])
        let last = try #require(messages.last)
        #expect((last.id, last.event) == ("\"7\"", "state"))
        #expect(JSONValue(parsing: String(decoding: last.data, as: UTF8.self)) == ["a": 1])
    }

    @Test func `a file with a session is its owner's alone`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "session")
        let storage = FileStorage(file)
        #expect(try storage.load() == nil)

        try storage.save(Data("1".utf8))
        try storage.save(Data("2".utf8))

        #expect(try storage.load() == Data("2".utf8))
        let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? NSNumber
        #expect(mode?.intValue == 0o600)
        try storage.save(nil)
        #expect(try storage.load() == nil)
    }

    @Test func `fields of a form say how they are drawn`() throws {
        let schema = #"""
            {"type": "object", "required": ["mail", "size"], "properties": {
              "mail": {"type": "string", "format": "email", "title": "E-mail"}, "size": {"enum": ["S", "M"]},
              "many": {"type": "integer"}, "gift": {"type": "boolean"}, "tags": {"type": "array"}}}
            """#
        let control = try #require(
            JSONValue(
                parsing: #"{"type": "buy", "title": "Buy", "role": "input", "place": "screen", "schema": \#(schema)}"#)
        ).decoded(as: Control.self)

        let fields = control.fields

        #expect(fields.map(\.id) == ["mail", "size", "gift", "many", "tags"])
        #expect(fields[0].title == "E-mail")
        #expect(fields[1].value(of: "M") == "M")
        #expect(fields[1].value(of: "L") == "L", "the server says what can be chosen")
        #expect(fields[3].value(of: "12") == 12)
        #expect(fields[3].value(of: "x") == "x", "the server says that it must be a number")
        #expect(fields[3].value(of: "") == nil)
        #expect(control.event(entering: ["mail": "a@b.c"]).payload == ["mail": "a@b.c"])
    }
}

@Suite struct SecretTests {
    @Test func `a state that is printed or dumped does not show its token`() throws {
        let state = try NavigationState.example(more: #""token": "t_secret","#)
        var dumped = ""

        dump(Outcome.done(state), to: &dumped)

        for text in ["\(state)", "\(Outcome.done(state))", String(reflecting: state), dumped] {
            #expect(!text.contains("t_secret"))
            #expect(text.contains("k3"))
        }
    }
}

@Suite struct PredictionTests {
    @Test func `back pops the innermost stack`() throws {
        let state = try NavigationState.example(more: #""back": {"effect": "pop", "to": "k2"},"#)

        let next = try #require(state.predicted(after: .back))

        #expect((next.visible.key, next.isEarly) == ("k2", true))
        #expect(next.stack[0].tabs?.items[0].stack.map(\.key) == ["k2"])
        #expect(next.back == nil)
        #expect(next.predicted(after: .selectTab("b")) == nil, "an expected state predicts nothing")
    }

    @Test func `a tab is selected with the stack that it has; the selected one is popped to its first screen`() throws {
        let state = try NavigationState.example(more: #""back": {"effect": "pop", "to": "k2"},"#)

        #expect(state.predicted(after: .selectTab("b"))?.visible.key == "k4")
        #expect(state.predicted(after: NavigationEvent("selectTab", ["index": 1]))?.visible.key == "k4")
        #expect(state.predicted(after: .selectTab("a"))?.visible.key == "k2")
        #expect(state.predicted(after: .selectTab("z")) == nil)
        #expect(state.predicted(after: NavigationEvent("selectTab", ["index": -1])) == nil)
    }

    @Test(arguments: [
        #""back": {"effect": "pop", "to": "k2", "asks": true},"#, #""back": {"effect": "fly"},"#,
        #""back": {"effect": "pop", "to": "k9"},"#, "",
    ])
    func `nothing is predicted where the app asks, forbids, or does what is not known`(back: String) throws {
        #expect(try NavigationState.example(more: back).predicted(after: .back) == nil)
        #expect(try NavigationState.example(more: back).predicted(after: NavigationEvent("buy")) == nil)
    }

    @Test func `a flow is dismissed with those above it, unless one cannot be`() throws {
        let flows = { (more: String) in
            #""presented": [{"key": "p1", "style": "sheet", "stack": [\#(NavigationState.screen("k7"))]},"#
                + #"{"key": "p2", "style": "sheet", \#(more) "stack": [\#(NavigationState.screen("k8"))]}],"#
        }

        #expect(try NavigationState.example(more: flows("")).predicted(after: .dismiss())?.visible.key == "k7")
        #expect(try NavigationState.example(more: flows("")).predicted(after: .dismiss("p1"))?.visible.key == "k3")
        let both = try #require(try NavigationState.example(more: flows("")).predicted(after: .dismiss()))
        #expect((both.back?.effect, both.back?.to) == (.dismiss, "k3"))
        for rule in [#""isDismissable": false,"#, #""asks": true,"#] {
            #expect(try NavigationState.example(more: flows(rule)).predicted(after: .dismiss()) == nil)
        }
    }
}

extension NavigationState {
    static func screen(_ key: String) -> String { #"{"key": "\#(key)", "name": "s", "coordinator": "c"}"# }

    /// Two tabs: `a` with the screens k2 and k3, and `b` with k4.
    static func example(more: String) throws -> NavigationState {
        let text = #"""
            {\#(more) "session": {"id": "s_1", "app": "x", "version": 3, "expiresAt": "2026-11-27T16:08:35Z"},
             "visible": \#(screen("k3")), "events": ["back", "selectTab", "dismiss"], "stack": [{"key": "k1",
             "name": "t", "coordinator": "c", "tabs": {"selected": "a", "items": [
               {"id": "a", "stack": [\#(screen("k2")), \#(screen("k3"))]}, {"id": "b", "stack": [\#(screen("k4"))]}]}}]}
            """#
        return try JSONDecoder.ofAPI.decode(NavigationState.self, from: Data(text.utf8))
    }
}
