internal import ArgumentParser
internal import Logging
internal import MicroHTTP
internal import NavigationAPI
internal import Sessions

/// Which requests get a line in the log, in percent.
struct AccessLog: Equatable {
    let share: Double

    /// How it is written.
    static let form = "off, all, or a share such as 1%"

    static func parse(_ text: String) throws -> AccessLog {
        switch text {
        case "off": return AccessLog(share: 0)
        case "all": return AccessLog(share: 100)
        default:
            guard text.hasSuffix("%"), let share = Double(text.dropLast()), (0...100).contains(share) else {
                throw ValidationError("“\(text)” is not \(form).")
            }
            return AccessLog(share: share)
        }
    }

    /// The handler, with what it answers in the log.
    func logged(_ handler: any HTTPHandler) -> any HTTPHandler {
        guard share > 0 else { return handler }
        let (logger, share) = (Logger(label: "access"), share)
        return ReportingHandler(handler) { answer in
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
