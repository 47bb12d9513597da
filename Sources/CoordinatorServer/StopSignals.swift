internal import ArgumentParser
internal import Glibc
internal import Logging
internal import ServiceLifecycle
internal import UnixSignals

/// The signals that end the server: SIGTERM, SIGINT, SIGQUIT, and SIGHUP unless it was ignored before, as `nohup` has it.
/// The first one drains; a second SIGINT, Ctrl-C on a terminal, ends that at once.
struct StopSignals {
    private let signals: UnixSignalsSequence

    /// Traps them.
    init() async {
        var trapped: [UnixSignal] = [.sigterm, .sigint, .sigquit]
        if !StopSignals.isIgnored(SIGHUP) { trapped.append(.sighup) }
        signals = await UnixSignalsSequence(trapping: trapped)
    }

    /// Those that would end the process, and mean nothing to it. What a failed write means, the one who writes is told:
    /// to a pipe that nobody reads any more (SIGPIPE), to a file that has reached its limit (SIGXFSZ).
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
        var interruptions = 0
        for await signal in signals {
            if signal == .sigint { interruptions += 1 }
            guard interruptions < 2 else {
                logger.warning("SIGINT again: what is under way is cut")
                throw StopSignals.interrupted
            }
            logger.info("\(signal)")
            await services.triggerGracefulShutdown()
        }
    }

    /// As shells report a process that SIGINT has ended.
    private static let interrupted = ExitCode(128 + SIGINT)

    static func isIgnored(_ number: CInt) -> Bool {
        var action = sigaction()
        sigaction(number, nil, &action)
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}
