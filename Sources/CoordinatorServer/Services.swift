internal import Glibc
internal import Logging
internal import MicroHTTP
internal import NavigationAPI
internal import ServiceLifecycle
internal import Sessions

/// Keeps the HTTP server running until a graceful shutdown is requested, then stops it.
struct HTTPService: Service {
    let program: String
    let server: HTTPServer
    let handler: NavigationHandler
    /// How long new connections are accepted after the request to stop, then how long requests under way may take.
    let drain: (delay: Duration, time: Duration)
    let address: HTTPAuthority
    /// Describes the store and what it promises.
    let store: String
    /// The path of the console, and a remark on it; `nil` if there is none.
    let console: String?
    /// The admin port; `nil` if there is none.
    let admin: HTTPAuthority?
    /// Who wants to hear of the start and the stop.
    let manager: ServiceManager?
    let logger: Logger

    func run() async {
        let file = AddressFile()
        do { try file?.write(address) } catch {
            logger.warning("\(error): `health` cannot read this server's address there")
        }
        defer { file?.remove(address) }
        LineOutput.standardOutput.write("\(program) listening on http://\(address) (store: \(store))")
        if let console { LineOutput.standardOutput.write("console: http://\(address)\(console)") }
        if let admin { LineOutput.standardOutput.write("metrics: http://\(admin)/metrics") }
        manager?.tell(.ready)
        try? await gracefulShutdown()
        manager?.tell(.stopping)
        handler.beginDraining()
        logger.info(
            "draining for \(drain.delay + drain.time) at most; Ctrl-C now stops at once",
            metadata: ["connections": .stringConvertible(server.openConnections)])
        await server.stop(after: drain.delay, within: drain.time)
    }
}

extension ServiceGroupConfiguration.ServiceConfiguration {
    /// A service of the apps may end before the server does, but not with an error.
    init(ofApps service: any Service) {
        self.init(
            service: service, successTerminationBehavior: .ignore,
            failureTerminationBehavior: .gracefullyShutdownGroup)
    }
}

/// Keeps the store open until the server has stopped. Then only services of the apps are left.
struct StoreService: Service {
    let store: any SessionStore
    let hasOthers: Bool
    let logger: Logger

    /// How long the services of the apps may take to stop, in seconds.
    private static let patience = 5

    func run() async {
        try? await gracefulShutdown()
        await store.close()
        guard hasOthers else { return }
        logger.info("stopping the apps' services, for \(StoreService.patience) s at most")
        StopSignals.exit(after: StoreService.patience, code: EX_SOFTWARE)
    }
}

/// Sweeps ended and expired sessions, independently of requests.
struct SweepService: Service {
    let host: SessionHost
    let logger: Logger

    func run() async {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                guard (try? await Task.sleep(for: .seconds(10))) != nil else { return }
                do {
                    // Repeats while a round reaches its limit.
                    while try await host.sweep() >= SessionHost.sweepLimit, !Task.isCancelled {}
                } catch {
                    logger.warning("sweeping failed: \(error)")
                }
            }
        }
    }
}

/// Tells those who watch sessions here what other servers have committed.
struct FollowingService: Service {
    let host: SessionHost

    func run() async {
        await cancelWhenGracefulShutdown {
            await host.follow()
            // A service that ends stops the others.
            while (try? await Task.sleep(for: .seconds(3600))) != nil {}
        }
    }
}
