internal import Measures

/// What has happened to connections, as counts.
public final class ConnectionMeasures: Sendable {
    public enum Happening: Int, CaseIterable, Sendable {
        case accepted
        /// Closed at once: too many from its address, or no memory for it.
        case refused
        /// Cut: its request's head took too long to arrive.
        case slowHead
        /// Cut: its request's body took too long to arrive.
        case slowBody
        /// Cut: its answer, or a part of its stream, was read too slowly.
        case slowReader
        /// Cut: it was the slowest to read its answer when the answers under way took too much memory.
        case largeAnswer
    }

    private let counts = Counts(Happening.allCases.count)

    func count(_ happening: Happening) { counts.add(at: happening.rawValue) }

    public subscript(happening: Happening) -> Int { counts[happening.rawValue] }
}
