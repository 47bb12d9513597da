// TestSupport: what tests share: a client that speaks HTTP over a real socket, byte by byte if a test wants that, and a
// way to run programs. It blocks threads of its own, never those that Swift's tasks run on.

public import Foundation
internal import Glibc

/// Runs blocking work on a thread of its own.
public func blocking<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result(catching: work)) }
    }
}

/// Seconds after which a test gives up: so many that only what hangs takes them, on however slow a machine.
public let hangLimit = 600

/// Waits until a condition holds.
public func eventually(_ condition: () async throws -> Bool) async throws {
    let start = ContinuousClock.now
    while ContinuousClock.now - start < .seconds(hangLimit) {
        if try await condition() { return }
        try await Task.sleep(for: .milliseconds(10))
    }
    throw TestFailure("the condition did not hold within \(hangLimit) s")
}

/// The same on a thread of one's own, which it blocks.
public func waitUntil(_ condition: () throws -> Bool) throws {
    let start = ContinuousClock.now
    while ContinuousClock.now - start < .seconds(hangLimit) {
        if try condition() { return }
        usleep(5_000)
    }
    throw TestFailure("the condition did not hold within \(hangLimit) s")
}

public struct TestFailure: Error, CustomStringConvertible {
    public let description: String
    public init(_ description: String) { self.description = description }
}

/// Whether the tests are built with the trait `Complete`, as the server beside them is.
public var isComplete: Bool {
    #if Complete
    true
    #else
    false
    #endif
}

/// The root folder of the repository.
public let repository = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()
