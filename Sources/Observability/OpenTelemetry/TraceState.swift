/// The value of `tracestate`, which is passed on as it came.
///
/// Source: W3C Trace Context, section 3.3. Its members are `key=value`, separated by commas.
public struct TraceState: Sendable, Equatable {
    public let text: String

    /// - Returns: `nil` if the text is empty, malformed, or longer than the 512 bytes that must be passed on.
    init?(_ text: String) {
        guard text.utf8.count <= TraceState.longest else { return nil }
        // A member may be empty.
        let members = text.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: true)
            .map(TraceState.trimmed).filter { !$0.isEmpty }
        guard (1...TraceState.mostMembers).contains(members.count), members.allSatisfy(TraceState.isMember) else {
            return nil
        }
        self.text = members.map { String(Substring($0)) }.joined(separator: ",")
    }

    private static let longest = 512
    private static let mostMembers = 32

    private static func trimmed(_ member: Substring.UTF8View) -> Substring.UTF8View {
        var member = member
        while let first = member.first, isWhiteSpace(first) { member.removeFirst() }
        while let last = member.last, isWhiteSpace(last) { member.removeLast() }
        return member
    }

    private static func isWhiteSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

    private static func isMember(_ member: Substring.UTF8View) -> Bool {
        let parts = member.split(separator: UInt8(ascii: "="), omittingEmptySubsequences: false)
        guard parts.count == 2, (1...256).contains(parts[0].count), (1...256).contains(parts[1].count),
            let first = parts[0].first, isLetterOrDigit(first)
        else { return false }
        return parts[0].allSatisfy { isLetterOrDigit($0) || "_-*/@".utf8.contains($0) }
            && parts[1].allSatisfy { (0x20...0x7E).contains($0) }
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
