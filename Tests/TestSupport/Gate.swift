internal import Synchronization

/// Handlers and effects wait here until the test opens it. Each test has its own.
public final class Gate: Sendable {
    @TaskLocal public static var current = Gate()
    private let state = Mutex((isOpen: false, waiting: [CheckedContinuation<Void, Never>]()))

    public init() {}

    public var waitingCount: Int { state.withLock { $0.waiting.count } }

    public func wait() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiting.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }

    public func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}
