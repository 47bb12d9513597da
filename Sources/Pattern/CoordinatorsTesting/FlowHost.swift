internal import Coordinators

/// The root of an app in which one flow is tested alone, see `CoordinatorTester.init(flow:of:)`.
struct FlowHost<Flow: Coordinator>: Coordinator {
    static var name: String { "test" }

    private var flow: Flow
    private let style: PresentedFlow.Style?
    private(set) var result: Flow?
    private(set) var wasDismissed = false

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
}
