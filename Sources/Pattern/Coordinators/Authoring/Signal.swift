public import JSONCoding

/// What reaches a coordinator from elsewhere than its screens: the end of an effect, a timer that is due, a message of
/// another system. An enum whose associated values are the payload.
///
/// ```swift
/// enum Signal: NavigationSignal {
///     case held(until: Date), taken, holdExpired
///     case paid(reference: String)
///
///     static let external: [Signal] = [.paid(reference: "r-1")]
/// }
/// ```
public protocol NavigationSignal: Codable, Sendable {
    /// The type of `external`: `[Self]`, or `Undeclared`. Swift infers it, so that a list of another type is noticed.
    associatedtype ExternalList = Undeclared

    /// One value of each case that other systems may send, with an example of its payload: `[Self]`, by default none.
    /// All other cases come only from the coordinator's own effects and timers.
    static var external: ExternalList { get }
}

extension NavigationSignal where ExternalList == Undeclared {
    public static var external: Undeclared { Undeclared() }
}

/// Work that a coordinator has done outside the session's turn, while its screens are shown: an enum whose associated
/// values say what to do. They are saved with the session, so they must not hold secrets.
public protocol NavigationEffect: Codable, Sendable {}

/// The `Signal` of a coordinator that receives none.
public enum NoSignal: NavigationSignal {
    public init(from decoder: any Decoder) throws {
        throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "there is no signal"))
    }

    public func encode(to encoder: any Encoder) throws {}
}

/// The `Effect` of a coordinator that has none: there is no value of it. (A struct, because for an enum without cases the
/// compiler warns of code that is never executed.)
public struct NoEffect: NavigationEffect {
    public init(from decoder: any Decoder) throws {
        throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "there is no effect"))
    }

    public func encode(to encoder: any Encoder) throws {}
}

extension Coordinator {
    public static func retries(_ effect: Effect) -> Int { 5 }

    public mutating func effectDidFail(_ effect: Effect, _ error: any Error, _ navigator: inout Navigator) throws {
        throw error
    }
}

extension Coordinator where Signal == NoSignal {
    public mutating func receive(_ signal: NoSignal, _ navigator: inout Navigator) {}
}

extension Coordinator where Effect == NoEffect {
    public func perform(_ effect: NoEffect, in context: EffectContext) -> Signal? { nil }
}

/// What an effect may depend on beside its values and its coordinator.
public struct EffectContext: Sendable {
    /// Identifies the effect to other systems, for example as the idempotency key of a payment: it is the same in every
    /// attempt, also after a crash and on another server. It cannot be guessed.
    public let effectID: String
    /// 1 for the first attempt that this server makes, 2 for the first retry.
    public let attempt: Int
    /// The time at which the attempt began.
    public let now: Date
    public let session: SessionInfo
    public let client: ClientInfo
    /// The role of the client's device; `nil` if the app declares no roles.
    public let role: DeviceRole?
    /// What the session's coordinators shared when the attempt began.
    public let shared: SharedValues
    public let defaults: Defaults
    private let dependencies: ResolvedDependencies

    init(
        _ state: NavigationState, of session: SessionInfo, effectID: String, attempt: Int, at now: Date,
        _ dependencies: ResolvedDependencies
    ) {
        self.effectID = effectID
        self.attempt = attempt
        self.now = now
        self.session = session
        self.client = state.client
        self.role = state.role
        self.shared = state.shared
        self.defaults = state.defaults
        self.dependencies = dependencies
    }

    /// The service that the app registered for a type; the coordinator's `dependencies` should list the type.
    public func resolve<Dependency: Sendable>(
        _ type: Dependency.Type = Dependency.self
    ) throws(DependencyError) -> Dependency {
        try dependencies.resolve(type)
    }
}

/// `receive` throws this to refuse a signal of another system, for example with a reference that nobody waits for. What it
/// has changed until then is dropped, and the next living coordinator that accepts the signal receives it; if there is none,
/// the system gets 409 `signal-not-accepted`. If the signal alone says that it is for another one, declare
/// `Coordinator.accepts` instead.
public struct SignalNotAccepted: Error, Equatable {
    public init() {}
}

/// The outcome of an effect made the session's state larger than it may be: `effectDidFail` gets this.
public struct OutcomeTooLarge: Error, Equatable {
    public init() {}
}

/// An attempt of an effect took longer than it may.
public struct EffectDeadlineExceeded: Error, Equatable {
    public init() {}
}
