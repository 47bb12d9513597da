internal import Coordinators

// What a server knows of a session, for handlers that ask for it.
extension TransitionOrigin {
    /// - Parameter transition: its number in the session, from 1.
    static func test(
        session: String = CoordinatorTester.someID, transition: Int = 1, user: String? = nil, isDryRun: Bool = false,
        directory: (any SessionDirectory)? = nil
    ) -> TransitionOrigin {
        TransitionOrigin(session: session, user: user, isDryRun: isDryRun, directory: directory) {
            "t_\(session.dropFirst(2))_\(transition)"
        }
    }
}
