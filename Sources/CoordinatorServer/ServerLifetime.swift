internal import ArgumentParser
internal import Glibc
internal import Logging
internal import MicroHTTP
internal import NavigationAPI
internal import Sessions

/// The server from the moment that it listens to its end: a signal, or the failure of a service of the apps, drains it
/// and stops one part after the other.
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
    /// The path of the console, and a remark on it; `nil` if there is none.
    let console: String?
    /// Open until the end; `nil` if there is none.
    let admin: AdminPort?
    /// Who wants to hear of the start and the stop.
    let manager: ServiceManager?
    let logger: Logger

    /// How long the services of the apps may take to stop, in seconds.
    private static let serviceGrace = 5
    /// How long what is under way may take after SIGINT during a drain, in seconds.
    private static let interruptGrace = 3
    /// As shells report a process that was ended by SIGINT.
    private static let interrupted = ExitCode(128 + SIGINT)

    /// - Throws: the first failure of a service of the apps; an exit code if the drain was interrupted.
    func run(_ services: [any Service], until signals: StopSignals) async throws {
        // A source that nobody holds traps no signal.
        defer { withExtendedLifetime(signals) {} }
        let (reasons, continuation) = (signals.reasons, signals.continuation)
        let services = RunningServices(services) { continuation.yield(.failure($0)) }
        let chores = [Task { await sweep() }, Task { await host.follow() }]
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
        if let error = await interruption.value { throw error }
    }

    private func announce() {
        let file = AddressFile()
        do { try file?.write(address) } catch {
            logger.warning("\(error): `health` cannot read this server's address there")
        }
        LineOutput.standardOutput.write("\(program) listening on http://\(address) (store: \(storeAnnouncement))")
        if let console { LineOutput.standardOutput.write("console: http://\(address)\(console)") }
        if let admin { LineOutput.standardOutput.write("metrics: http://\(admin.address)/metrics") }
        manager?.tell(.ready)
    }

    private func stop(_ services: RunningServices, _ chores: [Task<Void, Never>]) async {
        manager?.tell(.stopping)
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
                logger.warning("sweeping failed: \(error)")
            }
        }
    }
}
