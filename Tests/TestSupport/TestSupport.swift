// TestSupport: what tests share. A client that speaks HTTP over a real socket, byte by byte where a test wants that, and
// a way to run programs. It blocks threads of its own, never those that Swift's tasks run on.

public import Foundation

/// Runs blocking work on a thread of its own.
public func blocking<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result(catching: work)) }
    }
}

/// Waits until a condition holds; gives up after ten seconds, for a test must end.
public func eventually(_ condition: () async throws -> Bool) async throws {
    for _ in 0..<1000 {
        if try await condition() { return }
        try await Task.sleep(for: .milliseconds(10))
    }
    throw TestFailure("what was waited for has not come within ten seconds")
}

public struct TestFailure: Error, CustomStringConvertible {
    public let description: String
    public init(_ description: String) { self.description = description }
}

/// The top of the repository.
public let repository = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()
