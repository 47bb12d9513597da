@testable import CoordinatorsTesting
import Foundation
import Synchronization
import Testing

/// Time that passes only when a test says so, so that no function seems to block its thread because the machine is slow.
final class SimulatedTime: Sendable {
    @TaskLocal static var current = SimulatedTime()
    private let state = Mutex((now: ContinuousClock.now, reads: 0))

    private var reads: Int { state.withLock { $0.reads } }

    func read() -> ContinuousClock.Instant {
        state.withLock { state in
            state.reads += 1
            return state.now
        }
    }

    func pass(_ duration: Duration) {
        state.withLock { $0.now += duration }
    }

    /// Suspends the caller, and lets time pass once it is known when that was.
    func passSuspended(_ duration: Duration) async {
        let reads = reads
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { [self] in
                while self.reads == reads { Thread.sleep(forTimeInterval: 0.001) }
                pass(duration)
                continuation.resume()
            }
        }
    }
}

/// Gives each test a time of its own, and effects all the time that they need.
struct SimulatedTimeTrait: SuiteTrait, TestTrait, TestScoping {
    var isRecursive: Bool { true }

    @concurrent func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        let time = SimulatedTime()
        try await SimulatedTime.$current.withValue(time) {
            try await ThreadWatch.$clock.withValue({ time.read() }) {
                try await AppMap.$effectLimit.withValue(.seconds(3600)) { try await function() }
            }
        }
    }
}

extension Trait where Self == SimulatedTimeTrait {
    static var simulatedTime: Self { Self() }
}
