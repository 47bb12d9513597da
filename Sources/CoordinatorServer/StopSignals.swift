internal import Dispatch
internal import Glibc

/// Why the server stops: SIGTERM, SIGINT, SIGQUIT, SIGHUP unless it was ignored before, as under `nohup`, or the failure
/// of a service of the apps. The first reason drains; SIGINT, Ctrl-C on a terminal, ends a drain at once.
struct StopSignals {
    enum Reason: Sendable {
        case signal(CInt)
        case failure(any Error)

        var failure: (any Error)? { if case .failure(let error) = self { error } else { nil } }
    }

    /// Read by one task at a time.
    let reasons: AsyncStream<Reason>
    let continuation: AsyncStream<Reason>.Continuation
    private let sources: [any DispatchSourceSignal]

    /// Traps the signals.
    init() async {
        (reasons, continuation) = AsyncStream.makeStream(of: Reason.self)
        let trapped = [SIGTERM, SIGINT, SIGQUIT] + (StopSignals.isIgnored(SIGHUP) ? [] : [SIGHUP])
        sources = trapped.map { DispatchSource.makeSignalSource(signal: $0) }
        for (number, source) in zip(trapped, sources) {
            source.setEventHandler { [continuation] in continuation.yield(.signal(number)) }
            // Until then a signal would end the process.
            await withCheckedContinuation { registered in
                source.setRegistrationHandler { registered.resume() }
                source.activate()
            }
        }
    }

    /// Ignores the signals that would end the process and mean nothing to it. A failed write returns an error anyway:
    /// to a pipe without a reader (SIGPIPE), to a file that has reached its size limit (SIGXFSZ).
    static func ignoreOthers() {
        for number in [SIGPIPE, SIGXFSZ, SIGUSR1, SIGUSR2] { signal(number, SIG_IGN) }
    }

    static func name(of number: CInt) -> String {
        switch number {
        case SIGTERM: "SIGTERM"
        case SIGINT: "SIGINT"
        case SIGQUIT: "SIGQUIT"
        default: "SIGHUP"
        }
    }

    /// Ends the process, if it does not end before: a service of the apps may ignore that it is to stop, or hold its
    /// thread.
    static func exit(after seconds: Int, code: CInt) {
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(seconds)) { _exit(code) }
    }

    static func isIgnored(_ number: CInt) -> Bool {
        var action = sigaction()
        sigaction(number, nil, &action)
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}
