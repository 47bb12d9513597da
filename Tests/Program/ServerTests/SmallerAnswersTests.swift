import Foundation
import JSONCoding
import Testing
import TestSupport

/// What clients that ask for it save: `Prefer: return=minimal` and compression.
@Suite struct SmallerAnswersTests {
    /// A client that walks through an app at random, and keeps what it has been told of the session.
    private struct Walker {
        let connection: Connection
        let path: String
        let query: String
        var token: String
        /// The states that it has had, with their tags, the latest last.
        var states: [(tag: String, state: JSON)]
        var random: Numbers
        var differences = 0

        init(_ app: String, port: Int, seed: UInt64) async throws {
            connection = try Connection(port: port)
            query = seed % 2 == 0 ? "?include=controls" : ""
            let created = try await connection.request(
                "POST", "/v1/sessions" + query, headers: ["Content-Type": "application/json"],
                body: Data(#"{"app": "\#(app)"}"#.utf8))
            let state = try JSON(parsing: Array(created.body))
            path = "/v1/sessions/\(try #require(state["session"]?["id"]?.string))"
            token = try #require(state["token"]?.string)
            random = Numbers(state: seed)
            states = [(try #require(created.headers["etag"]), state)]
        }

        func send(
            _ method: String, _ path: String, _ headers: [String: String] = [:], _ body: JSON? = nil
        ) async throws -> Answer {
            var headers = headers
            headers["Authorization"] = "Bearer \(token)"
            headers["Content-Type"] = body.map { _ in "application/json" }
            return try await connection.request(
                method, path + query, headers: headers, body: body.map { Data($0.description.utf8) })
        }

        /// Posts something that is possible, and makes the new state of the answer.
        mutating func step() async throws {
            let (tag, state) = states[states.count - 1]
            let seen = try JSON(parsing: Array(try await read("?include=controls").body))
            guard let control = seen["controls"]?.array?.randomElement(using: &random), let type = control["type"]
            else {
                throw TestFailure("there is nothing to do: \(seen)")
            }
            var event: JSON = ["type": type]
            event["payload"] = control["payload"] ?? control["example"]
            let wait = Int.random(in: 0..<8, using: &random) == 0 ? ", wait=1" : ""
            let answer = try await send(
                "POST", path + "/events", ["Prefer": "return=minimal; base=\(tag)\(wait)", "Accept-Encoding": "gzip"],
                event)
            if answer.status == 200 { try await accept(answer, since: state) } else { try await readAll() }
        }

        /// Reads the state as the difference from one that the client had before.
        mutating func readDifference() async throws {
            guard let (tag, state) = states.randomElement(using: &random) else { return }
            let answer = try await send(
                "GET", path, ["Prefer": "return=minimal", "If-None-Match": tag, "Accept-Encoding": "gzip"])
            if answer.status == 200 { try await accept(answer, since: state) }
        }

        mutating func accept(_ answer: Answer, since base: JSON) async throws {
            let isCompressed = answer.headers["content-encoding"] == "gzip"
            var state = try JSON(parsing: Array(isCompressed ? answer.body.gunzipped() : answer.body))
            token = state["token"]?.string ?? token
            #expect(!(isCompressed && state["token"] != nil))
            if answer.headers["preference-applied"]?.contains("return=minimal") == true {
                differences += 1
                state = SmallerAnswersTests.state(from: base, state)
            }
            #expect(state["unchanged"] == nil)
            let whole = try await read(query)
            // Something may have happened without the client meanwhile.
            if whole.headers["etag"] == answer.headers["etag"]?.replacing("-gzip", with: "") {
                #expect(Self.lasting(state) == Self.lasting(try JSON(parsing: Array(whole.body))))
            }
            states.append((try #require(answer.headers["etag"]), state))
        }

        mutating func readAll() async throws {
            let whole = try await read(query)
            states.append((try #require(whole.headers["etag"]), try JSON(parsing: Array(whole.body))))
        }

        func read(_ query: String) async throws -> Answer {
            let answer = try await connection.request(
                "GET", path + query, headers: ["Authorization": "Bearer \(token)"])
            guard answer.status == 200 else { throw TestFailure("\(answer.status) \(answer.text)") }
            return answer
        }

        private static func lasting(_ state: JSON) -> JSON {
            var state = state
            for name in ["transition", "token", "pairing"] { state[name] = nil }
            return state
        }
    }

    /// The state that a difference leads to, as `StateDifference` in `openapi.yaml` says.
    private static func state(from base: JSON, _ difference: JSON) -> JSON {
        var screens: [String: JSON] = [:]
        func collect(_ stack: JSON?) {
            for screen in stack?.array ?? [] {
                screens[screen["key"]?.string ?? ""] = screen
                for tab in screen["tabs"]?["items"]?.array ?? [] { collect(tab["stack"]) }
            }
        }
        func collectAll(_ state: JSON) {
            collect(state["stack"])
            for flow in state["presented"]?.array ?? [] { collect(flow["stack"]) }
        }
        func filled(_ stack: JSON) -> JSON {
            .array(
                (stack.array ?? []).map { screen in
                    guard screen["name"] != nil else { return screens[screen["key"]?.string ?? ""] ?? .null }
                    guard var tabs = screen["tabs"] else { return screen }
                    tabs["items"] = .array((tabs["items"]?.array ?? []).map(filledStack))
                    var screen = screen
                    screen["tabs"] = tabs
                    return screen
                })
        }
        func filledStack(_ owner: JSON) -> JSON {
            var owner = owner
            owner["stack"] = filled(owner["stack"] ?? [])
            return owner
        }

        collectAll(base)
        var state = difference
        state["unchanged"] = nil
        if let stack = state["stack"] { state["stack"] = filled(stack) }
        if let flows = state["presented"]?.array { state["presented"] = .array(flows.map(filledStack)) }
        if let controls = state["controls"]?.array {
            state["controls"] = .array(
                controls.map { control in control.integer.flatMap { base["controls"]?.array?[$0] } ?? control })
        }
        for name in difference["unchanged"]?.array ?? [] { state[name.string ?? ""] = base[name.string ?? ""] }
        screens = [:]
        collectAll(state)
        state["visible"] = screens[difference["visible"]?["key"]?.string ?? ""]
        return state
    }

    /// SplitMix64.
    private struct Numbers: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var z = state
            z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
            z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
            return z ^ (z >> 31)
        }
    }

    @Test func `a client that applies differences has the whole state, on random walks of every app`() async throws {
        let (program, port, _) = try await ServerTests.start("--compress")
        let apps =
            try JSON(
                parsing: Array(try await Connection(port: port).request("GET", "/v1/apps").body))["apps"]?.array ?? []
        #expect(apps.count >= 9)

        for app in apps {
            let name = try #require(app["name"]?.string)
            for seed in UInt64(1)...2 {
                var walker = try await Walker(name, port: port, seed: seed)
                for _ in 1...15 {
                    try await walker.step()
                    try await walker.readDifference()
                }
                #expect(walker.differences > 6, "\(name), \(seed)")
            }
        }
        program.signal(SIGTERM)
        _ = try await program.exit()
    }
}
