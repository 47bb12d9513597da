public import Measures
internal import MicroHTTP

/// Counts answered requests by route, method and status, measures durations by route, and counts the requests that the
/// HTTP server refused before the handler. All counts exist from the beginning, so that no client can make this grow.
public final class RequestMeasures: Sendable {
    /// The statuses that answers have; any other one is counted as 0.
    static let statuses = [
        0, 200, 201, 204, 304, 400, 401, 403, 404, 405, 409, 410, 411, 412, 413, 415, 417, 422, 429, 431, 500, 501,
        503, 504,
    ]
    /// The positions in `statuses`, by status.
    private static let positions: [UInt8] = {
        var positions = [UInt8](repeating: 0, count: 600)
        for (index, status) in statuses.enumerated() { positions[status] = UInt8(index) }
        return positions
    }()
    private static let methods = ["POST", "GET", "DELETE", "HEAD", "OPTIONS", "other"]
    /// The last is for paths that the API does not have.
    private static let routes = Route.all.map(\.pattern) + ["none"]

    private let answers = Counts(routes.count * methods.count * statuses.count)
    private let durations = Distributions(routes.count, bounds: Distributions.durationBounds)
    private let refusals = Counts(HTTPRefusal.reasons.count)

    public init() {}

    /// - Parameters:
    ///   - method: `nil` if it is not known.
    ///   - duration: in nanoseconds; `nil` if it is not to be measured.
    func add(_ route: Route?, _ method: String?, _ status: Int, _ duration: Int?) {
        let route = route?.number ?? RequestMeasures.routes.count - 1
        let methods = RequestMeasures.methods
        let position = method.flatMap { methods.firstIndex(of: $0) } ?? methods.count - 1
        let positions = RequestMeasures.positions
        let column = positions.indices.contains(status) ? Int(positions[status]) : 0
        answers.add(at: (route * methods.count + position) * RequestMeasures.statuses.count + column)
        if let duration { durations.add(duration, at: route) }
    }

    func add(_ refusal: HTTPRefusal) {
        if let index = HTTPRefusal.reasons.firstIndex(of: refusal.reason) { refusals.add(at: index) }
    }

    /// The answered requests.
    public var counts: [(route: String, method: String, status: Int, count: Int)] {
        let (methods, statuses) = (RequestMeasures.methods, RequestMeasures.statuses)
        return (0..<answers.count).compactMap { index in
            let count = answers[index]
            guard count > 0 else { return nil }
            let row = index / statuses.count
            return (
                RequestMeasures.routes[row / methods.count], methods[row % methods.count],
                statuses[index % statuses.count], count
            )
        }
    }

    /// The durations of the routes that were requested, in nanoseconds.
    public var times: [(route: String, times: Distributions.Reading)] {
        RequestMeasures.routes.enumerated().compactMap { index, route in
            let times = durations.reading(at: index)
            return times.count > 0 ? (route, times) : nil
        }
    }

    public var refused: [(reason: String, count: Int)] {
        HTTPRefusal.reasons.enumerated().map { ($1, refusals[$0]) }
    }
}

extension HTTPRefusal {
    fileprivate static let reasons = [
        .invalidTarget, .lengthRequired, .contentTooLarge(limit: 0), .expectationFailed, .malformedHead,
        .headTooLarge(limit: 0), .unknownMethod, .unknownCoding, .stopping, .tooManyBytes,
    ].map(\HTTPRefusal.reason)

    /// The name of its problem, of which the outcome may be unknown when the server stops.
    fileprivate var reason: String { self == .stopping ? "draining" : Problem(self).name }
}
