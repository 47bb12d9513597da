import Coordinators
import JSONCoding
import Testing
import TestSupport

/// Opens nested flows: one for each event, or endlessly many.
private struct NestedCoordinator: Coordinator {
    enum Event: NavigationEvent, CaseIterable { case sheet, flow, endless }

    var isEndless = false

    func start(_ navigator: inout Navigator) {
        if isEndless { navigator.start(NestedCoordinator(isEndless: true)) }
        navigator.push(Screen("nested"))
    }

    func handle(_ event: Event, _ navigator: inout Navigator) {
        switch event {
        case .sheet: navigator.present(NestedCoordinator())
        case .flow: navigator.start(NestedCoordinator())
        case .endless: navigator.start(NestedCoordinator(isEndless: true))
        }
    }
}

@Suite struct DepthTests {
    private static let app = App("nested", root: { NestedCoordinator() })

    @Test(arguments: [("sheet", 32, "32 flows over each other"), ("flow", 64, "64 screens on one stack")])
    func `a client that has opened as many flows as allowed is refused another`(
        event: String, limit: Int, words: String
    ) async throws {
        let client = try await Client(DepthTests.app)
        let body = #"{"type":"\#(event)"}"#
        for _ in 2...limit { #expect(try await client.post(body).status == 200) }

        let refused = try await client.post(body)

        try await client.expect(refused, 409, "stack-limit", version: limit)
        #expect(refused.text.contains("“nested” asked for more than \(words)."))
        #expect(try await client.post(#"{"type":"back"}"#).status == 200)
    }

    @Test func `an app that opens nested flows without end is a server error`() async throws {
        let client = try await Client(DepthTests.app)

        try await client.expect(try await client.post(#"{"type":"endless"}"#), 500, "runaway-transition")
    }
}
