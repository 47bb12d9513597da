public import JSONCoding

/// What the content of a screen may depend on beside its coordinator.
public struct ContentContext: Sendable {
    /// What the session's coordinators share.
    public let shared: SharedValues
    public let defaults: Defaults
    public let client: ClientInfo
    /// The role of the client's device; `nil` if the app declares no roles.
    public let role: DeviceRole?
    public let session: SessionInfo
    /// The time of the request.
    public let now: Date
    private let dependencies: ResolvedDependencies

    init(_ state: NavigationState, of session: String, at now: Date, _ dependencies: ResolvedDependencies) {
        self.shared = state.shared
        self.defaults = state.defaults
        self.client = state.client
        self.role = state.role
        self.session = SessionInfo(id: session, user: nil)
        self.now = now
        self.dependencies = dependencies
    }

    /// The service that the app registered for a type; the coordinator's `dependencies` should list the type.
    public func resolve<Dependency: Sendable>(
        _ type: Dependency.Type = Dependency.self
    ) throws(DependencyError) -> Dependency {
        try dependencies.resolve(type)
    }
}

/// A screen has `hasContent`, but its coordinator does not implement `content`.
struct NoContent: Error {}

/// The call of `content` for one screen, not made yet.
public struct ContentRun: Sendable {
    public let app: String
    /// The coordinator's name.
    public let coordinator: String
    /// The function as its author knows it: `content(of: detail)`.
    public let function: String
    private let living: LivingCoordinator
    private let screen: Screen
    private let context: ContentContext

    /// The most bytes of content as JSON text.
    private static let sizeLimit = 1024 * 1024

    /// - Parameters:
    ///   - key: the screen's key.
    ///   - session: the session's id.
    /// - Returns: `nil` if the state has no such screen, or the screen has no content.
    public init?(
        of key: String, in state: NavigationState, of app: App, session: String, at now: Date
    ) {
        guard let placed = state.screens.first(where: { $0.key == key }), placed.screen.hasContent,
            let living = state[placed.coordinator]
        else { return nil }
        self.app = app.name
        self.coordinator = living.name
        self.function = "content(of: \(placed.screen.name))"
        self.living = living
        self.screen = placed.screen
        self.context = ContentContext(state, of: session, at: now, app.dependencies)
    }

    /// The content as JSON text.
    package func text(observer: (any CallObserver)? = nil) async throws(NavigationError) -> [UInt8] {
        let content: JSONObject
        let call = RunningCall(function, of: living, living.type.conductOfContent)
        do {
            if let observer, try !observer.enter(call) { try await observer.leaveThread(for: call) }
            defer { observer?.leave(call) }
            content = try await living.coordinator.content(of: screen, in: context)
        } catch {
            if let overloaded = error as? Overloaded { throw .overloaded(retryAfter: overloaded.retryAfter) }
            throw .handlerFailed(coordinator: coordinator, call: function, error: ThrownError(error))
        }
        var writer = JSONWriter(capacity: 1024)
        writer.value(content)
        if writer.isUnwritable {
            let error = JSONEncodingError(unwritable: .object(content))
            throw .impossibleRequest(
                coordinator: coordinator, request: function,
                reason: "“\(error.path.joined(separator: "/"))” \(error.reason)")
        }
        let text = writer.bytes
        guard text.count <= ContentRun.sizeLimit else {
            throw .impossibleRequest(
                coordinator: coordinator, request: function, reason: "it takes more than \(ContentRun.sizeLimit) bytes")
        }
        return text
    }
}
