internal import FoundationEssentials
internal import Glibc

/// What process 1 of a container has to do itself. The kernel takes no default action on a signal for it, so SIGTERM
/// would be ignored; and it becomes the parent of processes whose own parents have ended, and has to reap them.
enum FirstProcess {
    /// Call once, when the program starts. In any other process there is nothing to do.
    static func begin() {
        guard getpid() == 1 else { return }
        // Until `StopSignals` drains instead.
        for number in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] where !StopSignals.isIgnored(number) {
            signal(number) { _exit(128 + $0) }
        }
        Task { @concurrent in await reapOrphans() }
    }

    /// Who starts a process waits for it as soon as it ends. So a child that is found ended twice is waited for by nobody.
    private static func reapOrphans() async {
        var ended: Set<pid_t> = []
        while (try? await Task.sleep(for: .seconds(5))) != nil {
            let now = endedChildren()
            for child in now.intersection(ended) { waitpid(child, nil, WNOHANG) }
            ended = now
        }
    }

    private static func endedChildren() -> Set<pid_t> {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return Set(names.compactMap { pid_t($0) }.filter(hasEnded))
    }

    /// - Returns: `false` also if the process is no child of this one.
    private static func hasEnded(_ child: pid_t) -> Bool {
        var information = siginfo_t()
        let result = waitid(P_PID, id_t(child), &information, WEXITED | WNOHANG | WNOWAIT)
        return result == 0 && information.si_signo == SIGCHLD
    }
}
