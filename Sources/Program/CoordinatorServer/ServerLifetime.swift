internal import ArgumentParser
internal import ByteText
internal import Dispatch
internal import FoundationEssentials
internal import Glibc
internal import Logging
internal import MicroHTTP
internal import NavigationAPI
internal import Sessions

/// The server from the moment that it listens to its end. A signal, or the failure of an app's service, drains it; then
/// its parts are stopped one after the other.
struct ServerLifetime {
    let program: String
    let server: HTTPServer
    let handler: NavigationHandler
    /// How long new connections are accepted after the request to stop, then how long requests under way may take.
    let drain: (delay: Duration, time: Duration)
    let address: HTTPAuthority
    let host: SessionHost
    let store: any SessionStore
    /// Describes the store and what it promises.
    let storeAnnouncement: String
    /// The address of the console, and a remark on it; `nil` if there is none.
    let console: String?
    /// Open until the end; `nil` if there is none.
    let admin: AdminPort?
    /// Notified of the start and the stop; `nil` if there is none.
    let manager: ServiceManager?
    let logger: Logger
    /// Of what is written to standard output.
    let format: LineLogHandler.Format
    /// Read again when they change.
    let keyFiles: [KeyFile]

    /// How long the services of the apps may take to stop, in seconds.
    private static let serviceGrace = 5
    /// How long a stop may take beyond the drain, in seconds.
    static let stopGrace = serviceGrace + 5
    /// How long what is under way may take after SIGINT during a drain, in seconds.
    private static let interruptGrace = 3
    /// As shells report a process that was ended by SIGINT.
    private static let interrupted = ExitCode(128 + SIGINT)

    /// - Throws: the first failure of a service of the apps; an exit code if the drain was interrupted.
    func run(_ services: [any Service], until signals: StopSignals) async throws {
        // A signal source that is released traps no signal.
        defer { withExtendedLifetime(signals) {} }
        let (reasons, continuation) = (signals.reasons, signals.continuation)
        let services = RunningServices(services) { continuation.yield(.failure($0)) }
        let chores =
            [
                Task { await sweep() }, Task { await host.follow() }, Task { await host.keepWatchedAlive() },
                Task { await host.fireTimers() }, Task { await host.resumeEffects() },
            ] + keyFiles.map { file in Task { await file.follow() } }
        announce()
        let first = await reasons.first { _ in true }
        if case .signal(let number) = first { logger.info("\(StopSignals.name(of: number))") }

        let stop = Task { await self.stop(services, chores) }
        let interruption = Task { () -> (any Error)? in
            var failure = first?.failure
            for await reason in reasons {
                failure = failure ?? reason.failure
                if case .signal(SIGINT) = reason {
                    logger.warning("SIGINT during the drain: what is under way is cut")
                    StopSignals.exit(after: ServerLifetime.interruptGrace, code: ServerLifetime.interrupted.rawValue)
                    stop.cancel()
                    return ServerLifetime.interrupted
                }
            }
            return failure
        }
        await stop.value
        interruption.cancel()
        let failure = await interruption.value
        if case .signal(let number) = first { logger.info("stopped by \(StopSignals.name(of: number))") }
        if let failure { throw failure }
    }

    private func announce() {
        let file = AddressFile()
        do throws(UnusableFile) { try file?.write(address) } catch {
            logger.warning("\(error.reason): `health` cannot read this server's address there")
        }
        announce("\(program) listening on http://\(address) (store: \(storeAnnouncement))")
        if let console { announce("console: http://\(console)") }
        if let admin { announce("metrics: http://\(admin.address)/metrics") }
        manager?.notifyOfStart()
    }

    private func announce(_ text: String) {
        let line = format == .json ? LineLogHandler.line(.info, text, by: "server", .json) : text
        LineOutput.standardOutput.write(line)
    }

    private func stop(_ services: RunningServices, _ chores: [Task<Void, Never>]) async {
        manager?.notify(.stopping)
        handler.beginDraining()
        logger.info(
            "draining for \(drain.delay + drain.time) at most; Ctrl-C now stops at once",
            metadata: ["connections": .stringConvertible(server.openConnections)])
        await server.stop(after: drain.delay, within: drain.time)
        AddressFile()?.remove(address)
        for chore in chores {
            chore.cancel()
            await chore.value
        }
        await store.close()
        if !services.isEmpty {
            logger.info("stopping the apps' services, for \(ServerLifetime.serviceGrace) s at most")
            StopSignals.exit(after: ServerLifetime.serviceGrace, code: EX_SOFTWARE)
            await services.stop()
        }
        await admin?.stop()
    }

    /// Sweeps ended and expired sessions, independently of requests.
    private func sweep() async {
        while (try? await Task.sleep(for: .seconds(10))) != nil {
            do {
                // Repeats while a round reaches its limit.
                while try await host.sweep() >= SessionHost.sweepLimit, !Task.isCancelled {}
            } catch {
                Logger(label: "store").warning("sweeping failed: \(error)")
            }
        }
    }
}

/// Why the server stops: SIGTERM, SIGINT or SIGQUIT; SIGHUP, unless it was ignored before, as under `nohup`; or the
/// failure of an app's service. The first reason drains; SIGINT, Ctrl-C on a terminal, ends a drain at once.
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
    ///
    /// - Parameter limit: how many seconds after a signal the process ends in any case: apps may block the threads of
    ///   connections, and all threads that Swift's tasks run on.
    init(limit: Int) async {
        (reasons, continuation) = AsyncStream.makeStream(of: Reason.self)
        let trapped = [SIGTERM, SIGINT, SIGQUIT] + (StopSignals.isIgnored(SIGHUP) ? [] : [SIGHUP])
        sources = trapped.map { DispatchSource.makeSignalSource(signal: $0) }
        for (number, source) in zip(trapped, sources) {
            source.setEventHandler { [continuation] in
                StopSignals.exit(after: limit, code: EX_SOFTWARE, because: "the server did not stop in \(limit) s")
                continuation.yield(.signal(number))
            }
            // Until it is registered, the signal would end the process.
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

    /// Ends the process, unless it has ended before: an app's service may ignore its cancellation, or block its thread.
    static func exit(after seconds: Int, code: CInt, because reason: String? = nil) {
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(seconds)) {
            if let reason {
                Logger(label: "server").critical("\(reason): does an app block its threads?")
                LineOutput.standardError.flush(milliseconds: 500)
            }
            _exit(code)
        }
    }

    static func isIgnored(_ number: CInt) -> Bool {
        var action = sigaction()
        sigaction(number, nil, &action)
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}

/// What an app runs while the server runs, such as a pool of connections. Both functions may be left out.
public protocol Service: Sendable {
    /// Runs until its task is cancelled. It may return earlier; if it throws earlier, the server stops.
    func run() async throws

    /// Called after the last request, in the reverse order of the start, even if `run` has ended or failed. Afterwards
    /// the task of `run` is cancelled.
    func stop() async
}

extension Service {
    public func run() async throws {}
    public func stop() async {}
}

/// The services of the apps, from their start to their end.
struct RunningServices {
    private let services: [(service: any Service, task: Task<Void, Never>)]

    /// Starts the services.
    ///
    /// - Parameter failed: receives the error of each service that fails before it is stopped.
    init(_ services: [any Service], failed: @escaping @Sendable (any Error) -> Void) {
        self.services = services.map { service in
            let task = Task {
                do { try await service.run() } catch {
                    if !Task.isCancelled { failed(error) }
                }
            }
            return (service, task)
        }
    }

    var isEmpty: Bool { services.isEmpty }

    /// Stops the services one after the other, even those that have ended or failed.
    func stop() async {
        for (service, task) in services.reversed() {
            await service.stop()
            task.cancel()
            await task.value
        }
    }
}

/// The service manager that has started the process and expects notifications of its state, such as systemd with
/// `Type=notify`: see sd_notify(3).
struct ServiceManager: Sendable, Equatable {
    enum State: String {
        case ready = "READY=1"
        case stopping = "STOPPING=1"
        /// A sign of life.
        case alive = "WATCHDOG=1"
    }

    /// The path of a datagram socket; an `@` at the beginning stands for Linux' abstract name space.
    let socket: String
    /// How long the manager waits for a sign of life before it kills the process; `nil` if it needs none.
    let watchdogTime: Duration?

    /// - Returns: `nil` if no manager expects notifications.
    init?(_ environment: [String: String] = ProcessInfo.processInfo.environment, processID: pid_t = getpid()) {
        guard let socket = environment["NOTIFY_SOCKET"], socket.begins(with: "/") || socket.begins(with: "@") else {
            return nil
        }
        self.socket = socket
        // The variables may be meant for the process that has started this one.
        let isMeant = environment["WATCHDOG_PID"].map { $0 == "\(processID)" } ?? true
        let microseconds = environment["WATCHDOG_USEC"].flatMap { Int($0) } ?? 0
        watchdogTime = isMeant && microseconds > 0 ? .microseconds(microseconds) : nil
    }

    /// Sends signs of life until the process ends, if the manager needs them. They are sent from the threads that
    /// coordinators run on, so that they stop when coordinators block all of these.
    func keepAlive() {
        guard let watchdogTime else { return }
        Task { @concurrent in
            while true {
                notify(.alive)
                try? await Task.sleep(for: watchdogTime / 3)
            }
        }
    }

    /// Says that the server is ready, as soon as the manager has room for that: it would end a server that does not.
    func notifyOfStart() {
        guard !notify(.ready) else { return }
        Task { while (try? await Task.sleep(for: .milliseconds(100))) != nil, !notify(.ready) {} }
    }

    /// Never blocks: if the manager does not read, the notification is lost.
    ///
    /// - Returns: `false` if it is lost because the manager has no room now.
    @discardableResult
    func notify(_ state: State) -> Bool {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let name = Array(socket.utf8)
        guard name.count < MemoryLayout.size(ofValue: address.sun_path) else { return true }
        withUnsafeMutableBytes(of: &address.sun_path) {
            $0.copyBytes(from: name[0] == UInt8(ascii: "@") ? [0] + name.dropFirst() : name)
        }
        let size = socklen_t(MemoryLayout<sockaddr_un>.offset(of: \.sun_path)! + name.count)
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        let text = Array(state.rawValue.utf8)
        let sent = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(descriptor, text, text.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT), $0, size)
            }
        }
        return sent >= 0 || errno != EAGAIN && errno != ENOBUFS
    }
}
