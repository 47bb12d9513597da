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
