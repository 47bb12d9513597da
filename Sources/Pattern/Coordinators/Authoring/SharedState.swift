public import JSONCoding

/// A value that all coordinators of a session share: who has signed in, what is in the cart.
///
/// ```swift
/// struct Cart: SharedState { var items: [Int] = [] }
///
/// navigator.shared[Cart.self].items.append(7)
/// context.shared[Cart.self].items.isEmpty
/// ```
///
/// The app lists the type, see `App`. If an older version of the type saved a value, `init()` supplies the members that
/// it lacks.
public protocol SharedState: Codable, Sendable {
    /// The value until a coordinator assigns one.
    init()

    /// The name in saved sessions, unique in an app. By default the type's name, its first letter in lower case.
    static var name: String { get }

    /// Whether the value is kept when the built-in event `relaunch` starts the tree again.
    static var survivesRelaunch: Bool { get }

    /// Converts the value from the form in which an older version of the app saved it to the present one.
    ///
    /// - Parameter version: the version of the app that saved it.
    static func migrate(_ saved: JSON, from version: Int) throws -> JSON

    /// The value for a session that an older version of the app saved without one, if that version kept it elsewhere,
    /// such as in a coordinator.
    ///
    /// - Returns: `nil` for `init()`.
    static func recover(from session: SavedSession) throws -> Self?
}

/// A session as an older version of the app saved it.
public struct SavedSession: Sendable {
    /// The version of the app that saved it.
    public let version: Int
    public let defaults: JSONObject
    let coordinators: [SavedCoordinator]

    /// The first coordinator of that name as it was saved, parents before their children; `nil` if there is none.
    public func coordinator(_ name: String) -> JSON? { coordinators.first { $0.name == name }?.state }
}

extension SharedState {
    public static var name: String {
        let type = String(describing: Self.self)
        return type.prefix(1).lowercased() + type.dropFirst()
    }

    public static var survivesRelaunch: Bool { false }
    public static func migrate(_ saved: JSON, from version: Int) throws -> JSON { saved }
    public static func recover(from session: SavedSession) throws -> Self? { nil }
}

/// The shared values of a session.
public struct SharedValues: Sendable {
    /// Replaced as a whole, because most events leave it as it is.
    private var kept: Kept
    /// The values that the running function of a coordinator has assigned, at most one of each type.
    private var assigned: [any SharedState] = []

    private final class Kept: Sendable {
        let values: [any SharedState]
        /// The values as they are saved, by their types' names.
        let saved: JSONObject
        /// `saved` as JSON text.
        let encoded: [UInt8]
        /// See `JSONWriter.isUnwritable`.
        let isUnwritable: Bool

        init(_ values: [any SharedState], _ saved: JSONObject) {
            self.values = values
            self.saved = saved
            var writer = JSONWriter(capacity: 64)
            writer.value(saved)
            self.encoded = writer.bytes
            self.isUnwritable = writer.isUnwritable
        }
    }

    static let none = SharedValues(Kept([], [:]))

    private init(_ kept: Kept) {
        self.kept = kept
    }

    /// The value of that type; `Value()` if none has been assigned.
    public subscript<Value: SharedState>(type: Value.Type) -> Value {
        get {
            let value = assigned.first { $0 is Value } ?? kept.values.first { $0 is Value }
            return value as? Value ?? Value()
        }
        set {
            assigned.removeAll { $0 is Value }
            assigned.append(newValue)
        }
    }

    /// The kept values as JSON text. Assigned values are not among them until `keep`.
    package var encoded: [UInt8] { kept.encoded }

    var isEmpty: Bool { kept.saved.isEmpty }

    /// Keeps the assigned values.
    ///
    /// - Throws: `impossibleRequest` if the app does not list a value's type, or if JSON cannot hold a value;
    ///   `handlerFailed` if a value's own encoding fails.
    mutating func keep(for types: [SharedType], by coordinator: LivingCoordinator) throws(NavigationError) {
        guard !assigned.isEmpty else { return }
        var values = kept.values
        var saved = kept.saved
        for value in assigned {
            let type = Swift.type(of: value)
            guard types.contains(where: { $0.type == type }) else {
                throw .impossibleRequest(
                    coordinator: coordinator.name, request: "shared[\(type).self]",
                    reason: "the app's list of shared states lacks it")
            }
            do {
                saved[type.name] = try JSON(encoding: value)
            } catch let error as JSONEncodingError {
                throw .unsavable(error, of: "shared/\(type.name)", by: coordinator.name)
            } catch {
                throw .handlerFailed(coordinator: coordinator.name, call: "encode", error: ThrownError(error))
            }
            values.removeAll { Swift.type(of: $0) == type }
            values.append(value)
        }
        assigned = []
        guard saved != kept.saved else { return }
        // In the app's order, so that equal values give equal bytes.
        kept = Kept(values, JSONObject(types.compactMap { type in saved[type.name].map { (type.name, $0) } }))
        if kept.isUnwritable {
            throw .unsavable(JSONEncodingError(unwritable: .object(saved)), of: "shared", by: coordinator.name)
        }
    }

    /// The values that `relaunch` keeps.
    var surviving: SharedValues {
        let values = kept.values.filter { type(of: $0).survivesRelaunch }
        guard values.count < kept.values.count else { return self }
        let names = Set(values.map { type(of: $0).name })
        // In the app's order, as in `keep`.
        let saved = kept.saved.names.filter(names.contains).compactMap { name in kept.saved[name].map { (name, $0) } }
        return SharedValues(Kept(values, JSONObject(saved)))
    }

    /// Restores saved values, without those that no longer fit.
    ///
    /// - Returns: the values, and the losses: values that do not fit, and, if this version of the app saved the
    ///   session, members that this declaration lacks.
    static func restored(
        _ saved: JSONObject, of session: SavedSession, as types: [SharedType]
    ) -> (SharedValues, lost: [Loss]) {
        var values: [any SharedState] = []
        var fitting: JSONObject = [:]
        var lost = saved.names.filter { name in !types.contains { $0.name == name } }
            .map { Loss.shared(name: $0, reason: nil) }
        for type in types {
            do {
                guard let value = try type.restored(saved[type.name], of: session) else { continue }
                let encoded = try JSON(encoding: value)
                if type.version == session.version, let before = saved[type.name],
                    let member = encoded.memberMissing(of: before)
                {
                    lost.append(.shared(name: "\(type.name)/\(member)", reason: nil))
                }
                fitting[type.name] = encoded
                values.append(value)
            } catch {
                let reason = (error as? JSONDecodingError)?.explanation(of: "what is saved")
                lost.append(.shared(name: type.name, reason: reason))
            }
        }
        return (SharedValues(Kept(values, fitting)), lost)
    }
}

extension SharedValues: Equatable {
    public static func == (left: SharedValues, right: SharedValues) -> Bool {
        left.kept === right.kept || left.kept.encoded == right.kept.encoded
    }
}

/// What the engine knows about a type of shared state.
final class SharedType: Sendable {
    let name: String
    let type: any SharedState.Type
    /// The app's version.
    fileprivate let version: Int
    private let blank: JSON?
    /// The mistakes in the declaration, for the author.
    let problems: [String]

    init<Value: SharedState>(_ type: Value.Type, version: Int) {
        self.name = type.name
        self.type = type
        self.version = version
        (self.blank, self.problems) = JSON.saved(Value(), as: "\(Value.self)()")
    }

    /// - Parameter saved: `nil` if the session was saved without a value of this type.
    func restored(_ saved: JSON?, of session: SavedSession) throws -> (any SharedState)? {
        guard session.version < version else { return try saved.map { try type.restored(from: $0, blank) } }
        guard let saved else { return try type.recover(from: session) }
        return try type.restored(from: type.migrate(saved, from: session.version), blank)
    }
}

extension SharedState {
    fileprivate static func restored(from saved: JSON, _ blank: JSON?) throws(JSONDecodingError) -> any SharedState {
        try saved.decode(as: Self.self, completedFrom: blank)
    }
}

extension JSON {
    /// A value from an author's declaration as it is saved.
    ///
    /// - Parameter name: the value's name in the problems.
    /// - Returns: the value, or why it cannot be saved, for the author.
    static func saved(_ value: some Encodable, as name: String) -> (JSON?, problems: [String]) {
        do {
            let saved = try JSON(encoding: value)
            return (saved, [])
        } catch let error as JSONEncodingError {
            return (nil, ["\(name): “\(error.path.joined(separator: "/"))” \(error.reason)"])
        } catch {
            return (nil, [])
        }
    }
}

/// Small values kept for the session, also when `relaunch` starts the tree again.
public struct Defaults: Sendable {
    /// Replaced as a whole, because most events leave it as it is.
    private var content: Content

    private final class Content: Sendable {
        let values: JSONObject
        /// The values as they are saved: JSON text.
        let encoded: [UInt8]
        /// See `JSONWriter.isUnwritable`.
        let isUnwritable: Bool

        init(_ values: JSONObject) {
            self.values = values
            var writer = JSONWriter()
            writer.value(values)
            self.encoded = writer.bytes
            self.isUnwritable = writer.isUnwritable
        }
    }

    public init() {
        self.init([:])
    }

    init(_ values: JSONObject) {
        content = Content(values)
    }

    package var encoded: [UInt8] { content.encoded }

    /// Names the value that JSON cannot hold; `nil` if it can hold them all.
    var unwritable: JSONEncodingError? {
        content.isUnwritable ? JSONEncodingError(unwritable: .object(content.values)) : nil
    }

    /// The value of that name; `nil` if there is none. Assigning `nil` removes the value.
    public subscript(name: String) -> JSON? {
        get { content.values[name] }
        set {
            var values = content.values
            values[name] = newValue
            content = Content(values)
        }
    }
}

extension Defaults: Equatable {
    public static func == (left: Defaults, right: Defaults) -> Bool {
        left.content === right.content || left.encoded == right.encoded
    }
}
