internal import FoundationEssentials
internal import Sessions
internal import Synchronization

/// Something that an operator has to know.
enum StoreTrouble: Sendable {
    /// Data that a session needs is damaged: the session is refused. `nil` if it is not known which.
    case session(SessionID?, String)
    /// Data that may be derived from the journal is damaged: it is rebuilt when the store is next opened.
    case derived(String)
    /// A background chore has failed, and is tried again.
    case chore(String)

    /// Troubles with the same subject count as the same trouble.
    fileprivate var subject: String {
        switch self {
        case .session(let id?, _): id.text
        case .session(nil, let what), .derived(let what), .chore(let what): what
        }
    }

    fileprivate var text: String {
        switch self {
        case .session(let id?, let what): "session \(id.text) is refused: \(what)"
        case .session(nil, let what), .chore(let what): what
        case .derived(let what): "\(what); the next start rebuilds the store from its journal, if that is sound"
        }
    }
}

/// The troubles of a store: each is reported at once, and again after a minute at the earliest.
final class StoreTroubles: Sendable {
    private struct State {
        var reportedAt: [String: Date] = [:]
        var damagedSessions: Set<SessionID> = []
        var remarks: [String] = []
        /// Why nothing can be committed now.
        var failure: String?
        /// Whether the log says that there is no room.
        var isFullInLog = false
        /// Bytes of the write-ahead log.
        var logBytes = 0

        /// Why the store is not ready because of that.
        var longLog: String? {
            logBytes < StoreTroubles.tooLongLog
                ? nil : "the write-ahead log has \(logBytes >> 20) MiB, because another program reads the store"
        }
    }

    private let state = Mutex(State())
    /// Whether `failure` is set, for reading without the lock.
    private let isFailing = Atomic(false)
    private let full = Atomic(false)
    private let marker: String
    private let log: @Sendable (String) -> Void
    private let now: @Sendable () -> Date

    private static let silence: TimeInterval = 60
    private static let largestCount = 1000
    private static let remarkLimit = 8
    /// It may also be the disk that is full.
    private static let full = """
        the store or its disk is full: sessions can be read; they are ended, and devices revoked, while the room set aside \
        for that lasts; nothing else is accepted
        """

    /// - Parameter marker: the path of the file that is created when the store has to be rebuilt.
    init(
        marker: String, log: @escaping @Sendable (String) -> Void, now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.marker = marker
        self.log = log
        self.now = now
    }

    func report(_ trouble: StoreTrouble) {
        let now = now()
        let isNews = state.withLock { state in
            if state.reportedAt.count >= StoreTroubles.largestCount {
                state.reportedAt = state.reportedAt.filter { now.timeIntervalSince($0.value) < StoreTroubles.silence }
            }
            switch trouble {
            case .session(let id?, _):
                if state.damagedSessions.count < StoreTroubles.largestCount { state.damagedSessions.insert(id) }
            case .session(nil, let what), .derived(let what):
                if state.remarks.count < StoreTroubles.remarkLimit, !state.remarks.contains(what) {
                    state.remarks.append(what)
                }
            case .chore: break
            }
            if let last = state.reportedAt[trouble.subject], now.timeIntervalSince(last) < StoreTroubles.silence {
                return false
            }
            guard state.reportedAt.count < StoreTroubles.largestCount else { return false }
            state.reportedAt[trouble.subject] = now
            return true
        }
        guard isNews else { return }
        if case .chore = trouble {} else { StoreDirectory.touch(marker) }
        log(trouble.text)
    }

    /// Records that nothing can be committed until `recover`.
    func fail(_ reason: String) {
        let isNews = state.withLock { state in
            defer { state.failure = reason }
            return state.failure != reason
        }
        isFailing.store(true, ordering: .releasing)
        if isNews { log("nothing can be committed: \(reason)") }
    }

    func recover() {
        guard isFailing.load(ordering: .acquiring) else { return }
        isFailing.store(false, ordering: .releasing)
        state.withLock { $0.failure = nil }
        log("commits succeed again")
    }

    /// From which size of the write-ahead log on, in bytes, the log says so; and the store is not ready. It is restarted at
    /// a fraction of that, unless another program reads the store without a pause.
    private static let (longLog, tooLongLog) = (256 << 20, 1 << 30)

    /// Notes how long the write-ahead log is, in bytes. Commits go on, however long it is.
    func noteLog(_ bytes: Int) {
        let isLong = bytes >= StoreTroubles.longLog
        let wasLong = state.withLock { state in
            defer { state.logBytes = bytes }
            return state.logBytes >= StoreTroubles.longLog
        }
        guard isLong != wasLong else { return }
        log(
            !isLong
                ? "the write-ahead log is short again"
                : """
                the write-ahead log has \(bytes >> 20) MiB and grows, because another program reads the store: end that; at \
                \(StoreTroubles.tooLongLog >> 30) GiB the store is not ready
                """)
    }

    /// Whether there was no room for the last commit, and there has been none since.
    var isFull: Bool { full.load(ordering: .relaxed) }

    func setFull(_ isFull: Bool) {
        if self.isFull != isFull { full.store(isFull, ordering: .relaxed) }
        if isFull { logRoom() }
    }

    /// Logs that the store has become full, or has room again. Call now and then: while large changes are refused and
    /// small ones fit, the log would have nothing else.
    func logRoom() {
        let isFull = isFull
        let isNews = state.withLock { state in
            defer { state.isFullInLog = isFull }
            return state.isFullInLog != isFull
        }
        if isNews { log(isFull ? StoreTroubles.full : "the store has room again") }
    }

    var condition: StoreCondition {
        let full = isFull ? StoreTroubles.full : nil
        return state.withLock { state in
            let count = state.damagedSessions.count
            let sessions = count > 0 ? ["damaged sessions: \(count); `check` lists them"] : []
            return StoreCondition(
                failure: state.failure ?? state.longLog, full: full, remarks: sessions + state.remarks)
        }
    }
}

/// Reports the progress of work that delays the opening of a store: a line every five seconds.
struct OpeningProgress {
    private static let interval = Duration.seconds(5)

    /// The work, with which each line begins.
    let work: String
    /// The number of the last row.
    let last: Int
    let report: (String) -> Void
    private var next = ContinuousClock.now + interval

    init(_ work: String, last: Int, _ report: @escaping (String) -> Void) {
        self.work = work
        self.last = last
        self.report = report
    }

    /// - Parameter row: the number of the row that was read last.
    mutating func show(_ row: Int) {
        guard ContinuousClock.now >= next else { return }
        next = .now + OpeningProgress.interval
        report("\(work): row \(row) of \(last) of the journal")
    }
}
