public import Coordinators

/// Every request to the navigator: each screen shows a number, and each event makes the navigator do one thing.
public enum Numbers {
    public static let app = App("numbers", root: NumberCoordinator.init)
}

extension Numbers {
    /// A flow of numbers, which starts others of its kind.
    struct NumberCoordinator: Coordinator {
        var first = 0
        private var isChild = false

        enum Event: NavigationEvent {
            case push(Int)
            case replace(Int)
            case setStack([Int])
            case sheet(Int)
            case cover(Int)
            case alert(String)
            case pushFlow(Int)
            case toStack
            case toSheet
            case deliver(Int)
            case finish
            case update(Int)
            case fail
            case wait(milliseconds: Int)
            static let examples: [Event] = [
                .push(1), .replace(2), .setStack([1, 2, 3]), .sheet(4), .cover(5), .alert("Hello"), .pushFlow(6),
                .toStack, .toSheet, .deliver(8), .finish, .update(7), .fail, .wait(milliseconds: 10),
            ]
        }

        static let name = "number"

        init() {}

        init(child first: Int) {
            self.first = first
            self.isChild = true
        }

        func start(_ navigator: inout Navigator) {
            navigator.push(number(first))
        }

        /// The first flow lives as long as the session.
        func isEnabled(_ event: Event, in context: NavigationContext) -> Bool {
            switch event {
            case .finish, .toStack, .toSheet, .deliver: isChild
            default: true
            }
        }

        func handle(_ event: Event, _ navigator: inout Navigator) async throws {
            switch event {
            case .push(let value): navigator.push(number(value))
            case .replace(let value): navigator.replace(with: number(value))
            // A stack of no screens is not allowed.
            case .setStack(let values): if !values.isEmpty { navigator.setStack(values.map(number)) }
            case .sheet(let value): navigator.present(NumberCoordinator(child: value), as: .sheet)
            case .cover(let value):
                navigator.present(NumberCoordinator(child: value), as: .fullScreen, isDismissable: true)
            case .alert(let title): navigator.alert(Alert(title))
            case .pushFlow(let value): navigator.start(NumberCoordinator(child: value))
            case .toStack: tellParent(&navigator) { $0.moveToStack(NumberCoordinator.self) }
            case .toSheet: tellParent(&navigator) { $0.present(moving: NumberCoordinator.self) }
            case .deliver(let value): navigator.deliver(value)
            case .finish: navigator.finish()
            case .update(let value): navigator.update("number") { $0.params = ["value": .integer(value)] }
            case .fail: throw Failure()
            case .wait(let milliseconds):
                let limited = min(max(milliseconds, 0), 60_000)
                try await Task.sleep(for: .milliseconds(limited))
                navigator.push(number(limited))
            }
        }

        func childDidDeliver(_ value: any Sendable, from child: any Coordinator, _ navigator: inout Navigator) {
            if let value = value as? Int { navigator.update("number") { $0.params = ["value": .integer(value)] } }
        }

        /// Has the parent move this flow.
        private func tellParent(
            _ navigator: inout Navigator, _ request: @escaping @Sendable (inout Navigator) -> Void
        ) {
            navigator.tell(NumberCoordinator.self) { _, navigator in request(&navigator) }
        }

        private func number(_ value: Int) -> Screen {
            Screen("number", title: "Number", params: ["value": .integer(value)])
        }
    }

    /// What the event `fail` throws.
    public struct Failure: Error {}
}
