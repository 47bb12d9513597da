internal import CMicroHTTPD
internal import Dispatch
internal import Synchronization

/// Runs the handler's task on the connection's thread. So one thread does all the work for a request. Code that resumes
/// the task, such as the store's writer, only wakes that thread, as the answer would anyway.
extension Exchange: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        switch progress.withLock({ $0.add(job) }) {
        case .onThread: break
        case .suspended: resume()
        case .gone: runElsewhere(job)
        }
    }

    /// Call when the connection ends. What is left of the handler's task, such as releasing a session's turn, runs on
    /// other threads.
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

    /// Where the connection is, the handler's answer, and the jobs that wait for the connection's thread.
    struct Progress {
        enum Place {
            /// The connection's thread runs this exchange, or will run it again before the connection ends.
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

        /// Records that the connection is suspended, unless there is something to do.
        ///
        /// - Returns: `false` if there is: then the caller must resume the connection.
        mutating func suspend() -> Bool {
            guard job == nil, response == nil else { return false }
            place = .suspended
            return true
        }

        /// - Returns: where the connection was; if it was suspended, the caller must resume it now.
        mutating func add(_ job: UnownedJob) -> Place {
            if place == .gone { return .gone }
            if self.job == nil { self.job = job } else { otherJobs.append(job) }
            return wake()
        }

        /// - Returns: whether this is the first call: only the first caller's response is sent.
        mutating func settle() -> Bool {
            defer { isSettled = true }
            return !isSettled
        }

        /// - Returns: whether the caller must resume the connection now.
        mutating func setResponse(_ response: HTTPResponse) -> Bool {
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
