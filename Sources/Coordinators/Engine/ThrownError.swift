/// The error that an author's function threw: its type and, for an enum, its case. Never its values, which may be
/// secret.
public struct ThrownError: Equatable, Sendable, CustomStringConvertible {
    /// The name of the type.
    public let type: String
    /// `nil` if the error is not an enum.
    public let caseName: String?

    public init(type: String, caseName: String? = nil) {
        self.type = type
        self.caseName = caseName
    }

    init(_ error: any Error) {
        // Names types, and no values.
        if let error = error as? DependencyError {
            type = "DependencyError"
            caseName = error.description
            return
        }
        type = String(describing: Swift.type(of: error))
        let mirror = Mirror(reflecting: error)
        // A mirror that the author wrote may hold anything.
        if mirror.displayStyle != .enum || error is any CustomReflectable {
            caseName = nil
        } else if let payload = mirror.children.first {
            caseName = payload.label
        } else {
            // Without a payload, there is no value that the text could reveal.
            caseName = String(describing: error)
        }
    }

    public var description: String {
        guard let caseName else { return type }
        return caseName.contains(" ") ? "\(type): \(caseName)" : "\(type).\(caseName)"
    }
}
