/// A function of a coordinator that is about to be called.
public struct RunningCall: Sendable {
    public let coordinator: String
    let call: TransitionRun.Call

    /// The function as its author knows it, without the values: `start`, `handle(login)`.
    public var function: String { call.name }
}

/// Surrounds the calls of coordinators' functions, to trace them: must call `call` once, and throw what it throws.
public typealias CallWrapper =
    @Sendable (RunningCall, _ call: () async throws -> Void) async throws -> Void
