extension ResolvedDependencies {
    /// Of an app that registers nothing, or whose registrations are faulty.
    static let none = ResolvedDependencies(registrations: [:], singletons: [:])

    func has(_ type: any Any.Type) -> Bool {
        registrations[ObjectIdentifier(type)] != nil
    }
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
