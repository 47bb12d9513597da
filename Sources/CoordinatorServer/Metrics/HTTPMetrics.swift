internal import MicroHTTP
internal import NavigationAPI
internal import Prometheus

/// Requests and connections on the public port.
enum HTTPMetrics {
    static let all = [
        ServerMetric(
            "coordinatord_http_requests_total", .counter, labels: ["route", "method", "status"],
            "Answered requests. The route is the pattern of the path, “none” for a path that the API does not have."
        ) { figures in
            figures.metrics.requests.counts.map {
                MetricSample($0.route, $0.method, "\($0.status)", value: $0.count)
            }
        },
        ServerMetric(
            "coordinatord_http_request_duration_seconds", .histogram, labels: ["route"],
            """
            Time from the whole request to the beginning of its answer. Without requests that waited for a change \
            because they asked to, and without refused ones.
            """
        ) { figures in
            figures.metrics.requests.times.map { MetricSample($0.route, value: $0.times, perUnit: 1e9) }
        },
        ServerMetric(
            "coordinatord_http_refused_requests_total", .counter, labels: ["reason"],
            "Requests that the HTTP server itself refused; the reasons are the names of problems."
        ) { figures in
            figures.metrics.requests.refused.map { MetricSample($0.reason, value: $0.count) }
        },
        ServerMetric(
            "coordinatord_http_requests_under_way", .gauge,
            "Requests that have begun to arrive and are not answered yet, streams not counted."
        ) { $0.server.requestsUnderWay },
        ServerMetric("coordinatord_http_connections", .gauge, "Open connections, those of streams counted.") {
            $0.server.openConnections
        },
        ServerMetric(
            "coordinatord_http_body_bytes", .gauge, "Bytes of large bodies that are under way, of --requests-size."
        ) { $0.server.receivingBytes },
        ServerMetric("coordinatord_http_streams", .gauge, "Open streams of changes.") { $0.server.openStreams },
        ServerMetric("coordinatord_http_connections_accepted_total", .counter, "Accepted connections.") {
            $0.server.measures[.accepted]
        },
        ServerMetric(
            "coordinatord_http_connections_cut_total", .counter, labels: ["reason"],
            """
            Connections that the server cut: the head or the body came too slowly, the answer was read too slowly, \
            too many large answers were under way, too many connections came from the address.
            """
        ) { figures in
            cuts.map { MetricSample($1, value: figures.server.measures[$0]) }
        },
    ]

    private static let cuts: [(ConnectionMeasures.Happening, String)] = [
        (.slowHead, "slow-head"), (.slowBody, "slow-body"), (.slowReader, "slow-reader"),
        (.largeAnswer, "large-answer"), (.refused, "address-limit"),
    ]
}
