package import Dispatch

extension DispatchQueue {
    /// Runs what may block, outside of the threads that tasks run on.
    package func run<Value: Sendable, Failure>(
        _ work: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let outcome: Result<Value, Failure> = await withCheckedContinuation { continuation in
            async { continuation.resume(returning: Result(catching: work)) }
        }
        return try outcome.get()
    }
}
