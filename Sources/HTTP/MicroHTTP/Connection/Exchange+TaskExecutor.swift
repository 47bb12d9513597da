internal import CMicroHTTPD
internal import Dispatch
internal import Synchronization

/// Runs the handler's task on the connection's thread. So only one thread works on a request, and whatever resumes the
/// task, such as the store's writer, only wakes that thread, which the answer would require anyway.
extension Exchange: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        switch progress.withLock({ $0.take(job) }) {
        case .onThread: break
        case .suspended: resume()
        case .gone: runElsewhere(job)
        }
    }

    /// Call when the connection ends. The rest of its task's work, such as releasing a session's turn, is still done.
    func leaveThread() {
        for job in progress.withLock({ $0.leaveThread() }) { runElsewhere(job) }
    }

    private func runElsewhere(_ job: UnownedJob) {
        DispatchQueue.global().async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }

    func resume() {
        if let connection { MHD_resume_connection(connection) }
        core.unregister(self)
    }

    /// How far the handler is, and the work that waits for the connection's thread.
    struct Progress {
        enum Place {
            /// The connection's thread is at work here, or will be again before the connection ends.
            case onThread
            /// The connection is suspended.
            case suspended
            case gone
        }

        enum Step {
            case run(UnownedJob)
            case answer(HTTPResponse)
            /// libmicrohttpd has accepted no response, because it is stopping.
            case close
            case wait
        }

        private var place = Place.onThread
        /// The task's jobs, and those of its child tasks, if it ever has any.
        private var job: UnownedJob?
        private var otherJobs: [UnownedJob] = []
        private var isSettled = false
        private var response: HTTPResponse?
        private var hasAnswered = false

        /// The next step for the connection's thread.
        mutating func next() -> Step {
            if let response {
                // Frees the response: libmicrohttpd sends a copy.
                self.response = nil
                hasAnswered = true
                return .answer(response)
            }
            if hasAnswered { return .close }
            guard let job else { return .wait }
            self.job = otherJobs.popLast()
            return .run(job)
        }

        /// - Returns: `false` if there is something to do.
        mutating func suspend() -> Bool {
            guard job == nil, response == nil else { return false }
            place = .suspended
            return true
        }

        /// - Returns: where the connection was; if it was suspended, the caller must resume it now.
        mutating func take(_ job: UnownedJob) -> Place {
            if place == .gone { return .gone }
            if self.job == nil { self.job = job } else { otherJobs.append(job) }
            return wake()
        }

        /// - Returns: whether the caller is the first, whose response counts.
        mutating func settle() -> Bool {
            defer { isSettled = true }
            return !isSettled
        }

        /// - Returns: whether the caller must resume the connection now.
        mutating func take(_ response: HTTPResponse) -> Bool {
            self.response = response
            return wake() == .suspended
        }

        /// - Returns: the jobs that will not run on the connection's thread.
        mutating func leaveThread() -> [UnownedJob] {
            place = .gone
            defer { (job, otherJobs) = (nil, []) }
            return otherJobs + (job.map { [$0] } ?? [])
        }

        private mutating func wake() -> Place {
            defer { if place == .suspended { place = .onThread } }
            return place
        }
    }
}
