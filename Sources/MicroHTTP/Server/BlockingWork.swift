internal import Glibc

/// Runs blocking work on a thread made for it: it must not hold up the few threads that Swift's tasks run on.
enum BlockingWork {
    private final class Work: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    /// Starts a thread, which the caller must join.
    static func thread(_ body: @escaping @Sendable () -> Void) throws(HTTPServerError) -> pthread_t {
        // Owned by the thread from its start on.
        let work = Unmanaged.passRetained(Work(body))
        let run: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { work in
            if let work { Unmanaged<Work>.fromOpaque(work).takeRetainedValue().body() }
            return nil
        }
        var thread = pthread_t()
        let code = pthread_create(&thread, nil, run, work.toOpaque())
        guard code == 0 else {
            work.release()
            throw .cannotStart(code)
        }
        return thread
    }

    static func run(_ body: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            start {
                body()
                continuation.resume()
            }
        }
    }

    /// The same, without waiting for the end.
    static func start(_ body: @escaping @Sendable () -> Void) {
        // If there is no thread for it: better here than not at all.
        guard let thread = try? thread(body) else { return body() }
        pthread_detach(thread)
    }
}
