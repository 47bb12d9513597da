internal import Foundation
public import Testing

/// Runs each piece of a test between two suspensions on a thread of its own, so that it may block: Swift's pool, which
/// all tests share, has as few threads as there are processors.
public final class OwnThreads: TaskExecutor, SuiteTrait, TestTrait, TestScoping {
    public let isRecursive = true

    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        Thread.detachNewThread { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }

    @concurrent public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await withTaskExecutorPreference(self) { try await function() }
    }
}

extension Trait where Self == OwnThreads {
    public static var ownThreads: Self { OwnThreads() }
}
