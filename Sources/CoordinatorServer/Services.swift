internal import Logging
internal import MicroHTTP
internal import NavigationAPI
internal import ServiceLifecycle
internal import Sessions

/// Keeps the HTTP server until a graceful stop is asked for, and stops it then.
struct HTTPService: Service {
    let server: HTTPServer
    let handler: NavigationHandler
    /// How long new connections are still taken when it is to stop, and how long the requests under way may take then.
    let drain: (delay: Duration, time: Duration)
    let address: HTTPAuthority
    /// What the store is, and promises.
    let store: String
    let logger: Logger

    func run() async {
        let file = AddressFile()
        do { try file?.write(address) } catch {
            logger.warning("\(AddressFile.variable) cannot be written: `health` asks the default address")
        }
        defer { file?.remove(address) }
        LineOutput.standardOutput.write("coordinatord listening on http://\(address) (store: \(store))")
        try? await gracefulShutdown()
        handler.beginDraining()
        logger.info(
            "draining for \(drain.delay + drain.time) at most; a second Ctrl-C stops at once",
            metadata: ["connections": "\(server.openConnections)"])
        await server.stop(after: drain.delay, within: drain.time)
    }
}

/// Keeps the store until everything else has stopped.
struct StoreService: Service {
    let store: any SessionStore

    func run() async {
        try? await gracefulShutdown()
        await store.close()
    }
}

/// Forgets ended and expired sessions, off the requests' way.
struct SweepService: Service {
    let host: SessionHost
    let logger: Logger

    func run() async {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                guard (try? await Task.sleep(for: .seconds(10))) != nil else { return }
                do {
                    // As long as there is as much as one round takes.
                    while try await host.sweep() >= SessionHost.sweepLimit, !Task.isCancelled {}
                } catch {
                    logger.warning("sweeping failed: \(error)")
                }
            }
        }
    }
}
