/// Where an event comes from: a network address if the server knows one, otherwise the session.
///
/// It is opaque, and equal for every event from the same place, which several clients may share. Its purpose is to
/// limit what one client may do. It is never revealed: it cannot be encoded, and prints as `•••`.
public struct ClientAddress: Sendable, Hashable {
    private enum Place: Hashable {
        case network(UInt64, UInt64)
        case name(String)
    }

    private let place: Place

    public init(_ text: String) {
        place = .name(text)
    }

    /// - Parameter bits: the bits of a network address.
    package init(bits: (UInt64, UInt64)) {
        place = .network(bits.0, bits.1)
    }
}

extension ClientAddress: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "•••" }
    public var debugDescription: String { "•••" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
