/// Who may sign in.
public struct Member: Sendable, Equatable {
    public let name: String
    public let isStaff: Bool

    public init(name: String, isStaff: Bool) {
        self.name = name
        self.isStaff = isStaff
    }
}

public protocol MemberRepository: Sendable {
    /// - Returns: `nil` if the PIN is wrong, or there is no such member.
    func member(name: String, pin: String) async throws -> Member?
}

/// Two members, for trying the app. A real repository keeps hashes, and counts wrong PINs.
public struct DemoMembers: MemberRepository {
    public init() {}

    public func member(name: String, pin: String) -> Member? {
        guard pin == "1234", ["ann", "bob"].contains(name) else { return nil }
        return Member(name: name, isStaff: name == "bob")
    }
}
