internal import ArgumentParser
internal import Dispatch
internal import Glibc
internal import Logging
internal import ServiceLifecycle
internal import UnixSignals

/// The signals that end the server: SIGTERM, SIGINT, SIGQUIT, and SIGHUP unless it was ignored before, as under
/// `nohup`. The first one drains; SIGINT, Ctrl-C on a terminal, ends a drain at once.
struct StopSignals {
    private let signals: UnixSignalsSequence

    /// Traps the signals.
    init() async {
        var trapped: [UnixSignal] = [.sigterm, .sigint, .sigquit]
        if !StopSignals.isIgnored(SIGHUP) { trapped.append(.sighup) }
        signals = await UnixSignalsSequence(trapping: trapped)
    }

    /// Ignores the signals that would end the process and mean nothing to it. A failed write returns an error anyway:
    /// to a pipe without a reader (SIGPIPE), to a file that has reached its size limit (SIGXFSZ).
    static func ignoreOthers() {
        for number in [SIGPIPE, SIGXFSZ, SIGUSR1, SIGUSR2] { signal(number, SIG_IGN) }
    }

    /// Runs the services to their end.
    func run(_ services: ServiceGroup, logger: Logger) async throws {
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await services.run() }
            tasks.addTask { try await watch(services, logger) }
            try await tasks.next()
            tasks.cancelAll()
        }
    }

    private func watch(_ services: ServiceGroup, _ logger: Logger) async throws {
        var isDraining = false
        for await signal in signals {
            guard signal != .sigint || !isDraining else {
                logger.warning("SIGINT during the drain: what is under way is cut")
                StopSignals.exit(after: 3, code: 128 + SIGINT)
                throw StopSignals.interrupted
            }
            isDraining = true
            logger.info("\(signal)")
            await services.triggerGracefulShutdown()
        }
    }

    /// Ends the process, if it does not end before: a service of the apps may ignore that it is to stop, or hold its
    /// thread.
    static func exit(after seconds: Int, code: CInt) {
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(seconds)) { _exit(code) }
    }

    /// As shells report a process that was ended by SIGINT.
    private static let interrupted = ExitCode(128 + SIGINT)

    static func isIgnored(_ number: CInt) -> Bool {
        var action = sigaction()
        sigaction(number, nil, &action)
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}
