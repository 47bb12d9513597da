/// A call of a `Navigator`'s function, performed after the function of the coordinator that made it has returned.
///
/// What records a request, the request itself, and what it does stand together in the files beside this one.
protocol Request: Sendable {
    /// The call as its author wrote it, without the values.
    var name: String { get }
    /// Whether it is performed even if the coordinator that made it has been removed in the meantime.
    var outlivesCoordinator: Bool { get }
    /// Whether only requests that outlive the coordinator may follow.
    var endsCoordinator: Bool { get }

    func perform(in run: inout TransitionRun, by coordinator: LivingCoordinator) throws(NavigationError)
}

extension Request {
    var outlivesCoordinator: Bool { false }
    var endsCoordinator: Bool { false }
}
