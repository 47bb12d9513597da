@testable internal import Coordinators
@testable internal import CoordinatorsTesting
internal import FoundationEssentials
internal import JSONCoding
@testable internal import NavigationAPI
@testable internal import Sessions
internal import Synchronization

/// A session of a reference app, without a server.
struct Session {
    let app: App
    private(set) var state: NavigationState

    init(of app: App, in state: NavigationState) {
        self.app = app
        self.state = state
        check(state)
    }

    /// - Returns: `nil` if the app does not start without waiting.
    init?(launching app: App) {
        guard
            case .success(let first) = atOnce({ () throws(NavigationError) in
                try await app.launch(at: CoordinatorTester.someTime)
            })
        else {
            return nil
        }
        self.init(of: app, in: first.state)
    }

    /// Posts an event, and checks the result.
    ///
    /// - Returns: why it was refused; `nil` if it was not.
    @discardableResult
    mutating func post(_ event: PostedEvent) -> NavigationError? {
        let isAccepted = state.accepts(event)
        let outcome = atOnce { [app, state] () throws(NavigationError) in
            try await app.apply(event, to: state, at: CoordinatorTester.someTime)
        }
        switch outcome {
        case .success(let result):
            promise("what is not listed is refused", isAccepted)
            if result.state != state { check(result.state, result.transition) }
            state = result.state
            return nil
        case .failure(let error):
            let isRefusedByName = [.eventNotAccepted, .unknownEvent, .nothingToGoBack].contains(error)
            promise("what is listed is not refused", !isRefusedByName || !isAccepted)
            return error
        case nil: return nil
        }
    }

    private func check(_ state: NavigationState, _ transition: Transition? = nil) {
        promise("the invariants hold", (try? state.checkInvariants()) != nil)
        let saved = state.encoded
        guard let json = try? JSON(parsing: saved, maximumDepth: SessionRecord.depthLimit),
            let restored = try? app.restore(json).state
        else { fatalError("broken: what is saved can be restored") }
        promise("what is restored is equal", restored == state)
        promise("what is restored is saved alike", restored.encoded == saved)
        let session = SessionState(
            StoredRecords.identity, stamp: SessionStamp(version: 1), expiresAt: .distantFuture, navigation: state)
        let answer = try? JSON(parsing: StateBody(state: session, transition: transition).bytes, maximumDepth: .max)
        promise("the answer is JSON", answer != nil)
    }
}

/// The result of work that never waits; `nil` if it does wait, and then it is cancelled.
private func atOnce<Value: Sendable>(
    _ work: sending @escaping () async throws(NavigationError) -> Value
) -> Result<Value, NavigationError>? {
    let outcome = Outcome<Value>()
    let task = Task.immediate {
        do throws(NavigationError) { outcome.settle(.success(try await work())) } catch {
            outcome.settle(.failure(error))
        }
    }
    task.cancel()
    return outcome.result
}

private final class Outcome<Value: Sendable>: Sendable {
    private let settled = Mutex<Result<Value, NavigationError>?>(nil)
    var result: Result<Value, NavigationError>? { settled.withLock { $0 } }

    func settle(_ result: Result<Value, NavigationError>) {
        settled.withLock { $0 = result }
    }
}
