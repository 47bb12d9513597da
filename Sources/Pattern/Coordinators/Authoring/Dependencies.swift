/// How an app's services are made, each registered under the type by which coordinators resolve it.
///
/// A type may be a protocol: `register((any LoginRepository).self) { _ in HTTPLoginRepository() }`. Registering a type
/// again replaces its registration, so a test can copy an app's dependencies and substitute its own services. Nothing
/// is made before `resolved()`.
public struct Dependencies: Sendable {
    typealias Key = ObjectIdentifier

    struct Registration: Sendable {
        /// The type's name, for error messages.
        let name: String
        let isSingleton: Bool
        /// Makes a `Made` of the type.
        let make: @Sendable (Resolver) throws -> any Sendable
    }

    /// A value with its registered type: a cast to `Made<T>` succeeds for that type and for no other.
    struct Made<T: Sendable>: Sendable {
        let value: T
    }

    private(set) var registrations: [Key: Registration] = [:]
    /// The keys in the order of their first registration, in which the services are made.
    private var order: [Key] = []

    public init() {}

    /// Registers a service that is made once, when the app starts, and shared from then on.
    public mutating func register<T: Sendable>(
        _ type: T.Type, _ make: @escaping @Sendable (Resolver) throws -> T
    ) {
        add(type, isSingleton: true, make)
    }

    /// Registers a service that is made again each time it is resolved.
    public mutating func registerFactory<T: Sendable>(
        _ type: T.Type, _ make: @escaping @Sendable (Resolver) throws -> T
    ) {
        add(type, isSingleton: false, make)
    }

    /// Makes every singleton, and tries every factory once, so that a mistake is found when the app starts.
    ///
    /// - Throws: the first mistake, in the order of registration.
    public func resolved() throws(DependencyError) -> ResolvedDependencies {
        let resolver = Resolver(registrations: registrations, singletons: Singletons([:]), path: [])
        for isSingleton in [true, false] {
            for key in order where registrations[key]?.isSingleton == isSingleton {
                guard let registration = registrations[key] else { continue }
                _ = try resolver.value(of: key, registration)
            }
        }
        return ResolvedDependencies(registrations: registrations, singletons: resolver.singletons.values)
    }

    private mutating func add<T: Sendable>(
        _ type: T.Type, isSingleton: Bool, _ make: @escaping @Sendable (Resolver) throws -> T
    ) {
        let key = Key(type)
        let registration = Registration(name: String(describing: type), isSingleton: isSingleton) { resolver in
            Made(value: try make(resolver))
        }
        if registrations.updateValue(registration, forKey: key) == nil { order.append(key) }
    }
}

/// Why a service cannot be resolved. Types and errors are given by name, for the author.
public enum DependencyError: Error, Equatable, Sendable {
    /// The type is not registered. `neededBy` is the service whose closure resolved it; `nil` if a coordinator did.
    case missing(type: String, neededBy: String?)
    /// The names of services that need each other; the first one is repeated at the end.
    case cycle([String])
    /// The service's own closure threw `error`.
    case failed(type: String, error: String)
}

extension DependencyError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .missing(let type, let user?): "\(user) needs \(type), which is not registered"
        case .missing(let type, nil): "\(type) is not registered"
        case .cycle(let types): "services need each other: \(types.joined(separator: " → "))"
        case .failed(let type, let error): "\(type) cannot be made: \(error)"
        }
    }
}

/// An app's services, ready for use: singletons are made, factories have been tried.
public struct ResolvedDependencies: Sendable {
    let registrations: [Dependencies.Key: Dependencies.Registration]
    let singletons: [Dependencies.Key: any Sendable]

    /// - Throws: `missing` for a type that is not registered; for a factory, also what `Resolver.resolve` throws.
    public func resolve<T: Sendable>(_ type: T.Type = T.self) throws(DependencyError) -> T {
        if let made = singletons[Dependencies.Key(type)] as? Dependencies.Made<T> { return made.value }
        let singletons = Dependencies.Singletons(singletons)
        return try Dependencies.Resolver(registrations: registrations, singletons: singletons, path: []).resolve(type)
    }
}

extension Dependencies {
    /// Gives a service's closure the services that it needs. Valid only during the closure's call.
    public struct Resolver {
        let registrations: [Key: Registration]
        let singletons: Singletons
        /// The services that are being made, each needed by the one before it.
        let path: [Key]
    }

    /// The singletons made so far, shared by the resolvers of one resolution, which runs on one thread.
    final class Singletons {
        var values: [Key: any Sendable]

        init(_ values: [Key: any Sendable]) {
            self.values = values
        }
    }
}

extension Dependencies.Resolver {
    /// - Throws: `DependencyError`. Do not catch it: it names the service that is missing, not the one that needs it.
    public func resolve<T: Sendable>(_ type: T.Type = T.self) throws(DependencyError) -> T {
        let key = Dependencies.Key(type)
        guard let registration = registrations[key],
            let made = try value(of: key, registration) as? Dependencies.Made<T>
        else {
            throw .missing(type: String(describing: type), neededBy: path.last.map(name))
        }
        return made.value
    }

    func value(
        of key: Dependencies.Key, _ registration: Dependencies.Registration
    ) throws(DependencyError) -> any Sendable {
        if registration.isSingleton, let made = singletons.values[key] { return made }
        if let start = path.firstIndex(of: key) {
            throw .cycle((path[start...] + [key]).map(name))
        }
        let inner = Self(registrations: registrations, singletons: singletons, path: path + [key])
        let made: any Sendable
        do {
            made = try registration.make(inner)
        } catch let error as DependencyError {
            throw error
        } catch {
            throw .failed(type: registration.name, error: String(describing: error))
        }
        if registration.isSingleton { singletons.values[key] = made }
        return made
    }

    private func name(of key: Dependencies.Key) -> String {
        registrations[key]?.name ?? ""
    }
}

extension ResolvedDependencies {
    /// For an app that registers nothing, or whose registrations are faulty.
    static let none = ResolvedDependencies(registrations: [:], singletons: [:])

    func has(_ type: any Any.Type) -> Bool {
        registrations[ObjectIdentifier(type)] != nil
    }
}
