/// What runs while the server does, such as a pool of connections. Both functions may be left out.
public protocol Service: Sendable {
    /// Runs until its task is cancelled. It may end before; if it throws before, the server stops.
    func run() async throws

    /// Called after the last request, in an order opposite to that of the start, also if `run` has ended or failed. Then
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
    /// - Parameter failed: is told of those that fail before they are stopped.
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

    /// Stops one after the other, also those that have ended or failed.
    func stop() async {
        for (service, task) in services.reversed() {
            await service.stop()
            task.cancel()
            await task.value
        }
    }
}
