/// What an author's function threw: its type, and of an enum the case. Never its values, which may be secrets.
public struct ThrownError: Equatable, Sendable, CustomStringConvertible {
    /// The name of the type.
    public let type: String
    /// `nil` for what is no enum.
    public let caseName: String?

    public init(type: String, caseName: String? = nil) {
        self.type = type
        self.caseName = caseName
    }

    init(_ error: any Error) {
        type = String(describing: Swift.type(of: error))
        let mirror = Mirror(reflecting: error)
        // A mirror of the author's own may hold anything.
        if mirror.displayStyle != .enum || error is any CustomReflectable {
            caseName = nil
        } else if let payload = mirror.children.first {
            caseName = payload.label
        } else {
            // Without a payload there is no value that the text could hold.
            caseName = String(describing: error)
        }
    }

    public var description: String { caseName.map { "\(type).\($0)" } ?? type }
}
