internal import JSONCoding

/// A coordinator in the tree. Immutable: a call that changes the coordinator replaces this object by another.
public final class LivingCoordinator: Sendable {
    public let id: Int
    /// `nil` for the root.
    public let parent: Int?
    public let coordinator: any Coordinator
    let type: CoordinatorType
    /// The id of the stack on which it was started.
    package let home: Int
    /// The coordinator as JSON text, as it is saved. Made once: most coordinators do not change in most transitions.
    let encoded: [UInt8]
    /// The size of `encoded` in bytes, known without reading it.
    let encodedSize: Int

    public var name: String { type.name }

    /// The enabled events, whether or not a visible screen offers them. They depend only on the coordinator and the
    /// context.
    let enabled: EventSet
    package var enabledEvents: [EventShape] { type.events.filter { enabled.contains($0.number) } }

    /// - Throws: `impossibleRequest` if a property holds something that JSON cannot hold; `handlerFailed` if the
    ///   coordinator's own encoding fails.
    init(
        id: Int, parent: Int?, home: Int, type: CoordinatorType, coordinator: any Coordinator,
        in context: NavigationContext
    ) throws(NavigationError) {
        self.id = id
        self.parent = parent
        self.home = home
        self.type = type
        self.coordinator = coordinator
        self.enabled = type.enabledEvents(coordinator, context)
        let state: JSON
        do {
            state = try JSON(encoding: coordinator)
        } catch let error as JSONEncodingError {
            throw .unsavable(error, by: type.name)
        } catch {
            throw .handlerFailed(coordinator: type.name, call: "encode", error: ThrownError(error))
        }
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("id", id)
            writer.member("parent", ifAny: parent)
            writer.member("home", home)
            writer.member("name", type.name)
            if type.work.willBeRemoved != nil { writer.member("isTold", true) }
            writer.member("state", state)
        }
        if writer.isUnwritable { throw .unsavable(JSONEncodingError(unwritable: state), by: type.name) }
        self.encoded = writer.bytes
        self.encodedSize = writer.count
    }

    /// Stands for a coordinator that the app does not have.
    convenience init(absent name: String, of app: App, in context: NavigationContext) throws(NavigationError) {
        try self.init(
            id: 0, parent: nil, home: 0, type: CoordinatorType(removed: name, of: app),
            coordinator: RemovedCoordinator(name: name, saved: .null), in: context)
    }

    private init(_ other: LivingCoordinator, enabled: EventSet) {
        self.id = other.id
        self.parent = other.parent
        self.home = other.home
        self.type = other.type
        self.coordinator = other.coordinator
        self.encoded = other.encoded
        self.encodedSize = other.encodedSize
        self.enabled = enabled
    }

    func with(
        _ coordinator: any Coordinator, in context: NavigationContext
    ) throws(NavigationError) -> LivingCoordinator {
        if coordinator.isUntouched(since: self.coordinator) { return self }
        return try LivingCoordinator(
            id: id, parent: parent, home: home, type: type, coordinator: coordinator, in: context)
    }

    /// The same coordinator after its flow was moved to another stack.
    func moved(to home: Int, in context: NavigationContext) throws(NavigationError) -> LivingCoordinator {
        try LivingCoordinator(id: id, parent: parent, home: home, type: type, coordinator: coordinator, in: context)
    }

    /// The same coordinator after the context has changed.
    func with(_ context: NavigationContext) -> LivingCoordinator {
        let enabled = type.enabledEvents(coordinator, context)
        return enabled == self.enabled ? self : LivingCoordinator(self, enabled: enabled)
    }
}

extension Coordinator {
    /// Whether a call has left the coordinator's memory as it was, as most calls do, which only make requests.
    /// Coordinators are values, so equal memory means equal coordinators. The opposite does not hold: equal values may
    /// differ in memory.
    fileprivate func isUntouched(since before: any Coordinator) -> Bool {
        guard type(of: before) == Self.self else { return false }
        let before = before.known(as: Self.self)
        return withUnsafeBytes(of: self) { bytes in withUnsafeBytes(of: before) { bytes.elementsEqual($0) } }
    }
}
