internal import Coordinators
internal import Logging
internal import Tracing

/// Makes spans of its own, and logs within them.
struct TracedCoordinator: Coordinator {
    enum Event: NavigationEvent {
        case work, failInWork
        case keep(Secret)
        static let examples: [Event] = [.work, .failInWork, .keep("correct horse")]
    }

    struct Failure: Error {}

    func start(_ navigator: inout Navigator) { navigator.push(Screen("1")) }

    mutating func handle(_ event: Event, _ navigator: inout Navigator) async throws {
        switch event {
        case .work:
            await withSpan("look up", ofKind: .client) { span in
                span.attributes["items"] = 3
                // Leaves the thread.
                await Task.yield()
                Logger(label: "traced").notice("looked up")
            }
            navigator.start(TracedChild())
        case .failInWork: try withSpan("fail") { _ in throw Failure() }
        case .keep: break
        }
    }
}

/// Is started and finishes in the same transition.
struct TracedChild: Coordinator {
    func start(_ navigator: inout Navigator) {
        navigator.push(Screen("child"))
        navigator.finish()
    }
}
