import Coordinators
import JSONCoding
import Testing
import TestSupport

/// Opens flows in flows, as often as it is asked to.
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

    @Test(arguments: ["sheet", "flow"])
    func `who has opened as many flows in each other as there may be is told so`(event: String) async throws {
        let client = try await Client(DepthTests.app)
        let body = #"{"type":"\#(event)"}"#
        for _ in 2...32 { #expect(try await client.post(body).status == 200) }

        let refused = try await client.post(body)

        try await client.expect(refused, 409, "stack-limit", version: 32)
        #expect(refused.text.contains("“nested” asked for more than 32 flows, each opened by the one before."))
        #expect(try await client.post(#"{"type":"back"}"#).status == 200)
    }

    @Test func `an app that opens flows without an end is at fault itself`() async throws {
        let client = try await Client(DepthTests.app)

        try await client.expect(try await client.post(#"{"type":"endless"}"#), 500, "runaway-transition")
    }
}
