internal import ByteText
internal import FoundationEssentials
internal import Gzip
internal import JSONCoding
internal import MicroHTTP
internal import Synchronization

extension JSONWritable {
    /// As JSON text.
    var bytes: [UInt8] {
        JSONWriter.bytes(capacity: 1024) { writer in write(to: &writer) }
    }
}

extension HTTPResponse {
    static func json(_ body: some JSONWritable, status: Int = 200, isProblem: Bool = false) -> HTTPResponse {
        HTTPResponse(status: status, headers: isProblem ? problemHeaders : jsonHeaders, body: body.bytes)
    }

    /// - Parameter body: JSON text.
    static func json(_ body: [UInt8], status: Int) -> HTTPResponse {
        HTTPResponse(status: status, headers: jsonHeaders, body: body)
    }

    /// An object, written by a function.
    static func json(_ members: (inout JSONWriter) -> Void) -> HTTPResponse {
        json(JSONWriter.bytes(capacity: 1024) { writer in writer.object(members) }, status: 200)
    }

    /// The answer to OPTIONS (RFC 9110, section 9.3.7).
    static func allowing(_ methods: [String]) -> HTTPResponse {
        HTTPResponse(status: 204, headers: ["Allow": methods.joined(separator: ", ")])
    }

    static let notModified = HTTPResponse(
        status: 304, headers: ["Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"])

    private static let jsonHeaders: HTTPHeaders = [
        "Content-Type": "application/json", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
    ]
    private static let problemHeaders: HTTPHeaders = [
        "Content-Type": "application/problem+json", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
    ]
}

// Compression (RFC 9110, section 8.4).
extension HTTPResponse {
    /// Forbids everybody on the way to compress the answer (RFC 9111, section 5.2.2.6), because it has a secret: a token
    /// or a code for another device. The state beside it may have text that somebody else has chosen, and the size of
    /// the compressed answer would tell how much of the secret that text has right (the attack BREACH).
    mutating func markSecret() {
        headers.replace("Cache-Control", with: "no-store, no-transform")
    }

    /// Shorter answers are sent as they are: compression would save less than their head takes.
    private static let leastCompressed = 512

    /// The answer, compressed if the client wants that and it is worth it. Streams and files that are compiled in stay
    /// as they are.
    func compressed(for request: HTTPRequest) async -> HTTPResponse {
        guard case .bytes(let body) = body, status != 204 else { return self }
        var result = self
        result.headers.append("Vary", "Accept-Encoding")
        let tag = headers["ETag"]
        guard status != 304 else {
            // The tag of the representation that the client has.
            if let tag, EntityTag.has(request.headers.values("If-None-Match"), EntityTag.compressed(tag)) {
                result.headers.replace("ETag", with: EntityTag.compressed(tag))
            }
            return result
        }
        guard body.count >= HTTPResponse.leastCompressed,
            request.headers.prefersGzip,
            headers["Cache-Control"]?.ends(with: "no-transform") != true,
            // Not on the connection's thread, which other connections wait for.
            let smaller = await Task.detached(operation: { Gzip.compress(body) }).value, smaller.count < body.count
        else { return result }
        result.body = .bytes(smaller)
        result.headers.append("Content-Encoding", "gzip")
        if let tag { result.headers.replace("ETag", with: EntityTag.compressed(tag)) }
        return result
    }
}

extension HTTPHeaders {
    /// The fields `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10) of a limit.
    ///
    /// - Parameters:
    ///   - name: the limit's name, a plain word.
    ///   - rate: requests that are allowed in a period.
    ///   - period: in seconds.
    ///   - remaining: requests that are still allowed now.
    ///   - seconds: after which all of them are allowed again; `nil` for the period.
    static func rateLimit(
        _ name: String, rate: Int, in period: Int = 1, remaining: Int, seconds: Int? = nil
    ) -> HTTPHeaders {
        let seconds = seconds ?? period
        return [
            "RateLimit-Policy": "\"\(name)\";q=\(rate);w=\(period)",
            "RateLimit": "\"\(name)\";r=\(remaining);t=\(seconds)",
        ]
    }
}

/// Times in the form of RFC 3339: `2026-10-01T12:00:00Z`.
enum Timestamp {
    /// The last time that was formatted. Most answers within one second contain the same expiry, and formatting takes
    /// longer than all the rest of an answer.
    private static let last = Mutex((date: Date.distantPast, text: ""))

    static func text(of date: Date) -> String {
        last.withLock { last in
            if last.date != date { last = (date, date.timestamp) }
            return last.text
        }
    }
}
