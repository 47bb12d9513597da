internal import Logging
internal import MicroHTTP
internal import NavigationAPI
internal import Sessions

/// A line in the log for requests, or for some of them.
struct AccessLog {
    /// Which requests get a line.
    let share: Share

    /// Writes the lines; `nil` if no request gets one.
    var report: (@Sendable (AnsweredRequest) -> Void)? {
        guard share.percent > 0 else { return nil }
        let (logger, share) = (Logger(label: "access"), share.percent)
        return { answer in
            guard share == 100 || .random(in: 0..<100) < share else { return }
            var metadata: Logger.Metadata = [
                "request": "\(answer.request.text)", "method": "\(answer.method)", "route": "\(answer.route)",
                "status": .stringConvertible(answer.status),
                "duration": .stringConvertible(Double(answer.duration / 1000) / 1_000_000),
            ]
            if let session = answer.session { metadata["session"] = "\(session.text)" }
            if let bytes = answer.bytes { metadata["bytes"] = .stringConvertible(bytes) }
            logger.info("answered", metadata: metadata)
        }
    }
}
