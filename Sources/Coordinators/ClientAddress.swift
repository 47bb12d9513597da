/// Where an event comes from: a network address, as far as the server knows one; else the session stands for it.
///
/// It is opaque, and equal for every event from the same place, which several clients may share. It is there for limits
/// on what one client may do, and shows nowhere: it cannot be encoded, and prints as `•••`.
public struct ClientAddress: Sendable, Hashable {
    private let text: String

    public init(_ text: String) {
        self.text = text
    }
}

extension ClientAddress: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "•••" }
    public var debugDescription: String { "•••" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
