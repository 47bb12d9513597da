public import Coordinators

/// Tests of one flow, without the events that lead to it.
extension CoordinatorTester {
    /// Opens a session that consists only of a flow over a screen named `test`.
    ///
    /// ```swift
    /// var booking = try await CoordinatorTester(flow: BookingCoordinator(film: 7), of: Cinema.app(films))
    /// try await booking.send(BookingCoordinator.Event.choose(seat: "A1"))
    /// #expect(booking.result(of: BookingCoordinator.self)?.seat == "A1")
    /// ```
    ///
    /// A flow that sends messages to its ancestors needs one that understands them: test it in an app whose root does.
    ///
    /// - Parameters:
    ///   - app: the app that the flow belongs to. Its other coordinators, its shared states and its dependencies are
    ///     available, but its root is not.
    ///   - style: how the flow is presented; `nil` to start it on the stack.
    public init<Flow: Coordinator>(
        flow: Flow, of app: App, as style: PresentedFlow.Style? = nil, client: ClientInfo? = nil, now: Date = someTime,
        fileID: String = #fileID, line: UInt = #line
    ) async throws(Failure) {
        let alone = app.rooted { FlowHost(flow, as: style) }
        try await self.init(alone, client: client, now: now, fileID: fileID, line: line)
    }

    /// The tested flow as it was when it finished; `nil` if it has not finished.
    public func result<Flow: Coordinator>(of flow: Flow.Type) -> Flow? { host(of: flow)?.result }

    /// Whether the tested flow was dismissed without finishing.
    public func wasDismissed<Flow: Coordinator>(_ flow: Flow.Type) -> Bool { host(of: flow)?.wasDismissed == true }

    /// The values of a type that the tested flow has delivered, in order, see `Navigator.deliver`.
    ///
    /// ```swift
    /// #expect(booking.delivered(Seat.self) == [Seat("A1")])
    /// ```
    public func delivered<Value: Sendable>(_ type: Value.Type) -> [Value] {
        let host = state.coordinators.first?.coordinator as? any DeliveryHost
        return host?.deliveries.values.compactMap { $0 as? Value } ?? []
    }

    private func host<Flow: Coordinator>(of flow: Flow.Type) -> FlowHost<Flow>? {
        state.coordinators.first?.coordinator as? FlowHost<Flow>
    }
}

/// The root of an app in which one flow is tested alone, see `CoordinatorTester.init(flow:of:)`.
struct FlowHost<Flow: Coordinator>: Coordinator, DeliveryHost {
    static var name: String { "test" }

    private var flow: Flow
    private let style: PresentedFlow.Style?
    private(set) var result: Flow?
    private(set) var wasDismissed = false
    private(set) var deliveries = Deliveries()

    init(_ flow: Flow, as style: PresentedFlow.Style?) {
        self.flow = flow
        self.style = style
    }

    func start(_ navigator: inout Navigator) {
        navigator.push(Screen("test"))
        if let style { navigator.present(flow, as: style) } else { navigator.start(flow) }
    }

    mutating func childDidFinish(_ child: any Coordinator, _ navigator: inout Navigator) {
        result = child as? Flow
    }

    mutating func childWasDismissed(_ child: any Coordinator, _ navigator: inout Navigator) {
        wasDismissed = true
    }

    mutating func childDidDeliver(
        _ value: any Sendable, from child: any Coordinator, _ navigator: inout Navigator
    ) {
        deliveries.values.append(value)
    }
}

private protocol DeliveryHost {
    var deliveries: Deliveries { get }
}

/// Values of any types. Only their number is saved.
struct Deliveries {
    var values: [any Sendable] = []
}

extension Deliveries: Codable {
    init(from decoder: any Decoder) {}

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(values.count)
    }
}
