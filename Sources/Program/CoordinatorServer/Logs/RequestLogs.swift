internal import Logging
internal import MicroHTTP
internal import NavigationAPI
internal import Sessions
internal import Synchronization

/// A line in the log for requests, or for some of them.
struct AccessLog {
    static let label = "access"
    static let level = Logger.Level.info

    /// Which requests get a line.
    let share: Share

    /// Writes the lines; `nil` if no request gets one.
    var report: (@Sendable (AnsweredRequest) -> Void)? {
        guard share.percent > 0 else { return nil }
        let (logger, share) = (Logger(label: AccessLog.label), share.percent)
        return { answer in
            guard share == 100 || .random(in: 0..<100) < share else { return }
            var metadata: Logger.Metadata = [
                "request": "\(answer.request.text)", "method": "\(answer.method)", "route": "\(answer.route)",
                "status": .stringConvertible(answer.status),
                "duration": .stringConvertible(Double(answer.duration / 1000) / 1_000_000),
            ]
            if let session = answer.session { metadata["session"] = "\(session.text)" }
            if let bytes = answer.bytes { metadata["bytes"] = .stringConvertible(bytes) }
            logger.log(level: AccessLog.level, "answered", metadata: metadata)
        }
    }
}

/// What operators do: an entry for each act, and a warning of each token that is nobody's.
struct AuditLog {
    static let label = "audit"
    static let level = Logger.Level.notice

    private let logger = Logger(label: AuditLog.label)

    func report(_ entry: AuditEntry) {
        var metadata: Logger.Metadata = ["request": "\(entry.request.text)", "outcome": "\(entry.outcome)"]
        let texts = [
            "operator": entry.operatorName, "session": entry.session?.text, "user": entry.user, "app": entry.app,
            "screen": entry.screen, "address": entry.address?.text,
        ]
        for case (let name, let text?) in texts { metadata[name] = .string(text) }
        if let ended = entry.ended { metadata["ended"] = .stringConvertible(ended) }
        logger.log(level: entry.operatorName == nil ? .warning : AuditLog.level, "\(entry.act)", metadata: metadata)
    }
}

/// Logs the 5xx answers. Failures of an app are always logged. A failure of the server, such as a full disk, may affect
/// every request: of each such problem only the first ones in a second are logged, and the next entry says how many
/// were left out.
final class FailureLog: Sendable {
    private struct Second {
        var number: Int64
        var logged = 0
        var leftOut = 0
    }

    private static let linesPerSecond = 10

    private let logger: Logger
    private let now: @Sendable () -> ContinuousClock.Instant
    private let start: ContinuousClock.Instant
    /// By problem, of which there are few.
    private let seconds = Mutex<[String: Second]>([:])

    init(_ logger: Logger, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        self.logger = logger
        self.now = now
        start = now()
    }

    func report(_ failure: ServerFailure) {
        var metadata = failure.details.mapValues { Logger.MetadataValue.string($0) }
        metadata["status"] = .stringConvertible(failure.status)
        metadata["request"] = "\(failure.request.text)"
        if let session = failure.session { metadata["session"] = "\(session.text)" }
        if failure.status != 500, failure.status != 504 {
            guard let leftOut = admit(failure.problem) else { return }
            if leftOut > 0 { metadata["left-out"] = .stringConvertible(leftOut) }
        }
        logger.log(level: FailureLog.level(of: failure.problem), "\(failure.problem)", metadata: metadata)
    }

    /// - Returns: how many were left out before this one; `nil` if this one is left out as well.
    func admit(_ problem: String) -> Int? {
        let number = (now() - start).components.seconds
        return seconds.withLock { seconds in
            var second = seconds[problem] ?? Second(number: number)
            defer { seconds[problem] = second }
            if second.number != number { (second.number, second.logged) = (number, 0) }
            guard second.logged < FailureLog.linesPerSecond else {
                second.leftOut += 1
                return nil
            }
            defer { second.leftOut = 0 }
            second.logged += 1
            return second.leftOut
        }
    }

    private static func level(of problem: String) -> Logger.Level {
        switch problem {
        case "draining", "unknown-method", "unknown-coding": .info
        case "too-many-sessions", "too-many-bytes": .warning
        default: .error
        }
    }
}
