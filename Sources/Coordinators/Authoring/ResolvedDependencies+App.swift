extension ResolvedDependencies {
    /// For an app that registers nothing, or whose registrations are faulty.
    static let none = ResolvedDependencies(registrations: [:], singletons: [:])

    func has(_ type: any Any.Type) -> Bool {
        registrations[ObjectIdentifier(type)] != nil
    }
}
