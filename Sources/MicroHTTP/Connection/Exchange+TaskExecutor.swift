internal import CMicroHTTPD
internal import Dispatch
internal import Synchronization

/// Runs the handler's task on the connection's thread. So a request is worked on by one thread only, and whoever resumes
/// the task, the store's writer for one, only wakes that thread, as it had to for the answer anyway.
extension Exchange: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        switch progress.withLock({ $0.take(job) }) {
        case .onThread: break
        case .suspended: resume()
        case .gone: runElsewhere(job)
        }
    }

    /// The connection ends. What its task has left to do, giving back a session's turn for one, is done all the same.
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

    /// How far the handler is, and what waits for the connection's thread.
    struct Progress {
        enum Place {
            /// The connection's thread is here, or it comes before the connection ends.
            case onThread
            /// The connection is suspended.
            case suspended
            case gone
        }

        enum Step {
            case run(UnownedJob)
            case answer(HTTPResponse)
            /// libmicrohttpd has taken no response, for it stops.
            case close
            case wait
        }

        private var place = Place.onThread
        /// The task's, and those of its child tasks, if it ever has any.
        private var job: UnownedJob?
        private var otherJobs: [UnownedJob] = []
        private var isSettled = false
        private var response: HTTPResponse?
        private var hasAnswered = false

        /// What the connection's thread is to do.
        mutating func next() -> Step {
            if let response {
                // What it holds is not needed while it is sent.
                self.response = nil
                hasAnswered = true
                return .answer(response)
            }
            if hasAnswered { return .close }
            guard let job else { return .wait }
            self.job = otherJobs.popLast()
            return .run(job)
        }

        /// - Returns: `false` where there is something to do.
        mutating func suspend() -> Bool {
            guard job == nil, response == nil else { return false }
            place = .suspended
            return true
        }

        /// - Returns: where the connection was; a suspended one is to be resumed now.
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

        /// - Returns: whether the connection is to be resumed now.
        mutating func take(_ response: HTTPResponse) -> Bool {
            self.response = response
            return wake() == .suspended
        }

        /// - Returns: what will not be done on the connection's thread.
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
