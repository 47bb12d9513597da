import Coordinators
import CoordinatorsTesting
import Foundation
import JSONCoding
import Testing

/// Pairing another device: what asks for a code, and what the app makes of the device.
@Suite(.simulatedTime) struct DeviceTests {
    struct HallCoordinator: Coordinator {
        static let everywhere: [Event] = [.invite, .inviteBadly, .join]
        private(set) var devices: [String?] = []

        enum Event: NavigationEvent, CaseIterable { case invite, inviteBadly, join, rotate, later }

        enum Signal: NavigationSignal { case due }

        func start(_ navigator: inout Navigator) { navigator.push(Screen("hall")) }

        func handle(_ event: Event, _ navigator: inout Navigator) {
            switch event {
            case .invite: navigator.requestPairingCode(label: "TV")
            case .inviteBadly: navigator.requestPairingCode(label: "")
            case .join: navigator.start(GuestCoordinator())
            case .rotate: navigator.rotateToken()
            case .later: navigator.schedule(Signal.due, after: .seconds(1))
            }
        }

        func receive(_ signal: Signal, _ navigator: inout Navigator) { navigator.requestPairingCode() }

        mutating func deviceDidPair(_ device: PairedDevice, _ navigator: inout Navigator) throws {
            if device.label == "bad" { throw Unwelcome() }
            if device.label == "greedy" { navigator.requestPairingCode() }
            devices.append(device.label)
            navigator.endChildren()
            navigator.push(Screen("welcome", params: ["language": .string(device.client.language ?? "none")]))
        }
    }

    struct GuestCoordinator: Coordinator {
        func start(_ navigator: inout Navigator) { navigator.push(Screen("guest")) }
        func shouldLeave(_ screen: Screen, in context: NavigationContext) -> Alert? { Alert("Leave?") }
    }

    struct GreedyCoordinator: Coordinator {
        func start(_ navigator: inout Navigator) {
            navigator.push(Screen("greedy"))
            navigator.requestPairingCode()
        }
    }

    struct Unwelcome: Error {}

    static let app = App("hall", root: { HallCoordinator() }, coordinators: [GuestCoordinator.self])

    @Test func `a transition that asks for a code says so to the host, and to nobody else`() async throws {
        var app = try await CoordinatorTester(DeviceTests.app)
        let before = app.saved

        try await app.send(HallCoordinator.Event.invite)

        #expect(app.pairingRequest?.label == "TV")
        #expect(app.saved == before)
        #expect(!String(decoding: app.transition.encodedMembers, as: UTF8.self).contains("TV"))
        try await app.send(HallCoordinator.Event.join)
        #expect(app.pairingRequest == nil)
        #expect(try await app.preview(HallCoordinator.Event.invite).pairingRequest != nil)
    }

    @Test func `the root is told of a device without anybody being asked`() async throws {
        var app = try await CoordinatorTester(DeviceTests.app)
        try await app.send(HallCoordinator.Event.join)

        try await app.pair(label: "TV", client: ClientInfo(locale: "de-AT"))

        #expect(app.stack == "hall, welcome" && app.alert == nil)
        #expect(app.state.visible?.screen.params["language"] == "de")
        #expect(app.transition.event == "addToken" && app.transition.cause == .signal)
        #expect(app.transition.dismissed == ["guest"])
    }

    @Test func `a code is only for the client of an event`() async throws {
        var app = try await CoordinatorTester(DeviceTests.app)
        let reason = "there is no client that could get a code"
        func refusal(_ coordinator: String) -> NavigationError {
            .impossibleRequest(coordinator: coordinator, request: "requestPairingCode()", reason: reason)
        }
        try await app.send(HallCoordinator.Event.later)
        await #expect(throws: CoordinatorTester.Failure(refusal("hall"))) { try await app.advance(by: .seconds(1)) }
        await #expect(throws: CoordinatorTester.Failure(refusal("hall"))) { try await app.pair(label: "greedy") }
        await #expect(throws: CoordinatorTester.Failure(refusal("greedy"))) {
            _ = try await CoordinatorTester(App("greedy", root: { GreedyCoordinator() }))
        }
        await #expect(
            throws: CoordinatorTester.Failure(
                .impossibleRequest(
                    coordinator: "hall", request: "requestPairingCode()",
                    reason: "a label has 1 to 64 characters, and no control characters"))
        ) {
            try await app.send(HallCoordinator.Event.inviteBadly)
        }
        #expect(app.stack == "hall")
    }

    @Test func `a root that does not declare the function is not told`() async throws {
        var app = try await CoordinatorTester(App("guest", root: { GuestCoordinator() }))
        let before = (app.saved, app.transition)
        try await app.pair()
        #expect(app.saved == before.0 && app.transition == before.1)
        #expect(
            try App("guest", root: { GuestCoordinator() }).begin(
                .pairing(PairedDevice(label: nil, pairedAt: app.now)), on: app.state, at: app.now) == nil)
    }

    @Test func `a coordinator that is no root must not declare the function`() {
        let app = App("guest", root: { GuestCoordinator() }, coordinators: [HallCoordinator.self])
        #expect(
            app.problems == [
                "app “guest”: hall declares deviceDidPair(_:_:), which is called on the root only"
            ])
    }

    @Test func `a map shows where a device leads to`() async throws {
        let map = try await AppMap(exploring: DeviceTests.app, limit: 20) { (run) async throws(NavigationError) in
            var run = run
            return try await run.result()
        }
        let drawing = try #require(map).drawn(as: .mermaid)
        #expect(drawing.contains(#"n1 ==>|"deviceDidPair"|"#))
    }

    @Test func `a random walk pairs devices, and finds what the app throws for them`() async throws {
        struct FullCoordinator: Coordinator {
            enum Event: NavigationEvent, CaseIterable { case go }
            func start(_ navigator: inout Navigator) { navigator.push(Screen("full")) }
            func handle(_ event: Event, _ navigator: inout Navigator) { navigator.requestPairingCode() }
            func deviceDidPair(_ device: PairedDevice, _ navigator: inout Navigator) throws { throw Unwelcome() }
        }
        let failure = await #expect(throws: RandomWalk.Failure.self) {
            try await RandomWalk(App("full", root: { FullCoordinator() }), seed: 1, count: 200).run()
        }
        #expect(failure?.steps == [.pair])
        #expect(failure?.description.hasSuffix("try await app.pair()") == true)
    }

    /// What it draws, and whether an event is enabled, depends on the device.
    struct RemoteCoordinator: Coordinator {
        enum Event: NavigationEvent, CaseIterable { case scan, rewind, call }
        func start(_ navigator: inout Navigator) { navigator.push(Screen("remote")) }
        func handle(_ event: Event, _ navigator: inout Navigator) {}
        func isEnabled(_ event: Event, in context: NavigationContext) -> Bool {
            event != .call || context.client.platform == "phone"
        }
        func render(_ screen: inout Screen, in context: NavigationContext) {
            screen.events = context.client.platform == "tv" ? ["rewind"] : ["scan", "call"]
        }
    }

    @Test func `a device may do what is drawn for it, whichever device has acted, and nothing else`() async throws {
        let app = App("remote", root: { RemoteCoordinator() })
        let phone = Device(1, ClientInfo(locale: nil, platform: "phone"))
        let tv = Device(2, ClientInfo(locale: nil, platform: "tv"))
        func state(after event: String, by device: Device, on state: NavigationState) async throws -> NavigationState {
            var run = try app.begin(PostedEvent(event), on: state, at: .now, by: device)
            return try await run.result().state
        }
        let onPhone = try await state(after: "scan", by: phone, on: try await app.launch(at: .now).state)
        let onTV = try await state(after: "rewind", by: tv, on: onPhone)
        #expect(onTV.acceptedEvents.first == "rewind" && !onTV.acceptedEvents.contains("scan"))

        let again = try await state(after: "call", by: phone, on: onTV)

        #expect(again.acceptedEvents.prefix(2) == ["scan", "call"])
        for (event, device) in [("rewind", phone), ("call", tv)] {
            await #expect(throws: NavigationError.eventNotAccepted) {
                _ = try await state(after: event, by: device, on: onTV)
            }
        }
        // A test of the app sees the same.
        var tester = try await CoordinatorTester(app, client: phone.client)
        try await tester.pair(label: "TV", client: tv.client)
        try await tester.send("call")
        try tester.use(device: "TV")
        #expect(tester.device == "TV" && tester.state.acceptedEvents.first == "rewind")
        await #expect(throws: CoordinatorTester.Failure(.eventNotAccepted)) { try await tester.send("call") }
        try await tester.send("describeClient", ["platform": "phone"])
        try tester.use(device: nil)
        try await tester.send("call")
        try await tester.send("describeClient", ["platform": "tv"])
        try tester.use(device: "TV")
        try await tester.send("call")
        #expect(throws: CoordinatorTester.Failure.self) { try tester.use(device: "radio") }

        let drawn = try app.drawing(of: onTV, for: phone)
        #expect(drawn.acceptedEvents == again.acceptedEvents)
        #expect(try app.drawing(of: drawn, for: tv) == onTV)
    }
}
