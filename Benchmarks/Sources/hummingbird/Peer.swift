// The peer: the same job, written as simply as Hummingbird's users would. Sessions are values in memory behind one
// actor, an event selects a tab, the answer is the state, with `Codable` both ways.
//
//   hummingbird PORT

import Foundation
import Hummingbird

struct Event: Decodable {
    struct Payload: Decodable { let index: Int }
    let type: String
    let payload: Payload
}

struct Screen: Codable {
    let key: String
    let name: String
    let title: String
    let coordinator: String
}

struct Tab: Codable {
    let id: String
    let title: String
    let stack: [Screen]
}

struct State: ResponseEncodable, Codable {
    struct Session: Codable {
        let id: String
        let app: String
        var version: Int
        let expiresAt: String
    }
    struct Transition: Codable {
        let event: String
        let operations: [[String: String]]
        let finished: [String]
    }

    var session: Session
    var visible: Screen
    var selected: Int
    let tabs: [Tab]
    let events: [String]
    var transition: Transition
}

actor Sessions {
    private var states: [String: State] = [:]

    private static let tabs = ["home", "plus", "myPage"].enumerated().map { index, name in
        Tab(
            id: name, title: name,
            stack: [Screen(key: "k\(index + 3)", name: name, title: name, coordinator: "tab")])
    }

    func apply(_ event: Event, to id: String) throws -> State {
        var state =
            states[id]
            ?? State(
                session: .init(id: id, app: "tabs", version: 1, expiresAt: "2026-01-01T00:00:00Z"),
                visible: Sessions.tabs[0].stack[0], selected: 0, tabs: Sessions.tabs,
                events: ["home", "selectTab", "relaunch", "describeClient"], transition: .init(event: "", operations: [], finished: []))
        guard state.tabs.indices.contains(event.payload.index) else { throw HTTPError(.unprocessableContent) }
        state.session.version += 1
        state.selected = event.payload.index
        state.visible = state.tabs[state.selected].stack[0]
        state.transition = .init(
            event: event.type, operations: [["op": "selectTab", "key": "k2", "tab": state.visible.name]], finished: [])
        states[id] = state
        return state
    }
}

@main struct Peer {
    static func main() async throws {
        let sessions = Sessions()
        let router = Router()
        router.post("/v1/sessions/{id}/events") { request, context in
            let event = try await request.decode(as: Event.self, context: context)
            return try await sessions.apply(event, to: try context.parameters.require("id"))
        }
        let port = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 8080
        let application = Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: port)))
        try await application.runService()
    }
}
